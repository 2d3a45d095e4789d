//! Turns that two processes share: what is asked for, who has begun what, and what has become of it.
//!
//! One side asks; both begin the turns in their order, each turn on one side only.
#![allow(unsafe_code, reason = "memory that two processes share; each block says why it is sound")]

use crate::options::PAGE_BYTES;
use lethe_seal::pages::{Carrier, Carry, MOST_TAG_BYTES, Outcome, SharedMemory, Turn};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use zeroize::Zeroize;

/// Looks at a turn of the other side before it lets others run, and before it asks whether that side has ended. A look takes
/// some forty nanoseconds, a turn a microsecond.
const LOOKS_BEFORE_YIELD: u32 = 1 << 8;
const LOOKS_BEFORE_DOUBT: u32 = 1 << 14;

/// What both look at all the time, each on cache lines of its own.
#[repr(C, align(128))]
#[derive(Default)]
struct Counter(AtomicU64);

#[repr(C)]
struct Head {
    /// Turns that were asked for.
    asked: Counter,
    /// Turns that were begun.
    begun: Counter,
    /// What the process beside does while it does no turns; a futex.
    asleep: AtomicU32,
    stop: AtomicU32,
    /// For the process beside.
    scratch: UnsafeCell<Scratch>,
}

/// A turn's entry, until its lane is used again.
#[repr(C, align(64))]
struct Entry(UnsafeCell<Carry>);

/// A lane.
#[repr(C, align(4096))]
struct Lane(UnsafeCell<[u8; PAGE_BYTES]>);

/// Memory of both processes, and of nobody else: it has no name, is in no core dump, and, where the limit on locked
/// memory allows it, in no swap.
pub(super) struct Ring {
    start: *mut u8,
    room: usize,
}

// SAFETY: counters and outcomes are atomic; entries and lanes are written by the one who has the turn, before its outcome
// is stored, and read after it was loaded.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

/// What one who does turns needs for itself: room for a page with its tag.
pub(super) struct Scratch([u8; PAGE_BYTES + MOST_TAG_BYTES]);

impl Scratch {
    pub(super) const fn new() -> Self {
        Scratch([0; PAGE_BYTES + MOST_TAG_BYTES])
    }

    fn wipe(&mut self) {
        self.0.zeroize();
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        self.wipe();
    }
}

