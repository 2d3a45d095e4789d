//! A region in a child after `fork`.
//!
//! The child gets a scheme of its own, over untrusted memory and under a key of its own, which it draws itself.
//! Resident pages go over as any memory does. Pages in untrusted memory the parent reads through its scheme and seals,
//! page by page, under a key that serves for nothing else; the child opens and writes them through its own scheme, and
//! then drops all that it has of its parent's. So the two share neither key, nor nonce, nor slot.
//!
//! Whoever watches the untrusted memory sees that there was a `fork`, and as many pages carried over as the parent's
//! scheme was ever given, or all there are if that is less: nothing of which, or of what they hold.
//!
//! [`Region::fork`] does all of it. A caller that cannot have it that way, for `fork` is called elsewhere, takes the
//! steps: [`Region::prepare_fork`], [`Region::before_fork`], and after it [`Region::after_fork_in_parent`] with
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

/// All that a child will need, made before there is one. It is dropped where nothing comes of it.
pub struct Fork {
    /// The stack of all that is done at either side of `fork`: the caller's own may be paged.
    stack: Box<OwnStack>,
    /// Not on the caller's stack either.
    parts: Box<Parts>,
}

struct Parts {
    /// The child's untrusted memory.
    shared: Option<SharedMapping>,
    transfer: Option<Transfer>,
    /// The pages in it, in their order.
    stored: Vec<u32>,
    /// Pages in it, with those that make up the number.
    accesses: u64,
    /// The reason why the child cannot have what is resident.
    refused: Option<Errno>,
    blocked: Option<BlockedSignals>,
    birth: Option<child_ready::ChildReady>,
}

/// A child whose memory may not stand yet.
pub struct ChildReady(child_ready::ChildReady);

impl ChildReady {
    /// Waits until it does. A child whose memory could not be made has ended then, and was waited for.
    ///
    /// # Errors
    /// The system's reason.
    pub fn wait(&self, child: libc::pid_t) -> Result<(), Errno> {
        self.0.wait(child)
    }
}

/// The side of `fork` that this process is on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Forked {
    /// The one that has forked, with the number of the other.
    Parent(libc::pid_t),
    /// The other.
    Child,
}

impl Region {
    /// `fork`, with this region in both processes. No other region is in the child.
    ///
    /// # Errors
    /// The system's; there is no child then, and nothing has changed.
    ///
    /// # Safety
    /// In the child there is the calling thread only, with all that this means for locks that others hold; it calls no
    /// `exit` that would run what is the parent's to run. No signal handler touches another region.
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

    /// Makes what a child needs.
    ///
    /// # Errors
    /// [`Error`]; nothing has changed then.
    pub fn prepare_fork(&self) -> Result<Fork, Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        let bytes = self.options.assembly().untrusted_bytes(self.options.untrusted_bytes)?;
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

    /// Seals what the scheme holds for the child, and keeps everybody else from the region until after `fork`: whoever
    /// faults waits. The calling thread takes no signal until then.
    ///
    /// # Safety
    /// The thread calls `fork` next, and after it one of the two below, in both processes. In between it may touch a
    /// few pages of the region, but calls nothing of it.
    pub unsafe fn before_fork(&self, fork: &mut Fork) {
        fork.parts.blocked = Some(BlockedSignals::all_but_faults());
        let parts: *mut Parts = &raw mut *fork.parts;
        let parts = Address(parts);
        let paging = Arc::clone(&self.paging);
        fork.stack.run(move || {
            // SAFETY: the caller waits for us.
            let parts = unsafe { &mut *parts.get() };
            let begun = paging.with_and_retain_state(|state| parts.begin(state));
            if let Err(failure) = begun
                && paging.failed(failure) == FailureAction::Park
            {
                std::thread::park();
            }
        });
        if let Some(Registration::HandlerThread(thread)) = &self.trap {
            thread.wake();
        }
    }

    /// Lets everybody go on, whether or not there is a child.
    ///
    /// # Safety
    /// As [`before_fork`](Self::before_fork) says.
    pub unsafe fn after_fork_in_parent(&self, fork: Fork) -> ChildReady {
        let Fork { stack, mut parts } = fork;
        let paging = Arc::clone(&self.paging);
        // SAFETY: the calling thread keeps the region.
        stack.run(move || unsafe { paging.unshare_resident() });
        self.paging.release_retained();
        let birth = parts.birth.take().expect("it is taken once");
        let blocked = parts.blocked.take();
        drop((parts, stack));
        drop(blocked);
        ChildReady(birth)
    }

