//! A thread that serves the faults of all others, also those within system calls. Between two faults it does what the
//! scheme owes, in bounded steps, and looks for a fault after each.

use super::descriptors::keep_for_this_thread;
use super::doorbell::{Answer, Doorbell};
use super::follow::{Binding, Follower};
use super::paging::Paging;
use super::signals::Blocked;
use super::userfaultfd::{Fault, Userfaultfd};
use crate::error::Error;
use crate::failure::end;
use crate::options::HandlerProcessor;
use rustix::io::Errno;
use rustix::thread::{CpuSet, sched_setaffinity};
use std::sync::Arc;
use std::thread::{Builder, JoinHandle};

/// Dropping it ends the thread: no other thread may be waiting for a page.
pub(crate) struct HandlerThread {
    doorbell: Arc<Doorbell>,
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
        let doorbell = Arc::new(Doorbell::new(&uffd)?);
        let heard = Arc::clone(&doorbell);
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
                serve(&paging, &uffd, &heard, follower);
            }
        };
        let thread = Builder::new().name("lethe-pager".to_owned()).spawn(serve).map_err(Error::Thread)?;
        let refusal = match bound.recv() {
            Ok(Ok(())) => return Ok(HandlerThread { doorbell, thread: Some(thread) }),
            Ok(Err(errno)) => Error::System { what: "that processor", errno },
            Err(_) => Error::System { what: "a running thread", errno: Errno::SRCH },
        };
        // It serves nothing, and ends by itself.
        let _ = thread.join();
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
            self.doorbell.ring();
            // It does not panic, and if it did its message is out.
            let _ = thread.join();
        }
    }
}

fn serve(paging: &Paging, uffd: &Userfaultfd, doorbell: &Doorbell, mut follower: Option<Follower>) {
    // Closed by the program: the next touch of an absent page would find zeros.
    let closed = |errno| -> ! { end(&Closed { errno }) };
    let mut waits = false;
    loop {
        let owes = paging.owes();
        if waits == owes {
            waits = !owes;
            uffd.wait_for_faults(waits).unwrap_or_else(|errno| closed(errno));
        }
        let mut quiet = true;
        for Fault { address, thread } in uffd.faults().unwrap_or_else(|errno| closed(errno)) {
            quiet = false;
            if doorbell.is_at(address) {
                match doorbell.answer(uffd) {
                    Answer::Rung => return,
                    Answer::Chance => continue,
                }
            }
            if let Some(follower) = &mut follower {
                follower.faulted(thread);
            }
            // A thread to be parked waits for its page as it is.
            let _ = paging.serve(address);
        }
        if quiet && owes {
            paging.idle();
        }
    }
}

/// Faults can be read no more.
#[derive(Debug, thiserror::Error)]
#[error("the program has closed the descriptor that its page faults come by: {errno}")]
struct Closed {
    errno: Errno,
}
