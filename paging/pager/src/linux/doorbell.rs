//! A page whose access wakes the thread that reads faults. So this thread waits in one system call only, and needs no
//! second descriptor to be stopped.
#![allow(unsafe_code, reason = "a page that is mapped and unmapped; each block says why it is sound")]

use super::userfaultfd::Userfaultfd;
use crate::error::Error;
use crate::page::PAGE_BYTES;
use crate::private::PrivateMapping;
use rustix::io::Errno;
use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};

static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// The page. It is absent until it is answered.
pub(super) struct Doorbell {
    page: PrivateMapping,
    stop_requested: AtomicBool,
    /// True once the waiting thread was woken.
    ringer_resumed: AtomicBool,
    /// A thread waits for one answer, and unmaps the page again.
    wake_requested: AtomicBool,
}

/// The reason for an access to the page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TouchCause {
    /// A thread rang.
    StopRequested,
    /// Another access, by a scan of the process's memory.
    Other,
}

impl Doorbell {
    /// A page whose faults this descriptor reports.
    pub(super) fn new(uffd: &Userfaultfd) -> Result<Self, Error> {
        let refused = |errno| Error::System { what: "a page to be woken by", errno };
        let page = PrivateMapping::new(PAGE_BYTES, 0, PAGE_BYTES).map_err(refused)?;
        uffd.register(page.first() as usize, PAGE_BYTES)?;
        Ok(Doorbell {
            page,
            stop_requested: AtomicBool::new(false),
            ringer_resumed: AtomicBool::new(false),
            wake_requested: AtomicBool::new(false),
        })
    }

    /// Returns when the thread that reads faults has answered.
    pub(super) fn ring_to_stop(&self) {
        self.stop_requested.store(true, Ordering::SeqCst);
        self.touch();
        self.ringer_resumed.store(true, Ordering::SeqCst);
    }

    /// Rings once, to end: the thread that reads faults checks its state. One thread at a time.
    pub(super) fn ring_once(&self) {
        self.wake_requested.store(true, Ordering::SeqCst);
        self.touch();
        self.unmap_page();
    }

    fn touch(&self) {
        // SAFETY: the page is mapped as long as we live, and zeros once it is there.
        black_box(unsafe { self.page.first().read_volatile() });
    }

    /// The next access must be reported again.
    fn unmap_page(&self) {
        // A locked page could not be discarded.
        self.page.unlock();
        // SAFETY: the page is ours, and holds nothing.
        let gone = unsafe {
            rustix::mm::madvise(self.page.first().cast(), PAGE_BYTES, rustix::mm::Advice::LinuxDontNeed)
        };
        debug_assert_eq!(gone, Ok(()));
    }

    /// Returns whether a fault is at this page.
    pub(super) fn is_at(&self, address: usize) -> bool {
        (address ^ self.page.first() as usize) < PAGE_BYTES
    }

    /// Wakes the threads that access it.
    pub(super) fn on_touch(&self, uffd: &Userfaultfd) -> TouchCause {
        loop {
            self.map_page(uffd);
            if self.stop_requested.load(Ordering::SeqCst) {
                // The last answer of this thread: a thread that rang must not wait after its end.
                while !self.ringer_resumed.load(Ordering::SeqCst) {
                    self.map_page(uffd);
                    std::thread::yield_now();
                }
                return TouchCause::StopRequested;
            }
            if self.wake_requested.swap(false, Ordering::SeqCst) {
                return TouchCause::Other;
            }
            self.unmap_page();
            // A thread that rings in between may have found the page, or wait for it: it is mapped once more.
            if !self.stop_requested.load(Ordering::SeqCst) {
                return TouchCause::Other;
            }
        }
    }
}

impl Doorbell {
    /// Maps the page, and wakes the threads that wait for it.
    fn map_page(&self, uffd: &Userfaultfd) {
        let page = self.page.first() as usize;
        loop {
            // SAFETY: only waiting threads use the page.
            match unsafe { uffd.copy(page, ZEROS.as_ptr(), PAGE_BYTES, true) } {
                // The address space changes at this moment.
                Err(Errno::AGAIN) => std::thread::yield_now(),
                Ok(()) => return,
                // It is mapped already: no thread was woken.
                Err(_) => {
                    let _ = uffd.wake(page, PAGE_BYTES);
                    return;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::eviction::Eviction;
    use crate::linux::userfaultfd::Delivery;
    use std::sync::atomic::AtomicUsize;
    use std::thread;

    #[test]
    fn a_touch_by_chance_is_told_of_again_and_a_ring_ends_the_wait() {
        let uffd = Userfaultfd::open(Delivery::Messages, Eviction::Auto).expect("faults can be handled");
        let doorbell = Doorbell::new(&uffd).expect("a page");
        uffd.wait_for_faults(true).expect("set");
        let (answered, mut answers) = (AtomicUsize::new(0), Vec::new());
        thread::scope(|scope| {
            scope.spawn(|| {
                for touch in 0..2 {
                    // The page is absent again after its last access was answered.
                    while answered.load(Ordering::SeqCst) < touch {
                        thread::yield_now();
                    }
                    // SAFETY: the page is mapped, and zeros once it is there.
                    black_box(unsafe { doorbell.page.first().read_volatile() });
                }
                while answered.load(Ordering::SeqCst) < 2 {
                    thread::yield_now();
                }
                doorbell.ring_to_stop();
            });
            while answers.last() != Some(&TouchCause::StopRequested) {
                for fault in uffd.faults().expect("a fault") {
                    assert!(doorbell.is_at(fault.address));
                    answers.push(doorbell.on_touch(&uffd));
                    answered.store(answers.len(), Ordering::SeqCst);
                }
            }
        });
        // A thread that is woken late finds the page absent again, and is answered once more.
        let (last, before) = answers.split_last().expect("there are answers");
        assert_eq!(*last, TouchCause::StopRequested);
        assert!(before.len() >= 2 && before.iter().all(|answer| *answer == TouchCause::Other), "{answers:?}");
    }
}
