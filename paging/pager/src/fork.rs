//! A region in a child after `fork`.
//!
//! The child gets its own scheme, over its own untrusted memory and with its own key, which it draws itself. Resident
//! pages are copied like any memory. The parent reads the pages in untrusted memory through its scheme and seals them,
//! page by page, with a key for this transfer only. The child opens them, writes them through its own scheme, and then
//! drops all of its parent's state. So the two share neither key, nor nonce, nor slot.
//!
//! An observer of the untrusted memory sees the `fork`, and the number of transferred pages. It is the number that the
//! parent's scheme was ever given, or all pages if that is less. The observer learns neither which pages, nor their
//! contents.
//!
//! [`Region::fork`] does all of it. A caller whose `fork` is called elsewhere calls the steps:
//! [`Region::prepare_fork`], [`Region::before_fork`], and after it [`Region::after_fork_in_parent`] with
//! [`ChildReady::wait`], or [`Region::after_fork_in_child`].
#![allow(unsafe_code, reason = "memory that two processes have; each block says why it is sound")]

use crate::builder::{Built, build};
use crate::error::Error;
use crate::failure::{Failure, FailureAction, abort_with};
use crate::fault::fork::StoredPages;
use crate::linux::child_ready;
use crate::linux::forked::{drop_and_wipe, unshare_page};
use crate::linux::own_stack::OwnStack;
use crate::linux::paging::Paging;
use crate::linux::paging_state::PagingState;
use crate::linux::signals::BlockedSignals;
use crate::linux::thread_binding::ThreadBinding;
use crate::linux::transfer::Transfer;
use crate::linux::userfaultfd::Userfaultfd;
use crate::options::Options;
use crate::page::PAGE_BYTES;
use crate::region::{Region, Registration, delivery};
use crate::shared::SharedMapping;
use rustix::io::Errno;
use std::sync::Arc;
use zeroize::Zeroizing;

/// All that a child will need, made before it exists. It is dropped if there is no fork.
pub struct Fork {
    /// The stack for all work on either side of `fork`: the caller's own may be paged.
    stack: Box<OwnStack>,
    /// The large parts, which are not on the caller's stack either.
    parts: Box<Parts>,
}

struct Parts {
    /// The child's untrusted memory.
    shared: Option<SharedMapping>,
    transfer: Option<Transfer>,
    /// The pages in the transfer, in order.
    stored: Vec<u32>,
    /// The number of transferred pages, including dummies.
    accesses: u64,
    /// The reason why the resident pages cannot be shared with the child.
    refused: Option<Errno>,
    blocked: Option<BlockedSignals>,
    birth: Option<child_ready::ChildReady>,
}

/// A child whose memory may not be ready yet.
pub struct ChildReady(child_ready::ChildReady);

impl ChildReady {
    /// Waits until the child is ready. If the child's memory could not be made, it has ended then, and was waited for.
    ///
    /// # Errors
    /// The system's reason.
    pub fn wait(&self, child: libc::pid_t) -> Result<(), Errno> {
        self.0.wait(child)
    }
}

/// The process that `fork` returned in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The parent, with the child's number.
    Parent(libc::pid_t),
    /// The child.
    Child,
}

impl Region {
    /// Calls `fork`. This region is in both processes; the child has no other region.
    ///
    /// # Errors
    /// The errors of the system. There is no child then, and nothing has changed.
    ///
    /// # Safety
    /// The child has the calling thread only, with the usual consequences for locks of other threads. It must not call
    /// an `exit` that runs the parent's exit handlers. No signal handler accesses another region.
    pub unsafe fn fork(&mut self) -> Result<Forked, Error> {
        let mut fork = self.prepare_fork()?;
        // SAFETY: the caller's promise, and one step after the other.
        unsafe {
            self.before_fork(&mut fork);
            let child = libc::fork();
            let failed = Errno::from_io_error(&std::io::Error::last_os_error());
            if child == 0 {
                if let Err(error) = self.after_fork_in_child(fork, |_| ()) {
                    abort_with(&error);
                }
                return Ok(Forked::Child);
            }
            let birth = self.after_fork_in_parent(fork);
            let refused = |errno| Error::System { what: "a child", errno };
            if child < 0 {
                return Err(refused(failed.unwrap_or(Errno::AGAIN)));
            }
            birth.wait(child).map_err(refused)?;
            Ok(Forked::Parent(child))
        }
    }

