//! A thread that handles the faults of all others, also those in system calls. Between two faults it does the scheme's
//! pending work, in bounded steps, and checks for a fault after each.

use super::doorbell::{Doorbell, TouchCause};
use super::fault_handling::FaultStatus;
use super::paging::Paging;
use super::private_stack_thread::PrivateStackThread;
use super::signals::BlockedSignals;
use super::thread_binding::{HandlerBinding, ThreadBinding};
use super::userfaultfd::{Fault, Userfaultfd};
use crate::descriptors::keep_for_this_thread;
use crate::error::Error;
use crate::failure::abort_with;
use crate::options::{Handler, HandlerProcessor};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::fd::AsFd;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};
use rustix::time::Timespec;
use std::ops::Range;
use std::sync::Arc;

/// Dropping it ends the thread: no other thread may be waiting for a page.
pub(crate) struct HandlerThread {
    doorbell: Arc<Doorbell>,
    thread: Option<PrivateStackThread>,
}

impl HandlerThread {
    pub(crate) fn start(
        paging: Arc<Paging>,
        uffd: Arc<Userfaultfd>,
        Handler { processor, own_descriptors }: Handler,
        binding: Arc<ThreadBinding>,
    ) -> Result<Self, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let doorbell = Arc::new(Doorbell::new(&uffd)?);
        let doorbell_here = Arc::clone(&doorbell);
        let (processors, handler_binding) = match processor {
            HandlerProcessor::Together => (None, HandlerBinding::new(binding)),
            HandlerProcessor::Bound(processor) => {
                (Some(processor_set(processor).map_err(refused("that processor"))?), None)
            }
            HandlerProcessor::Any => (None, None),
        };
        // The thread inherits the mask: it never runs a signal handler, which might access the region.
        let _blocked = BlockedSignals::all();
        let (tell, bound) = std::sync::mpsc::channel();
        let (paging_here, faults_here) = (Arc::clone(&paging), Arc::clone(&uffd));
        let run_handler = move || {
            let binding = processors.map_or(Ok(()), |set| sched_setaffinity(None, &set));
            let failed = binding.is_err();
            if own_descriptors {
                keep_for_this_thread();
            }
            // The thread that starts us handles faults until then.
            doorbell_here.ring_once();
            let _ = tell.send(binding);
            if !failed {
                run_handler(&paging, &uffd, &doorbell_here, handler_binding);
            }
        };
        let thread = PrivateStackThread::start(c"ameles-pager", run_handler).map_err(refused("a thread"))?;
        handle_until_started(&paging_here, &faults_here, &doorbell)?;
        let refusal = match bound.recv() {
            Ok(Ok(())) => return Ok(HandlerThread { doorbell, thread: Some(thread) }),
            Ok(Err(errno)) => Error::System { what: "that processor", errno },
            Err(_) => Error::System { what: "a running thread", errno: Errno::SRCH },
        };
        // It handles nothing, and ends by itself.
        thread.join();
        Err(refusal)
    }
}

fn processor_set(processor: usize) -> Result<CpuSet, Errno> {
    if processor >= CpuSet::MAX_CPU {
        return Err(Errno::INVAL);
    }
    let mut set = CpuSet::new();
    set.set(processor);
    Ok(set)
}

impl Drop for HandlerThread {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.doorbell.ring_to_stop();
            thread.join();
        }
    }
}

/// Handles faults on the calling thread until the new one rings the doorbell. In a child after `fork`, the C library
/// may access memory of the program while a thread starts. There is no other thread to page it in.
fn handle_until_started(paging: &Paging, uffd: &Userfaultfd, doorbell: &Doorbell) -> Result<(), Error> {
    let refused = |errno| Error::System { what: "the faults of a thread", errno };
    uffd.wait_for_faults(true).map_err(refused)?;
    loop {
        for Fault { address, thread } in uffd.faults().map_err(refused)? {
            if doorbell.is_at(address) {
                // As at first. The thread waits until it is answered.
                uffd.wait_for_faults(false).map_err(refused)?;
                doorbell.on_touch(uffd);
                return Ok(());
            }
            let _ = paging.handle_fault(address, thread);
        }
    }
}

