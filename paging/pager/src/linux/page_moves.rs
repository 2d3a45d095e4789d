//! Moves of pages out of and into the program's memory, for any result of the kernel.
//!
//! A transient result is retried, one that says something about the page is used, and any other ends the program. No
//! result of a call is trusted to say where a page is. If a result leaves this open, the pager's own side is checked,
//! which only the pager fills and empties. So a page never counts as moved if it was not, and never twice.
#![allow(unsafe_code, reason = "moves memory under the application; each block says why it is sound")]

use super::userfaultfd::Userfaultfd;
use crate::failure::MoveError;
use crate::page::PAGE_BYTES;
use rustix::io::Errno;
use rustix::mm::Advice;
use std::thread;
use std::time::Duration;

pub(crate) static ZEROS: [u8; PAGE_BYTES] = [0; PAGE_BYTES];

/// The maximum time to wait for memory if the system has none. The program would wait as long at its own access, if the
/// system did not end it, but not forever.
const MEMORY_RETRY_DELAY: Duration = Duration::from_millis(1);
const MAX_MEMORY_RETRIES: u32 = 5000;

/// The outcome of moving a page out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum MoveOutcome {
    /// The page was moved.
    Moved,
    /// The kernel holds it, for a device for example. It was not moved.
    Held,
    /// The page had no memory because the program has discarded it. The place is still empty.
    WasAbsent,
}

fn failed(call: &'static str) -> impl Fn(Errno) -> MoveError {
    move |errno| MoveError { call, errno }
}

/// Retries while the result is transient: the address space is being changed, a signal is about to end the process, or
/// memory is short.
fn retry_transient(mut ask: impl FnMut() -> Result<(), Errno>) -> Result<(), Errno> {
    let mut shortages = 0;
    loop {
        match ask() {
            Err(Errno::AGAIN | Errno::INTR) => thread::yield_now(),
            Err(Errno::NOMEM) if shortages < MAX_MEMORY_RETRIES => {
                shortages += 1;
                thread::sleep(MEMORY_RETRY_DELAY);
            }
            answer => return answer,
        }
    }
}

impl Userfaultfd {
    /// Maps a copy of these bytes at an absent page. Returns `false` and changes nothing if it has memory already.
    ///
    /// # Safety
    /// The page is registered and belongs to the caller, `from` is a readable page, and threads that access the absent
    /// page can wait.
    pub(crate) unsafe fn fill(&self, page: *mut u8, from: *const u8, wake: bool) -> Result<bool, MoveError> {
        // SAFETY: as the caller promises.
        match retry_transient(|| unsafe { self.copy(page as usize, from, PAGE_BYTES, wake) }) {
            Ok(()) => Ok(true),
            Err(Errno::EXIST) => Ok(false),
            Err(errno) => Err(failed("UFFDIO_COPY")(errno)),
        }
    }

    /// Moves a page to a place without memory.
    ///
    /// # Safety
    /// Both are registered. The page belongs to the caller, and threads that access it meanwhile can wait; only the
    /// caller uses the place, which is empty.
    pub(crate) unsafe fn move_out(&self, page: *mut u8, place: *mut u8) -> Result<MoveOutcome, MoveError> {
        loop {
            // SAFETY: as the caller promises.
            match retry_transient(|| unsafe {
                self.move_page(place as usize, page as usize, PAGE_BYTES, false)
            }) {
                Ok(()) => return Ok(MoveOutcome::Moved),
                Err(Errno::BUSY) => return Ok(MoveOutcome::Held),
                Err(Errno::NOENT) => return Ok(MoveOutcome::WasAbsent),
                // A kernel of 2025 retries after it has moved the page, and finds the page at its new place. The place
                // was empty before: if it is not empty now, it holds the page. SAFETY: only the caller uses the place.
                Err(Errno::EXIST) if unsafe { self.has_memory(place)? } => {
                    return if is_resident(page) {
                        Err(failed("UFFDIO_MOVE")(Errno::EXIST))
                    } else {
                        Ok(MoveOutcome::Moved)
                    };
                }
                Err(Errno::EXIST) => {}
                Err(errno) => return Err(failed("UFFDIO_MOVE")(errno)),
            }
        }
    }

    /// Moves the memory of a place to an absent page, and wakes the threads that wait for it. Afterwards the place is
    /// empty.
    ///
    /// # Safety
    /// Both are registered. The page and the place belong to the caller. Only the caller uses the place, which
    /// has memory.
    pub(crate) unsafe fn move_in(&self, place: *mut u8, page: *mut u8, wake: bool) -> Result<(), MoveError> {
        // SAFETY: as the caller promises.
        match retry_transient(|| unsafe { self.move_page(page as usize, place as usize, PAGE_BYTES, wake) }) {
            Ok(()) => Ok(()),
            // The kernel may have moved it, retried, and found it in the page; or no longer there, if the program has
            // discarded it meanwhile. If the place is empty now, the page has had it, and no thread was woken.
            Err(errno @ (Errno::EXIST | Errno::NOENT)) => {
                // SAFETY: only the caller uses the place.
                if unsafe { self.has_memory(place)? } {
                    return Err(failed("UFFDIO_MOVE")(errno));
                }
                if wake { self.wake_page(page) } else { Ok(()) }
            }
            // The kernel holds the place's memory or shares it, or the program has set a property of the page that
            // differs from the place. A copy is as good.
            Err(errno @ (Errno::BUSY | Errno::INVAL)) => {
                // SAFETY: as the caller promises; the place has memory, which may be read.
                if unsafe { !self.fill(page, place, wake)? } {
                    return Err(failed("UFFDIO_MOVE")(errno));
                }
                // SAFETY: its contents were copied, and only the caller uses the place.
                unsafe { release_page_memory(place) }
            }
            Err(errno) => Err(failed("UFFDIO_MOVE")(errno)),
        }
    }