    /// Prepares a child.
    ///
    /// # Errors
    /// [`Error`]; in this case nothing has changed.
    pub fn prepare_fork(&self) -> Result<Fork, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let bytes = self.options.fault_path_builder().untrusted_bytes(self.options.untrusted_bytes)?;
        let parts = Parts {
            shared: Some(SharedMapping::new(bytes).map_err(refused("untrusted memory for a child"))?),
            transfer: Some(Transfer::new(&self.options)?),
            stored: Vec::new(),
            accesses: 0,
            refused: None,
            blocked: None,
            birth: Some(child_ready::ChildReady::new().map_err(refused("memory that a child shares"))?),
        };
        let stack = OwnStack::inherited().map_err(refused("a stack"))?;
        Ok(Fork { stack: Box::new(stack), parts: Box::new(parts) })
    }

    /// Seals what the scheme holds for the child, and locks the region until after `fork`: other threads that fault
    /// wait. The calling thread takes no signal until then.
    ///
    /// # Safety
    /// The thread calls `fork` next, and after it one of the two functions below, in both processes. In between it may
    /// access a few pages of the region, but calls no function of it.
    pub unsafe fn before_fork(&self, fork: &mut Fork) {
        fork.parts.blocked = Some(BlockedSignals::all_but_faults());
        let parts: *mut Parts = &raw mut *fork.parts;
        let parts = Address(parts);
        let paging = Arc::clone(&self.paging);
        fork.stack.run(move || {
            // SAFETY: the caller waits for us.
            let parts = unsafe { &mut *parts.get() };
            let begun = paging.lock_and_keep(|state| parts.begin(state));
            if let Err(failure) = begun
                && paging.failed(failure) == FailureAction::Park
            {
                std::thread::park();
            }
        });
        if let Some(Registration::HandlerThread(thread)) = &self.registration {
            thread.wake();
        }
    }

    /// Unlocks the region, whether or not there is a child.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says.
    pub unsafe fn after_fork_in_parent(&self, fork: Fork) -> ChildReady {
        let Fork { stack, mut parts } = fork;
        let paging = Arc::clone(&self.paging);
        // SAFETY: the calling thread has the region locked.
        stack.run(move || unsafe { paging.unshare_resident() });
        self.paging.unlock_kept();
        let birth = parts.birth.take().expect("it is taken once");
        let blocked = parts.blocked.take();
        drop((parts, stack));
        drop(blocked);
        ChildReady(birth)
    }

    /// Makes this process the owner of the region. `change` changes its options, which are those of the parent; scheme,
    /// sizes and cipher must stay the same.
    ///
    /// # Errors
    /// [`Error`]. The process must end then: the region's contents are lost. The parent has been notified.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says. There is no other thread.
    pub unsafe fn after_fork_in_child(
        &mut self,
        fork: Fork,
        change: impl FnOnce(&mut Options),
    ) -> Result<(), Error> {
        let Fork { stack, mut parts } = fork;
        change(&mut self.options);
        let (region, parts_at) = (Address(&raw mut *self), Address(&raw mut *parts));
        // SAFETY: the caller waits, and has both.
        let made = stack.run(move || unsafe { (*region.get()).rebuild_in_child(&mut *parts_at.get()) });
        let errno = match &made {
            Ok(()) => Ok(()),
            Err(Error::System { errno, .. }) => Err(*errno),
            Err(_) => Err(Errno::NOMEM),
        };
        if let Some(birth) = &parts.birth {
            birth.tell(errno);
        }
        let blocked = parts.blocked.take();
        drop((parts, stack));
        drop(blocked);
        made
    }

    /// Builds the child's own scheme, and starts its handler of faults.
    fn rebuild_in_child(&mut self, parts: &mut Parts) -> Result<(), Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        // Another thread may have been using what remains of these.
        let parents = std::mem::replace(&mut self.binding, Arc::new(ThreadBinding::default()));
        std::mem::forget(parents);
        match self.registration.take() {
            Some(Registration::HandlerThread(mut thread)) => thread.forget_in_child(),
            Some(Registration::InThread(handler)) => handler.forget_in_child(),
            None => {}
        }
        // SAFETY: there is no other thread.
        let mut state = unsafe { std::ptr::read(self.paging.state_under_kept_lock()) };
        state.pages.hide_from_children();
        if let Some(errno) = parts.refused {
            return Err(refused("what is resident for a child")(errno));
        }
        if state.pages.has_stray_pages(&*state.fault_path).map_err(refused("a look at memory"))? {
            return Err(refused("a child whose C library has touched absent pages")(Errno::FAULT));
        }
        self.take_over(&mut state, parts)?;
        let uffd = Arc::new(Userfaultfd::open(delivery(self.options.fault_handling), self.options.eviction)?);
        state.pages.adopt(Arc::clone(&uffd))?;
        let resident = state.resident_addresses();
        let own_span = self.as_ptr() as usize..self.as_ptr() as usize + self.bytes();
        let PagingState { fault_path, pages, .. } = state;
        let paging = Paging::new(fault_path, pages, own_span.clone(), &self.options);
        let paging = Arc::new(paging.map_err(refused("a stack"))?);
        // The remaining frames were taken out, or belong to another thread.
        std::mem::forget(std::mem::replace(&mut self.paging, paging));
        self.registration =
            Some(Registration::new(&self.options, &self.paging, uffd, &self.binding, own_span)?);
        resident.into_iter().for_each(unshare_page);
        Ok(())
    }

    /// Builds the scheme and writes the contents of the parent's to it; the parent's scheme is dropped, with its keys.
    fn take_over(&mut self, state: &mut PagingState, parts: &mut Parts) -> Result<(), Error> {
        let transfer = parts.transfer.take().expect("it is taken once");
        self.shared = Arc::new(parts.shared.take().expect("it is taken once"));
        let Built { fault_path, trusted_bytes, threads } = build(&self.options, &self.shared)?;
        self.set_scheme_size(trusted_bytes, threads);
        let mut parents = std::mem::replace(&mut state.fault_path, fault_path);
        let mut page = Zeroizing::new(vec![0; PAGE_BYTES]);
        // A page that is never read from the scheme, for dummies.
        let other = (0..).zip(&parts.stored).find(|(page, stored)| page != *stored);
        let other = other.map_or(parts.stored.len() as u32, |(page, _)| page);
        for at in 0..parts.accesses {
            let to = parts.stored.get(at as usize).copied().unwrap_or(other);
            if let Err(error) = transfer.open(at, &mut page) {
                abort_with(&error);
            }
            if let Err(error) = state.fault_path.fill(to.into(), &page) {
                abort_with(&error);
            }
        }
        state.fault_path.take_over(parents.hand_over(), &parts.stored);
        drop_and_wipe(parents);
        Ok(())
    }
}

