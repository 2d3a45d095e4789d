//! Binds the handler thread and the faulting thread to one processor.
//!
//! Otherwise the scheduler wakes either on an idle processor, and on a virtual machine that takes longer than the rest
//! of the fault. Bound to the same processor, the other is the next to run. If several threads fault, there is no such
//! processor, and none is bound.

use super::signals::BlockedSignals;
use rustix::fs::{Mode, OFlags};
use rustix::thread::{CpuSet, Pid, sched_getaffinity, sched_setaffinity};
use std::io::Write;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// The number of faults of one thread between two checks, and before the first.
const FAULTS_PER_CHECK: u32 = 256;

/// The bound thread.
#[derive(Clone, Copy)]
struct Bound {
    thread: Pid,
    to: usize,
    /// The processors on which the thread might run before.
    allowed: CpuSet,
}

/// The bound thread. The holder of this lock accesses no region, not even with its stack, and runs no signal handler of
/// the application.
#[derive(Default)]
pub(crate) struct ThreadBinding {
    bound: Mutex<Option<Bound>>,
    /// The number of requests that no thread be bound.
    free: AtomicU32,
}

impl ThreadBinding {
    /// Unbinds the bound thread, and binds none until the guard is dropped: a program that is started meanwhile
    /// inherits no binding.
    pub(crate) fn unbind(self: Arc<Self>) -> UnbindGuard {
        let _blocked = BlockedSignals::all();
        self.free.fetch_add(1, Ordering::SeqCst);
        unbind_thread(&mut self.lock());
        UnbindGuard(self)
    }

    fn lock(&self) -> MutexGuard<'_, Option<Bound>> {
        self.bound.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A guard that keeps every thread unbound as long as it lives.
pub(crate) struct UnbindGuard(Arc<ThreadBinding>);

impl Drop for UnbindGuard {
    fn drop(&mut self) {
        self.0.free.fetch_sub(1, Ordering::SeqCst);
    }
}

fn unbind_thread(bound: &mut Option<Bound>) {
    if let Some(Bound { thread, to, allowed }) = bound.take()
        // Unless it was bound elsewhere meanwhile, or has ended.
        && sched_getaffinity(Some(thread)).is_ok_and(|now| now == only_processor(to))
    {
        let _ = sched_setaffinity(Some(thread), &allowed);
    }
}

/// The handler's side.
pub(crate) struct HandlerBinding {
    binding: Arc<ThreadBinding>,
    /// The processors that the handler may run on, if it does not follow.
    allowed_for_handler: CpuSet,
    /// The processor that the handler is bound to.
    here: Option<usize>,
    /// The last thread that faulted, and the number of its faults since another thread faulted or since the last check.
    thread: u32,
    faults: u32,
}

impl HandlerBinding {
    /// Does nothing if threads cannot be bound.
    pub(crate) fn new(binding: Arc<ThreadBinding>) -> Option<Self> {
        let allowed_for_handler = sched_getaffinity(None).ok()?;
        Some(HandlerBinding { binding, allowed_for_handler, here: None, thread: 0, faults: 0 })
    }

    /// Decides about the binding on the handler thread, before each fault is handled.
    pub(crate) fn on_fault(&mut self, thread: u32) {
        if thread != self.thread {
            (self.thread, self.faults) = (thread, 0);
            if self.here.is_some() {
                unbind_thread(&mut self.binding.lock());
                self.bind_handler(None);
            }
        }
        self.faults += 1;
        if self.faults == FAULTS_PER_CHECK {
            self.faults = 0;
            self.rebind_both();
        }
    }

    fn rebind_both(&mut self) {
        let binding = Arc::clone(&self.binding);
        let mut bound = binding.lock();
        if binding.free.load(Ordering::SeqCst) > 0 {
            self.bind_handler(None);
            return;
        }
        let Some(thread) = Pid::from_raw(self.thread as i32) else { return };
        let to = match *bound {
            Some(bound)
                if sched_getaffinity(Some(thread)).is_ok_and(|now| now == only_processor(bound.to)) =>
            {
                bound.to
            }
            // The application has bound it elsewhere: we start again from there.
            _ => {
                *bound = None;
                let allowed = sched_getaffinity(Some(thread));
                let (Some(to), Ok(allowed)) = (processor_of(self.thread), allowed) else { return };
                if sched_setaffinity(Some(thread), &only_processor(to)).is_err() {
                    return;
                }
                *bound = Some(Bound { thread, to, allowed });
                to
            }
        };
        self.bind_handler(Some(to));
    }

    fn bind_handler(&mut self, to: Option<usize>) {
        // If it is not allowed, it stays where it is, which is no slower than before.
        if to != self.here
            && sched_setaffinity(None, &to.map_or(self.allowed_for_handler, only_processor)).is_ok()
        {
            self.here = to;
        }
    }
}

impl Drop for HandlerBinding {
    fn drop(&mut self) {
        unbind_thread(&mut self.binding.lock());
    }
}

fn only_processor(processor: usize) -> CpuSet {
    let mut only = CpuSet::new();
    only.set(processor);
    only
}

/// The processor that a thread of this process runs on, or ran on last.
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
        let allowed_for_handler = sched_getaffinity(None).unwrap();
        for processor in (0..CpuSet::MAX_CPU).filter(|processor| allowed_for_handler.is_set(*processor)) {
            let bound = std::thread::Builder::new().name(") 1 (".to_owned()).spawn(move || {
                sched_setaffinity(None, &only_processor(processor)).unwrap();
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