impl HandlerThread {
    /// Makes the thread check whether another one forks.
    pub(crate) fn wake(&self) {
        self.doorbell.ring_once();
    }

    /// Forgets the thread in a child after `fork`, which has no such thread.
    pub(crate) fn forget_in_child(&mut self) {
        self.thread.take().into_iter().for_each(PrivateStackThread::forget_in_child);
    }
}

fn run_handler(
    paging: &Paging,
    uffd: &Userfaultfd,
    doorbell: &Doorbell,
    mut handler_binding: Option<HandlerBinding>,
) {
    // Closed by the program: the next access to an absent page would find zeros.
    let closed = |errno| -> ! { abort_with(&DescriptorClosed { errno }) };
    let mut waits = false;
    let mut deferred = Deferred::default();
    loop {
        let is_lock_kept = paging.is_lock_kept();
        if !is_lock_kept {
            deferred.polls = 0;
        }
        let busy = is_lock_kept || deferred.is_any() || paging.has_pending_steps();
        if waits == busy {
            waits = !busy;
            uffd.wait_for_faults(waits).unwrap_or_else(|errno| closed(errno));
        }
        let mut quiet = true;
        for Fault { address, thread } in uffd.faults().unwrap_or_else(|errno| closed(errno)) {
            quiet = false;
            if doorbell.is_at(address) {
                match doorbell.on_touch(uffd) {
                    TouchCause::StopRequested => return,
                    TouchCause::Other => continue,
                }
            }
            if let Some(handler_binding) = &mut handler_binding {
                handler_binding.on_fault(thread);
            }
            // A parked thread keeps waiting for its page.
            if paging.handle_fault(address, thread) == Ok(FaultStatus::Deferred) {
                deferred.note(address);
            }
        }
        if !quiet || !busy {
            continue;
        }
        if paging.is_lock_kept() {
            deferred.wait(uffd);
        } else if let Some(addresses) = deferred.take() {
            paging.wake(addresses);
        } else {
            paging.step();
        }
    }
}

/// The time between two checks while a thread of the program forks.
const FORK_POLL: Timespec = Timespec { tv_sec: 0, tv_nsec: 1_000_000 };

/// The number of checks after which a fork counts as one that never ends.
const MAX_FORK_POLLS: u32 = 30_000;

/// Faults of other threads while one forks: they are woken afterwards, and fault again. No memory is allocated for
/// them.
#[derive(Default)]
struct Deferred {
    addresses: Option<Range<usize>>,
    polls: u32,
}

impl Deferred {
    fn is_any(&self) -> bool {
        self.addresses.is_some()
    }

    fn note(&mut self, address: usize) {
        let Range { start, end } = self.addresses.take().unwrap_or(address..address + 1);
        self.addresses = Some(start.min(address)..end.max(address + 1));
    }

    /// Waits for a fault of the thread that forks, for a short time.
    fn wait(&mut self, uffd: &Userfaultfd) {
        self.polls += 1;
        if self.polls == MAX_FORK_POLLS {
            abort_with(&ForkStuck);
        }
        let mut faults = [PollFd::from_borrowed_fd(uffd.as_fd(), PollFlags::IN)];
        // Late or interrupted: check again in any case.
        let _ = poll(&mut faults, Some(&FORK_POLL));
    }

    fn take(&mut self) -> Option<Range<usize>> {
        self.addresses.take()
    }
}

/// A thread that forks waits for another, which waits for a page or for the heap.
#[derive(Debug, thiserror::Error)]
#[error("the thread that forks waits for a lock of the C library, and the lock's holder waits for the fork")]
struct ForkStuck;

/// Faults can no longer be read.
#[derive(Debug, thiserror::Error)]
#[error("the program has closed the descriptor by which its page faults are reported: {errno}")]
struct DescriptorClosed {
    errno: Errno,
}