    /// Makes the region this process's. `change` says in what its options differ from the parent's; scheme, sizes and
    /// cipher stay as they are.
    ///
    /// # Errors
    /// [`Error`]. The process must end then: what the region held is not there. Its parent has been told.
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

    /// The child's own scheme, and who serves its faults.
    fn rebuild_in_child(&mut self, parts: &mut Parts) -> Result<(), Error> {
        let refused = |what| move |errno| Error::System { what, errno };
        // Another thread may have been at work in what is left of these.
        let parents = std::mem::replace(&mut self.binding, Arc::new(ThreadBinding::default()));
        std::mem::forget(parents);
        match self.trap.take() {
            Some(Registration::HandlerThread(mut thread)) => thread.forget_in_child(),
            Some(Registration::InThread(handler)) => handler.forget_in_child(),
            None => {}
        }
        // SAFETY: there is no other thread.
        let mut state = unsafe { std::ptr::read(self.paging.retained_state()) };
        state.pages.hide_from_children();
        if let Some(errno) = parts.refused {
            return Err(refused("what is resident for a child")(errno));
        }
        if state.pages.has_stray_pages(&*state.fault_path).map_err(refused("a look at memory"))? {
            return Err(refused("a child whose C library has touched absent pages")(Errno::FAULT));
        }
        self.take_over(&mut state, parts)?;
        let uffd = Arc::new(Userfaultfd::open(delivery(self.options.trap), self.options.eviction)?);
        state.pages.adopt(Arc::clone(&uffd))?;
        let resident = state.resident_addresses();
        let own_span = self.as_ptr() as usize..self.as_ptr() as usize + self.bytes();
        let PagingState { fault_path, pages, .. } = state;
        let paging = Paging::new(fault_path, pages, own_span.clone(), &self.options);
        let paging = Arc::new(paging.map_err(refused("a stack"))?);
        // What is left there was taken out, or is another thread's.
        std::mem::forget(std::mem::replace(&mut self.paging, paging));
        self.trap = Some(Registration::new(&self.options, &self.paging, uffd, &self.binding, own_span)?);
        resident.into_iter().for_each(unshare_page);
        Ok(())
    }

    /// Builds the scheme and gives it what the parent's held; the parent's goes, with its keys.
    fn take_over(&mut self, state: &mut PagingState, parts: &mut Parts) -> Result<(), Error> {
        let transfer = parts.transfer.take().expect("it is taken once");
        self.shared = Arc::new(parts.shared.take().expect("it is taken once"));
        let Built { fault_path, trusted_bytes, threads } = build(&self.options, &self.shared)?;
        self.set_scheme_size(trusted_bytes, threads);
        let mut parents = std::mem::replace(&mut state.fault_path, fault_path);
        let mut page = Zeroizing::new(vec![0; PAGE_BYTES]);
        // A page that nobody looks for in the scheme, for those that make up the number.
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

/// An address that another stack is told of.
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

    /// As it is looked for, but not as it would be found.
    fn hidden(bytes: &[u8]) -> Word {
        std::array::from_fn(|at| !bytes[at])
    }

    /// The words of the scheme's own memory that can be keys, or were made of them: no numbers, and no addresses.
    fn secrets(region: &Region) -> BTreeSet<Word> {
        region.paging().with(|state| {
            let fault_path = &*state.fault_path;
            // SAFETY: as many bytes are there; those between fields are looked at as whatever they are.
            let bytes = unsafe {
                std::slice::from_raw_parts((&raw const *fault_path).cast::<u8>(), size_of_val(fault_path))
            };
            bytes.windows(16).step_by(8).filter(|word| is_random(word)).map(hidden).collect()
        })
    }

    /// Tells whether a word can be of a key: many of its bytes differ, and no half of it can be an address.
    ///
    /// Two addresses side by side often have twelve different bytes, and a child may have the same two. Of random
    /// words, one in 2^15 is passed over for its zeros.
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

    /// Counts how often a word of it stands in private memory of this process. Absent pages are left so.
    fn found(secrets: &BTreeSet<Word>) -> usize {
        let maps = std::fs::read_to_string("/proc/self/maps").unwrap();
        let memory = std::fs::File::open("/proc/self/mem").unwrap();
        let mut begins = vec![false; 1 << 16];
        secrets.iter().for_each(|word| begins[usize::from(u16::from_ne_bytes([word[0], word[1]]))] = true);
        // It fills one page of memory, which is passed over; nothing else lies in that.
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
