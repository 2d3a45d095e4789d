//! The handler thread goes where the thread runs that faults.
//!
//! Left to itself the scheduler wakes the handler on an idle processor, and that takes longer than the fault. On the
//! processor of the thread that waits for it, it is simply the next to run. Where several threads fault, there is no
//! such place, and the handler runs anywhere.

use rustix::fs::{Mode, OFlags};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use std::io::Write;

/// Faults between two looks.
const FAULTS: u32 = 64;

pub(crate) struct Follower {
    /// Where the handler may run, if it is not to follow.
    anywhere: CpuSet,
    /// The thread that faulted last; 0 if none has.
    thread: u32,
    /// Whether others faulted since the last look.
    others: bool,
    faults: u32,
    /// Where the handler is bound to.
    bound: Option<usize>,
}

impl Follower {
    /// Nothing, where threads cannot be bound.
    pub(crate) fn new() -> Option<Self> {
        let anywhere = sched_getaffinity(None).ok()?;
        Some(Follower { anywhere, thread: 0, others: false, faults: 0, bound: None })
    }

    /// Called on the handler thread, for every fault before it is served.
    pub(crate) fn faulted(&mut self, thread: u32) {
        self.others |= self.thread != 0 && self.thread != thread;
        self.thread = thread;
        if self.faults == 0 {
            let to = if self.others { None } else { processor_of(thread) };
            self.go(to);
            (self.faults, self.others) = (FAULTS, false);
        }
        self.faults -= 1;
    }

    fn go(&mut self, to: Option<usize>) {
        if to == self.bound {
            return;
        }
        let set = to.map_or(self.anywhere, |processor| {
            let mut only = CpuSet::new();
            only.set(processor);
            only
        });
        // If it may not, it stays where it is, and is no slower than it was.
        if sched_setaffinity(None, &set).is_ok() {
            self.bound = to;
        }
    }
}

/// Where a thread of this process runs, or ran last.
fn processor_of(thread: u32) -> Option<usize> {
    let mut path = [0; 64];
    write!(&mut path[..], "/proc/self/task/{thread}/stat").ok()?;
    let path = std::ffi::CStr::from_bytes_until_nul(&path).ok()?;
    let file = rustix::fs::open(path, OFlags::RDONLY | OFlags::CLOEXEC, Mode::empty()).ok()?;
    let mut line = [0; 1024];
    let read = rustix::io::read(&file, &mut line).ok()?;
    processor(&line[..read])
}

/// Field 39 of `/proc/pid/stat`, proc_pid_stat(5). The second one is a name, which may hold anything.
fn processor(line: &[u8]) -> Option<usize> {
    let after_name = line.iter().rposition(|byte| *byte == b')')?;
    let fields = std::str::from_utf8(&line[after_name + 1..]).ok()?;
    let processor: usize = fields.split_ascii_whitespace().nth(39 - 3)?.parse().ok()?;
    (processor < CpuSet::MAX_CPU).then_some(processor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_found_on_the_processor_that_it_is_bound_to_whatever_its_name() {
        let anywhere = sched_getaffinity(None).unwrap();
        for processor in (0..CpuSet::MAX_CPU).filter(|processor| anywhere.is_set(*processor)) {
            let bound = std::thread::Builder::new().name(") 1 (".to_owned()).spawn(move || {
                let mut only = CpuSet::new();
                only.set(processor);
                sched_setaffinity(None, &only).unwrap();
                processor_of(rustix::thread::gettid().as_raw_nonzero().get() as u32)
            });
            assert_eq!(bound.unwrap().join().unwrap(), Some(processor));
        }
    }

    #[test]
    fn a_thread_that_has_ended_is_nowhere() {
        assert_eq!(processor_of(u32::MAX), None);
        assert_eq!(processor(b"1 (x) S 2"), None);
    }
}