impl Parts {
    fn begin(&mut self, state: &mut PagingState) -> Result<(), Failure> {
        let failure = |error| Failure { page: 0, error };
        let StoredPages { pages, accesses } =
            state.fault_path.begin_fork(&mut state.pages).map_err(failure)?;
        let transfer = self.transfer.as_ref().expect("it was not taken yet");
        let mut page = Zeroizing::new(vec![0; PAGE_BYTES]);
        for at in 0..accesses {
            let stored = pages.get(at as usize).copied();
            state.fault_path.read_stored(stored, &mut page).map_err(failure)?;
            if stored.is_none() {
                page.fill(0);
            }
            if let Err(error) = transfer.seal(at, &page) {
                abort_with(&error);
            }
        }
        (self.stored, self.accesses) = (pages, accesses);
        self.refused = state.pages.share_with_children().err();
        Ok(())
    }
}

/// An address, sent to another stack.
struct Address<T>(*mut T);

impl<T> Address<T> {
    fn get(&self) -> *mut T {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scheme::Scheme;
    use ameles_seal::pages::PageCipher;
    use std::collections::BTreeSet;
    use std::os::unix::fs::FileExt;

    type Word = [u8; 16];

    /// Returns the bytes in the form in which the search does not find its own pattern.
    fn hidden(bytes: &[u8]) -> Word {
        std::array::from_fn(|at| !bytes[at])
    }

    /// The words of the scheme's own memory that may be keys or derived from them: not numbers, and not addresses.
    fn secrets(region: &Region) -> BTreeSet<Word> {
        region.paging().with(|state| {
            let fault_path = &*state.fault_path;
            // SAFETY: as many bytes are there; padding is read as is.
            let bytes = unsafe {
                std::slice::from_raw_parts((&raw const *fault_path).cast::<u8>(), size_of_val(fault_path))
            };
            bytes.windows(16).step_by(8).filter(|word| is_random(word)).map(hidden).collect()
        })
    }

    /// Returns whether a word may be part of a key: many of its bytes differ, and neither half can be an address.
    ///
    /// Two adjacent addresses often have twelve different bytes, and a child may have the same two. One in 2^15 random
    /// words is skipped for its zeros.
    fn is_random(word: &[u8]) -> bool {
        let is_address = |half: &[u8]| u64::from_ne_bytes(std::array::from_fn(|at| half[at])) >> 48 == 0;
        let different: BTreeSet<_> = word.iter().collect();
        different.len() >= 12 && !word.chunks(8).any(is_address)
    }

    #[test]
    fn two_addresses_are_no_key() {
        let addresses = [0x5512_34ab_cd67_u64, 0x7f89_9eef_0142].map(u64::to_ne_bytes).concat();
        assert!(addresses.iter().collect::<BTreeSet<_>>().len() >= 12, "their bytes differ");
        assert!(!is_random(&addresses));
        assert!(is_random(&std::array::from_fn::<u8, 16, _>(|at| 15 * at as u8 + 3)));
    }

    /// Counts the occurrences of these words in private memory of this process. Absent pages are not paged in.
    fn found(secrets: &BTreeSet<Word>) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let mut begins = vec![false; 1 << 16];
        secrets.iter().for_each(|word| begins[usize::from(u16::from_ne_bytes([word[0], word[1]]))] = true);
        // It fills one page of memory, which is skipped; nothing else lies in it.
        let mut two_pages = vec![0; 2 * PAGE_BYTES];
        let start = two_pages.as_ptr().align_offset(PAGE_BYTES);
        let page = &mut two_pages[start..start + PAGE_BYTES];
        let mut found = 0;
        for line in maps.lines().filter(|line| line.contains(" rw-p ")) {
            let (start, rest) = line.split_once('-').unwrap();
            let end = rest.split_once(' ').unwrap().0;
            let [start, end] = [start, end].map(|number| usize::from_str_radix(number, 16).unwrap());
            for at in (start..end).step_by(PAGE_BYTES) {
                if at == page.as_ptr() as usize || memory.read_exact_at(page, at as u64).is_err() {
                    continue;
                }
                for word in page.windows(16).step_by(8) {
                    let begin = !u16::from_ne_bytes([word[0], word[1]]);
                    found += usize::from(begins[usize::from(begin)] && secrets.contains(&hidden(word)));
                }
            }
        }
        found
    }

    #[test]
    fn nothing_of_the_parents_keys_is_in_the_child() {
        for cipher in PageCipher::ALL {
            for (scheme, second_process) in
                [(Scheme::DetWoOram, false), (Scheme::Path, false), (Scheme::Eager, true)]
            {
                let options = Options { resident: 5, scheme, cipher, second_process, ..Options::new(40) };
                let mut region = Region::new(options).unwrap();
                region.as_mut_slice().fill(3);
                let secrets = secrets(&region);
                assert!(secrets.len() > 1 && found(&secrets) > 1, "{cipher}: it is in the parent");
                // SAFETY: the child touches this region only, and ends by a bare call.
                match unsafe { region.fork() }.unwrap() {
                    Forked::Child => {
                        let clean = found(&secrets) == 0;
                        // SAFETY: ends the process.
                        unsafe { libc::_exit(i32::from(!clean)) }
                    }
                    Forked::Parent(child) => {
                        let mut status = -1;
                        // SAFETY: the status is written.
                        unsafe { libc::waitpid(child, &raw mut status, 0) };
                        assert_eq!(status, 0, "{cipher} {scheme}");
                    }
                }
            }
        }
    }
}