    /// Wakes the threads that wait for a page, so that they fault again.
    pub(crate) fn wake_page(&self, page: *mut u8) -> Result<(), MoveError> {
        retry_transient(|| self.wake(page as usize, PAGE_BYTES)).map_err(failed("UFFDIO_WAKE"))
    }

    /// Makes every store to a page fault.
    pub(crate) fn protect_page(&self, page: *mut u8) -> Result<(), MoveError> {
        retry_transient(|| self.protect(page as usize, PAGE_BYTES)).map_err(failed("UFFDIO_WRITEPROTECT"))
    }

    /// Returns whether a place has memory, also in swap. A place without memory gets a page of zeros, which is freed.
    ///
    /// # Safety
    /// The place is registered, and only the caller uses it.
    unsafe fn has_memory(&self, place: *mut u8) -> Result<bool, MoveError> {
        // SAFETY: nothing else uses the place.
        unsafe {
            let had = !self.fill(place, ZEROS.as_ptr(), false)?;
            if !had {
                release_page_memory(place)?;
            }
            Ok(had)
        }
    }
}

/// Frees a page's memory.
///
/// # Safety
/// Its contents are not needed.
unsafe fn release_page_memory(page: *mut u8) -> Result<(), MoveError> {
    // Locked or not: a kernel that moves pages has this advice. SAFETY: as the caller promises.
    retry_transient(|| unsafe { rustix::mm::madvise(page.cast(), PAGE_BYTES, Advice::LinuxDontneedLocked) })
        .map_err(failed("MADV_DONTNEED_LOCKED"))
}

