//! A thread that serves the faults of all others, also those within system calls. Between two faults it does what the
//! scheme owes, in bounded steps, and looks for a fault after each.

use super::descriptors::keep_for_this_thread;
use super::follow::{Binding, Follower};
use super::paging::Paging;
use super::signals::Blocked;
use super::userfaultfd::{Fault, Userfaultfd};
use crate::error::Error;
use crate::failure::end;
use crate::options::HandlerProcessor;
use rustix::event::{EventfdFlags, PollFd, PollFlags, eventfd, poll};
use rustix::fd::{AsFd, OwnedFd};
use rustix::io::{Errno, retry_on_intr};
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Dropping it ends the thread: no other thread may be waiting for a page.
pub(crate) struct HandlerThread {
    stop: Arc<OwnedFd>,
    thread: Option<JoinHandle<()>>,
}

impl HandlerThread {
    pub(crate) fn start(
        paging: Arc<Paging>,
        uffd: Arc<Userfaultfd>,
        processor: HandlerProcessor,
        own_descriptors: bool,
        binding: Arc<Binding>,
    ) -> Result<Self, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let stop = Arc::new(eventfd(0, EventfdFlags::CLOEXEC).map_err(refused("an event descriptor"))?);
        let stopped = Arc::clone(&stop);
        let (processors, follower) = match processor {
            HandlerProcessor::Together => (None, Follower::new(binding)),
            HandlerProcessor::Bound(processor) => {
                (Some(processor_set(processor).map_err(refused("that processor"))?), None)
            }
            HandlerProcessor::Any => (None, None),
        };
        // The thread inherits the mask: it never runs a signal handler, which might touch the region.
        let _blocked = Blocked::all();
        let (tell, bound) = std::sync::mpsc::channel();
        let serve = move || {
            let binding = processors.map_or(Ok(()), |set| sched_setaffinity(None, &set));
            let failed = binding.is_err();
            if own_descriptors {
                keep_for_this_thread();
            }
            // Whoever starts us waits for it.
            let _ = tell.send(binding);
            if !failed {
                serve(&paging, &uffd, &stopped, follower);
            }
        };
        let thread = Builder::new().name("lethe-pager".to_owned()).spawn(serve).map_err(Error::Thread)?;
        let handler = HandlerThread { stop, thread: Some(thread) };
        match bound.recv() {
            Ok(Ok(())) => Ok(handler),
            Ok(Err(errno)) => Err(Error::System { what: "that processor", errno }),
            Err(_) => Err(Error::System { what: "a running thread", errno: Errno::SRCH }),
        }
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
        // An eventfd takes one more unless it is full, and then it is readable already.
        let _ = rustix::io::write(&*self.stop, &1u64.to_ne_bytes());
        if let Some(thread) = self.thread.take() {
            // It does not panic, and if it did its message is out.
            let _ = thread.join();
        }
    }
}

fn serve(paging: &Paging, uffd: &Userfaultfd, stop: &OwnedFd, mut follower: Option<Follower>) {
    loop {
        let mut quiet = true;
        // Closed by the program: the next touch of an absent page would find zeros.
        let faults = uffd.faults().unwrap_or_else(|errno| end(&Closed { errno }));
        for Fault { address, thread } in faults {
            quiet = false;
            if let Some(follower) = &mut follower {
                follower.faulted(thread);
            }
            // A thread to be parked waits for its page as it is.
            let _ = paging.serve(address);
        }
        if !quiet {
            continue;
        }
        if paging.owes() {
            paging.idle();
        } else if wait(uffd, stop) == Wait::Stopped {
            return;
        }
    }
}

/// Faults can be read no more.
#[derive(Debug, thiserror::Error)]
#[error("the program has closed the descriptor that its page faults come by: {errno}")]
struct Closed {
    errno: Errno,
}

#[derive(PartialEq, Eq)]
enum Wait {
    Fault,
    Stopped,
}

fn wait(uffd: &Userfaultfd, stop: &OwnedFd) -> Wait {
    let mut both = [PollFd::from_borrowed_fd(uffd.as_fd(), PollFlags::IN), PollFd::new(stop, PollFlags::IN)];
    retry_on_intr(|| poll(&mut both, None)).unwrap_or_else(|errno| end(&Closed { errno }));
    if both[1].revents().is_empty() { Wait::Fault } else { Wait::Stopped }
}