impl Ring {
    /// With so many lanes.
    pub(super) fn new(room: usize) -> Result<Self, Errno> {
        let bytes = Self::layout(room).2;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping of zeros, at an address of the kernel's choice.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags)? };
        let ring = Ring { start: start.cast(), room };
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontDump)? };
        // SAFETY: as above. Where the limit does not allow it, it is not locked.
        let _ = unsafe { rustix::mm::mlock_with(start, bytes, MlockFlags::ONFAULT) };
        Ok(ring)
    }

    /// Where outcomes, entries (before them the head) and lanes begin, and where they end.
    fn layout(room: usize) -> (usize, usize, usize) {
        let outcomes = size_of::<Head>();
        let entries = (outcomes + room * size_of::<AtomicU64>()).next_multiple_of(align_of::<Entry>());
        let lanes = (entries + room * size_of::<Entry>()).next_multiple_of(align_of::<Lane>());
        (entries, lanes, lanes + room * size_of::<Lane>())
    }

    pub(super) fn room(&self) -> usize {
        self.room
    }

    /// Bytes that it takes.
    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.room).2
    }

    fn head(&self) -> &Head {
        // SAFETY: the mapping begins with it, is aligned to pages and was zeros, which are valid.
        unsafe { &*self.start.cast() }
    }

    /// The scratch of the process beside.
    ///
    /// # Safety
    /// One caller has it at a time.
    #[expect(clippy::mut_from_ref, reason = "it lies in an UnsafeCell, and the caller promises to be alone")]
    pub(super) unsafe fn scratch_beside(&self) -> &mut Scratch {
        // SAFETY: zeros are valid, and the caller is alone.
        unsafe { &mut *self.head().scratch.get() }
    }

    fn index(&self, turn: Turn) -> usize {
        (turn % self.room as u64) as usize
    }

    /// Twice the last turn of this lane that is done, and 1 if it was forged.
    fn done(&self, turn: Turn) -> &AtomicU64 {
        // SAFETY: as `layout` has it; zeros are valid.
        unsafe { &*self.start.add(size_of::<Head>()).cast::<AtomicU64>().add(self.index(turn)) }
    }

    fn entry(&self, turn: Turn) -> *mut Carry {
        // SAFETY: as `layout` has it.
        unsafe {
            let entries = self.start.add(Self::layout(self.room).0).cast::<Entry>();
            UnsafeCell::raw_get(&raw const (*entries.add(self.index(turn))).0)
        }
    }

    fn lane(&self, turn: Turn) -> *mut [u8; PAGE_BYTES] {
        // SAFETY: as `layout` has it.
        unsafe {
            let lanes = self.start.add(Self::layout(self.room).1).cast::<Lane>();
            UnsafeCell::raw_get(&raw const (*lanes.add(self.index(turn))).0)
        }
    }

    pub(super) fn fill(&self, turn: Turn, page: &[u8]) {
        // SAFETY: the turn was not asked for, and those that used the lane before are done: it is the caller's.
        unsafe { (*self.lane(turn)).copy_from_slice(page) };
    }

    pub(super) fn ask(&self, turn: Turn, carry: Carry) {
        // SAFETY: as above. Whoever begins the turn has seen `asked`, and so this.
        unsafe { self.entry(turn).write(carry) };
        self.head().asked.0.store(turn, Ordering::Release);
    }

    pub(super) fn outcome(&self, turn: Turn) -> Outcome {
        match self.done(turn).load(Ordering::Acquire) {
            done if done == turn * 2 => Outcome::Done,
            done if done == turn * 2 + 1 => Outcome::Forged,
            _ => Outcome::UnderWay,
        }
    }

    /// Takes the next turn that nobody has begun.
    fn begin(&self) -> Option<Turn> {
        let Head { asked, begun, .. } = self.head();
        let mut last = begun.0.load(Ordering::Relaxed);
        while last < asked.0.load(Ordering::Acquire) {
            match begun.0.compare_exchange_weak(last, last + 1, Ordering::Relaxed, Ordering::Relaxed) {
                Ok(_) => return Some(last + 1),
                Err(now) => last = now,
            }
        }
        None
    }

    /// Keeps other programs from the memory that are started as a copy of this one from now on.
    pub(super) fn keep_to_these_two(&self) -> Result<(), Errno> {
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes(), Advice::LinuxDontFork) }
    }

    /// Does the next turn that nobody has begun. `false` if there is none. While it waits for a turn of the other side it
    /// asks now and then whether that has ended.
    pub(super) fn do_next<M: SharedMemory>(
        &self,
        carrier: &Carrier<M>,
        scratch: &mut Scratch,
        has_ended: impl Fn() -> bool,
    ) -> bool {
        let Some(turn) = self.begin() else { return false };
        self.do_turn(turn, carrier, scratch, &has_ended);
        true
    }

    /// Does what the other side had begun when it ended, and every turn after it.
    pub(super) fn do_all_again<M: SharedMemory>(&self, carrier: &Carrier<M>, scratch: &mut Scratch) {
        let begun = self.head().begun.0.load(Ordering::Relaxed);
        for turn in begun.saturating_sub(self.room as u64 / 2).max(1)..=begun {
            // What is sealed twice is the same twice: page, identity and key are.
            if self.outcome(turn) == Outcome::UnderWay {
                self.do_turn(turn, carrier, scratch, &|| true);
            }
        }
        while self.do_next(carrier, scratch, || true) {}
    }

    fn do_turn<M: SharedMemory>(
        &self,
        turn: Turn,
        carrier: &Carrier<M>,
        scratch: &mut Scratch,
        has_ended: &impl Fn() -> bool,
    ) {
        // SAFETY: it was asked for, and nobody writes it before it is done.
        let Carry { open, seal, after } = unsafe { *self.entry(turn) };
        let source = seal.map_or(turn, |(_, source)| source);
        for before in [after, source].into_iter().filter(|before| *before != 0 && *before != turn) {
            let mut looks = 0u32;
            while self.outcome(before) == Outcome::UnderWay {
                spin_loop();
                looks = looks.wrapping_add(1);
                if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
                    // The other side may want this very processor.
                    std::thread::yield_now();
                }
                if looks.is_multiple_of(LOOKS_BEFORE_DOUBT) && has_ended() {
                    // Every turn before this one was begun, and this side begins one at a time.
                    self.do_turn(before, carrier, scratch, has_ended);
                }
            }
        }
        let mut forged = source != turn && self.outcome(source) == Outcome::Forged;
        // SAFETY: whoever has the turn has its lane.
        let lane = || unsafe { &mut *self.lane(turn) };
        forged |= match (open, seal) {
            // Only what is read ahead is for a later turn.
            (Some(id), None) => carrier.open(id, lane()).is_err(),
            (Some(from), Some((to, source))) if source == turn => {
                carrier.carry(from, to, &mut scratch.0).is_err()
            }
            (Some(id), Some(_)) => carrier.open(id, &mut scratch.0[..PAGE_BYTES]).is_err(),
            (None, _) => false,
        };
        if let Some((id, source)) = seal.filter(|(_, source)| !forged && (open.is_none() || *source != turn))
        {
            // SAFETY: the turn that filled it is done, and the lane is not used again before this one is done.
            carrier.seal(id, unsafe { &*self.lane(source) }, &mut scratch.0);
        }
        self.done(turn).store(turn * 2 + u64::from(forged), Ordering::Release);
    }

    pub(super) fn asleep(&self) -> &AtomicU32 {
        &self.head().asleep
    }

    pub(super) fn stop(&self) -> &AtomicU32 {
        &self.head().stop
    }

    pub(super) fn is_all_begun(&self) -> bool {
        let Head { asked, begun, .. } = self.head();
        begun.0.load(Ordering::SeqCst) >= asked.0.load(Ordering::SeqCst)
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        for turn in 0..self.room as u64 {
            // SAFETY: whoever drops the ring is alone with it.
            unsafe { (*self.lane(turn)).zeroize() };
        }
        // SAFETY: as above.
        unsafe { (*self.head().scratch.get()).wipe() };
        // SAFETY: the mapping is ours, and no address of it leaves this file but for as long as the ring is borrowed.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes()) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_core::layout::{Extent, Layout};
    use lethe_seal::pages::{AtomicMemory, PageCipher, PageId, PageKey, memory_bytes};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn carrier() -> Carrier<AtomicMemory> {
        let layout = Layout::new(vec![Extent { buckets: 4, slots: 1, slot_bytes: PAGE_BYTES as u32 }]);
        let key = PageKey::draw(PageCipher::Aes256Gcm, &mut ChaCha20Rng::seed_from_u64(1));
        let memory = AtomicMemory::new(memory_bytes(&layout, key.cipher()).unwrap());
        Carrier::new(memory, &layout, key).unwrap()
    }

    fn id(slot: u32, version: u64) -> PageId {
        PageId { slot, version }
    }

    /// Seals a page in slot 0, carries it to slot 1, and on to slot 2.
    fn ask_for_three(ring: &Ring) {
        ring.fill(1, &[7; PAGE_BYTES]);
        ring.ask(1, Carry { open: None, seal: Some((id(0, 1), 1)), after: 0 });
        ring.ask(2, Carry { open: Some(id(0, 1)), seal: Some((id(1, 1), 2)), after: 1 });
        ring.ask(3, Carry { open: Some(id(1, 1)), seal: Some((id(2, 1), 3)), after: 2 });
    }

    fn assert_done(ring: &Ring, carrier: &Carrier<AtomicMemory>) {
        for turn in 1..=3 {
            assert_eq!(ring.outcome(turn), Outcome::Done);
        }
        let mut page = [0; PAGE_BYTES];
        carrier.open(id(2, 1), &mut page).unwrap();
        assert_eq!(page, [7; PAGE_BYTES]);
    }

    #[test]
    fn a_turn_that_waits_for_one_of_a_side_that_has_ended_does_it_as_well() {
        for begun_there in 1..=2 {
            let (ring, carrier) = (Ring::new(8).unwrap(), carrier());
            let mut scratch = Scratch::new();
            ask_for_three(&ring);
            for turn in 1..=begun_there {
                assert_eq!(ring.begin(), Some(turn), "the other side begins it, and ends");
            }
            while ring.do_next(&carrier, &mut scratch, || true) {}
            assert_done(&ring, &carrier);
        }
    }

    #[test]
    fn what_a_side_had_begun_that_has_ended_is_done_again_with_all_that_follows() {
        let (ring, carrier) = (Ring::new(8).unwrap(), carrier());
        let mut scratch = Scratch::new();
        ask_for_three(&ring);
        assert!(ring.do_next(&carrier, &mut scratch, || false));
        assert_eq!(ring.begin(), Some(2));
        ring.do_all_again(&carrier, &mut scratch);
        assert_done(&ring, &carrier);
    }

    #[test]
    fn turns_done_by_two_threads_at_once_leave_what_one_would() {
        let (ring, carrier) = (Ring::new(16).unwrap(), carrier());
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let mut scratch = Scratch::new();
                while ring.stop().load(Ordering::SeqCst) == 0 {
                    ring.do_next(&carrier, &mut scratch, || false);
                }
            });
            let mut scratch = Scratch::new();
            ring.fill(1, &[9; PAGE_BYTES]);
            ring.ask(1, Carry { open: None, seal: Some((id(0, 1), 1)), after: 0 });
            for turn in 2..500 {
                // From slot to slot, round and round: each waits for the one before.
                let (from, to) = ((turn - 2) % 4, (turn - 1) % 4);
                let (was, becomes) = (id(from as u32, (turn - 2) / 4 + 1), id(to as u32, (turn - 1) / 4 + 1));
                while turn > 8 && ring.outcome(turn - 8) == Outcome::UnderWay {
                    ring.do_next(&carrier, &mut scratch, || false);
                }
                ring.ask(turn, Carry { open: Some(was), seal: Some((becomes, turn)), after: turn - 1 });
            }
            while ring.outcome(499) == Outcome::UnderWay {
                ring.do_next(&carrier, &mut scratch, || false);
            }
            ring.stop().store(1, Ordering::SeqCst);
            beside.join().unwrap();
        });
        let mut page = [0; PAGE_BYTES];
        carrier.open(id(498 % 4, 498 / 4 + 1), &mut page).unwrap();
        assert_eq!(page, [9; PAGE_BYTES]);
    }
}
