//! The wait for a program's end. If the last thread of a program ends by a direct system call, the threads that serve
//! faults remain, and the process would never end.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use std::fs;
use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Child, ExitStatus};

/// The interval between two checks for remaining threads.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 1, tv_nsec: 0 };

/// The prefix of the names of threads that serve faults.
const PAGER_THREADS: &str = "ameles-pager";

/// Waits until a program has ended. A program with only the pager's threads left is ended, as the kernel would without
/// them.
pub(super) fn wait(program: &mut Child) -> io::Result<ExitStatus> {
    let handle = pidfd_open(Pid::from_child(program), PidfdFlags::empty())?;
    loop {
        match poll(&mut [PollFd::new(&handle, PollFlags::IN)], Some(&POLL_INTERVAL)) {
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

/// Returns the status of a process if only the pager's threads are left.
fn status_without_program_threads(process: u32) -> Option<ExitStatus> {
    let status = status_of_zombie(&fs::read_to_string(format!("/proc/{process}/stat")).ok()?)?;
    let mut has_threads = false;
    for thread in fs::read_dir(format!("/proc/{process}/task")).ok()? {
        let thread = thread.ok()?;
        if thread.file_name().to_str() != Some(&process.to_string()) {
            has_threads = true;
            if !fs::read_to_string(thread.path().join("comm")).ok()?.starts_with(PAGER_THREADS) {
                return None;
            }
        }
    }
    has_threads.then_some(status)
}

/// Returns the status of a first thread that has ended, from its line in `/proc` (proc_pid_stat(5)), or `None` if it
/// has not ended. The status is 0 if the kernel hides it.
fn status_of_zombie(line: &str) -> Option<ExitStatus> {
    // The second field is a name, which may contain any character.
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
    fn an_ended_first_thread_is_distinguished_from_a_running_one_whatever_its_name() {
        let line = |state: &str| format!("7 () Z 1) {state} {} 768 \n", ["1"; 48].join(" "));
        assert_eq!(status_of_zombie(&line("Z")).and_then(|status| status.code()), Some(3));
        assert_eq!(status_of_zombie(&line("S")), None);
        assert_eq!(status_without_program_threads(std::process::id()), None);
    }
}