/// Returns whether a page is in memory. A page in swap is not.
fn is_resident(page: *mut u8) -> bool {
    let mut resident = 0;
    // SAFETY: the call fills one byte for one page.
    let answer = unsafe { libc::mincore(page.cast(), PAGE_BYTES, &raw mut resident) };
    answer == 0 && resident & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::super::userfaultfd::Delivery;
    use super::*;
    use crate::eviction::Eviction;
    use crate::private::PrivateMapping;
    use std::os::fd::{AsRawFd, OwnedFd};
    use std::sync::atomic::{AtomicBool, Ordering};

    /// A page with memory, and a place without.
    struct PageAndSlot {
        uffd: Userfaultfd,
        mapping: PrivateMapping,
    }

    impl PageAndSlot {
        fn new(delivery: Delivery) -> Self {
            let uffd = Userfaultfd::open(delivery, Eviction::Move).unwrap();
            let mapping = PrivateMapping::new(PAGE_BYTES, PAGE_BYTES, PAGE_BYTES).unwrap();
            uffd.register(mapping.first() as usize, PAGE_BYTES).unwrap();
            uffd.register(mapping.second() as usize, PAGE_BYTES).unwrap();
            let two = PageAndSlot { uffd, mapping };
            assert!(two.fill(two.page(), 7));
            two
        }

        fn page(&self) -> *mut u8 {
            self.mapping.first()
        }

        fn place(&self) -> *mut u8 {
            self.mapping.second()
        }

        fn fill(&self, at: *mut u8, byte: u8) -> bool {
            // SAFETY: the test's own memory.
            unsafe { self.uffd.fill(at, [byte; PAGE_BYTES].as_ptr(), false).unwrap() }
        }

        fn move_out(&self) -> Result<MoveOutcome, MoveError> {
            // SAFETY: the test's own memory.
            unsafe { self.uffd.move_out(self.page(), self.place()) }
        }

        fn move_in(&self) -> Result<(), MoveError> {
            // SAFETY: the test's own memory.
            unsafe { self.uffd.move_in(self.place(), self.page(), true) }
        }

        /// Does what the kernel has done before it retries and reports that the page exists.
        fn move_as_the_kernel_did(&self, to: *mut u8, from: *mut u8) {
            // SAFETY: the test's own memory.
            unsafe { self.uffd.move_page(to as usize, from as usize, PAGE_BYTES, false).unwrap() };
        }

        fn release_page_memory(&self, at: *mut u8) {
            // SAFETY: the test's own memory.
            unsafe { release_page_memory(at).unwrap() };
        }

        fn assert(&self, page: Option<u8>, place: Option<u8>) {
            for (at, byte) in [(self.page(), page), (self.place(), place)] {
                assert_eq!(is_resident(at), byte.is_some());
                if let Some(byte) = byte {
                    // SAFETY: it is there, and nobody writes to it.
                    assert_eq!(unsafe { std::slice::from_raw_parts(at, PAGE_BYTES) }, [byte; PAGE_BYTES]);
                }
            }
        }
    }

    #[test]
    fn a_move_that_was_done_is_done_although_the_kernel_says_that_the_page_exists() {
        let two = PageAndSlot::new(Delivery::Sigbus);
        two.move_as_the_kernel_did(two.place(), two.page());
        assert_eq!(two.move_out(), Ok(MoveOutcome::Moved));
        two.assert(None, Some(7));
        two.move_as_the_kernel_did(two.page(), two.place());
        two.move_in().unwrap();
        two.assert(Some(7), None);
    }

    #[test]
    fn who_waits_for_a_page_goes_on_although_the_kernel_says_that_it_exists() {
        let two = PageAndSlot::new(Delivery::Messages);
        assert_eq!(two.move_out(), Ok(MoveOutcome::Moved));
        let (page, woken) = (two.page() as usize, AtomicBool::new(false));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                // SAFETY: the test's own memory; it faults, and waits.
                assert_eq!(unsafe { (page as *const u8).read_volatile() }, 7);
                woken.store(true, Ordering::SeqCst);
            });
            while two.uffd.faults().unwrap().next().is_none() {
                thread::yield_now();
            }
            // It is there now, but no thread was woken.
            two.move_as_the_kernel_did(two.page(), two.place());
            assert!(!woken.load(Ordering::SeqCst));
            let answer = two.move_in();
            if answer.is_err() {
                // Otherwise this test would not end.
                two.uffd.wake_page(two.page()).unwrap();
            }
            answer.unwrap();
        });
        assert!(woken.load(Ordering::SeqCst));
    }

    #[test]
    fn pages_that_are_on_both_sides_stay_what_they_are_and_are_told() {
        let two = PageAndSlot::new(Delivery::Sigbus);
        assert!(two.fill(two.place(), 9));
        let exists = |call| Err(MoveError { call, errno: Errno::EXIST });
        assert_eq!(two.move_out(), exists("UFFDIO_MOVE").map(|()| MoveOutcome::Moved));
        assert_eq!(two.move_in(), exists("UFFDIO_MOVE"));
        two.assert(Some(7), Some(9));
    }

    #[test]
    fn a_page_that_the_program_has_given_back_is_absent_and_one_given_back_in_between_was_moved() {
        let two = PageAndSlot::new(Delivery::Sigbus);
        two.release_page_memory(two.page());
        assert_eq!(two.move_out(), Ok(MoveOutcome::WasAbsent));
        two.assert(None, None);
        // Moved, discarded, and then the kernel retries.
        two.move_in().unwrap();
        two.assert(None, None);
    }

    /// Pipes that reference the memory so often that the kernel takes it for pinned by a device.
    fn hold(at: *mut u8) -> Vec<OwnedFd> {
        const SLOTS: usize = 256;
        let mut held = Vec::new();
        for _ in 0..5 {
            let (reader, writer) = rustix::pipe::pipe().unwrap();
            // SAFETY: the descriptor is open; the pages are there.
            unsafe {
                let bytes = (SLOTS * PAGE_BYTES) as libc::c_int;
                assert_eq!(libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, bytes), bytes);
                for _ in 0..SLOTS {
                    // Neighbours in a pipe are joined unless they are apart.
                    let part = libc::iovec { iov_base: at.cast(), iov_len: 1 };
                    assert_eq!(libc::vmsplice(writer.as_raw_fd(), &part, 1, libc::SPLICE_F_NONBLOCK as _), 1);
                }
            }
            held.extend([reader, writer]);
        }
        held
    }

    #[test]
    fn a_page_that_the_kernel_holds_stays_and_one_whose_place_it_holds_is_copied() {
        let two = PageAndSlot::new(Delivery::Sigbus);
        let held = hold(two.page());
        assert_eq!(two.move_out(), Ok(MoveOutcome::Held));
        two.assert(Some(7), None);
        drop(held);
        assert_eq!(two.move_out(), Ok(MoveOutcome::Moved));
        let held = hold(two.place());
        two.move_in().unwrap();
        two.assert(Some(7), None);
        drop(held);
    }

    #[test]
    fn a_page_that_is_locked_otherwise_than_its_place_comes_in_as_a_copy() {
        let two = PageAndSlot::new(Delivery::Sigbus);
        assert_eq!(two.move_out(), Ok(MoveOutcome::Moved));
        let locked = two.mapping.is_locked();
        // SAFETY: neither changes contents.
        unsafe {
            if locked {
                assert_eq!(libc::munlock(two.page().cast(), PAGE_BYTES), 0);
            } else {
                // As far as that is allowed, or the page is like its place and moves.
                libc::mlock2(two.page().cast(), PAGE_BYTES, libc::MLOCK_ONFAULT as _);
            }
        }
        two.move_in().unwrap();
        two.assert(Some(7), None);
    }
}
