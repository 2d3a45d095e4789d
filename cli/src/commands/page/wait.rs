//! The wait for a program's end. A program whose last thread ends behind the C library's back leaves the threads that
//! serve faults, which are nobody's then.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// Between two looks.
const LOOK: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The beginning of the names of threads that serve faults.
const PAGERS: &str = "ameles-pager";

/// Waits until a program has ended. One that is left alone with the pager's threads is ended, as the kernel would have
/// ended it.
pub(super) fn wait(program: &mut Child) -> io::Result<ExitStatus> {
    let handle = pidfd_open(Pid::from_child(program), PidfdFlags::empty())?;
    loop {
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&LOOK)) {
            Ok(0) => {
                if let Some(status) = status_without_program_threads(program.id()) {
                    program.kill()?;
                    program.wait()?;
                    return Ok(status);
                }
            }
            Ok(_) => return program.wait(),
            Err(Errno::INTR) => {}
            Err(error) => return Err(error.into()),
        }
    }
}

/// The status of a process of which only threads of the pager's are left.
fn status_without_program_threads(process: u32) -> Option<ExitStatus> {
    let status = status_of_ended(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?;
    let mut are_left = false;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let thread = thread.ok()?;
        if thread.file_name().to_str() != Some(&process.to_string()) {
            are_left = true;
            if !fs::read_to_string(thread.path().join("comm")).ok()?.starts_with(PAGERS) {
                return None;
            }
        }
    }
    are_left.then_some(status)
}

/// The status with which a first thread has ended, by its line in `/proc` (proc_pid_stat(5)): 0 where the kernel does
/// not tell. `None` if it has not.
fn status_of_ended(line: &str) -> Option<ExitStatus> {
    // The second field is a name, which may hold anything.
    let mut fields = line.get(line.rfind(')')? + 1..)?.split_ascii_whitespace();
    if fields.next()? != "Z" {
        return None;
    }
    Some(ExitStatus::from_raw(fields.nth(52 - 4)?.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_first_thread_that_has_ended_is_told_from_one_that_runs_whatever_its_name() {
        let line = |state: &str| format!("7 () Z 1) {state} {} 768 \n", ["1"; 48].join(" "));
        assert_eq!(status_of_ended(&line("Z")).and_then(|status| status.code()), Some(3));
        assert_eq!(status_of_ended(&line("S")), None);
        assert_eq!(status_without_program_threads(std::process::id()), None);
    }
}
