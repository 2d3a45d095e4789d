//! Turns that two processes share: what is asked for, who has begun what, and what has become of it.
//!
//! One side asks; both begin the turns in their order, each turn on one side only.
#![allow(unsafe_code, reason = "memory that two processes share; each block says why it is sound")]

use super::turns::{self, Number, Shared, Side};
use crate::page::PAGE_BYTES;
use ameles_seal::pages::{SealedSlots, MAX_TAG_BYTES, JobStatus, PageJob, SharedMemory, Ticket};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};
use zeroize::Zeroize;

/// Looks at a turn of the other side before it lets others run.
const LOOKS_BEFORE_YIELD: u32 = 1 << 8;

/// A counter that both look at all the time, on cache lines of its own.
#[repr(C, align(128))]
#[derive(Default)]
struct Counter(AtomicU64);

#[repr(C)]
struct Head {
    /// Turns that were asked for.
    asked: Counter,
    /// Turns that were begun.
    begun: Counter,
    /// The doings of the process beside while it does no turns; a futex.
    asleep: AtomicU32,
    /// The moment at which the caller last woke it, in nanoseconds of the monotonic clock.
    woken: AtomicU64,
    stop: AtomicU32,
    scratch_beside: UnsafeCell<Scratch>,
}

/// A turn's entry, until its lane is used again.
#[repr(C, align(64))]
struct Entry(UnsafeCell<PageJob>);

/// A lane.
#[repr(C, align(4096))]
struct Lane(UnsafeCell<[u8; PAGE_BYTES]>);

/// Memory of both processes, and of nobody else: it has no name, is in no core dump, and, where the limit on locked
/// memory allows it, in no swap.
pub(super) struct Ring {
    start: *mut u8,
    room: usize,
}

// SAFETY: counters and outcomes are atomic; entries and lanes are written by the one who has the turn, before its
// outcome is stored, and read after it was loaded.
unsafe impl Send for Ring {}
// SAFETY: as above.
unsafe impl Sync for Ring {}

/// Room for a page with its tag, which each side that does turns has for itself.
#[repr(C)]
pub(super) struct Scratch {
    /// The turn whose page lies here as it was sealed. It is set before anything of that page is copied out.
    sealed: AtomicU64,
    bytes: [u8; PAGE_BYTES + MAX_TAG_BYTES],
}

impl Scratch {
    pub(super) const fn new() -> Self {
        Scratch { sealed: AtomicU64::new(0), bytes: [0; PAGE_BYTES + MAX_TAG_BYTES] }
    }

    fn page(&mut self) -> &mut [u8] {
        &mut self.bytes[..PAGE_BYTES]
    }

    /// Notes whose sealed page lies here. A side that ends later has copied out all of it, a part or nothing; one that
    /// ends earlier has copied out nothing.
    fn note(&self, turn: Ticket) {
        self.sealed.store(turn, Ordering::Release);
        fence(Ordering::Release);
    }

    fn holds(&self, turn: Ticket) -> bool {
        self.sealed.load(Ordering::Acquire) == turn
    }

    fn wipe(&mut self) {
        self.bytes.zeroize();
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

    /// The offsets at which entries (before them head and outcomes) and lanes begin, and at which the lanes end.
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

    /// Turns that were begun.
    pub(super) fn begun(&self) -> Ticket {
        self.head().begun.0.load(Ordering::Relaxed)
    }

    /// The scratch of the process beside.
    ///
    /// # Safety
    /// One caller has it at a time.
    #[expect(clippy::mut_from_ref, reason = "it lies in an UnsafeCell, and the caller promises to be alone")]
    pub(super) unsafe fn scratch_beside(&self) -> &mut Scratch {
        // SAFETY: zeros are valid, and the caller is alone.
        unsafe { &mut *self.head().scratch_beside.get() }
    }

    fn index(&self, turn: Ticket) -> usize {
        (turn % self.room as u64) as usize
    }

    fn entry(&self, turn: Ticket) -> *mut PageJob {
        // SAFETY: as `layout` has it.
        unsafe {
            let entries = self.start.add(Self::layout(self.room).0).cast::<Entry>();
            UnsafeCell::raw_get(&raw const (*entries.add(self.index(turn))).0)
        }
    }

    fn lane(&self, turn: Ticket) -> *mut [u8; PAGE_BYTES] {
        // SAFETY: as `layout` has it.
        unsafe {
            let lanes = self.start.add(Self::layout(self.room).1).cast::<Lane>();
            UnsafeCell::raw_get(&raw const (*lanes.add(self.index(turn))).0)
        }
    }

    pub(super) fn fill(&self, turn: Ticket, page: &[u8]) {
        // SAFETY: the turn was not asked for, and those that used the lane before are done: it is the caller's.
        unsafe { (*self.lane(turn)).copy_from_slice(page) };
    }

    pub(super) fn ask(&self, turn: Ticket, carry: PageJob) {
        turns::ask(self, turn, carry);
    }

    pub(super) fn outcome(&self, turn: Ticket) -> JobStatus {
        turns::outcome(self, turn)
    }

    /// Keeps other programs from the memory that are started as a copy of this one from now on.
    pub(super) fn keep_to_these_two(&self) -> Result<(), Errno> {
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes(), Advice::LinuxDontFork) }
    }

    /// Does the next turn that nobody has begun. `false` if there is none. While it waits for a turn of the other side
    /// it asks now and then whether that has ended.
    pub(super) fn do_next<M: SharedMemory>(
        &self,
        slots: &SealedSlots<M>,
        scratch: &mut Scratch,
        has_ended: impl Fn() -> bool,
    ) -> bool {
        turns::do_next(self, &mut Worker { ring: self, slots, scratch, has_ended })
    }

    /// Does what the process beside had begun when it ended, and every turn after it.
    pub(super) fn do_all_again<M: SharedMemory>(&self, slots: &SealedSlots<M>, scratch: &mut Scratch) {
        turns::do_all_again(self, &mut Worker { ring: self, slots, scratch, has_ended: || true });
    }

    /// Tells whether the turn's pages open. Nothing is sealed where they do not.
    fn open_and_seal<M: SharedMemory>(
        &self,
        turn: Ticket,
        PageJob { open, seal, .. }: PageJob,
        slots: &SealedSlots<M>,
        scratch: &mut Scratch,
    ) -> bool {
        let Some((to, source)) = seal else {
            // SAFETY: whoever has the turn has its lane. What is read ahead is for a later turn.
            let lane = unsafe { &mut *self.lane(turn) };
            return open.is_none_or(|id| slots.open(id, lane).is_ok());
        };
        let source_opened = source == turn || self.outcome(source) == JobStatus::Done;
        let opened = open.is_none_or(|from| slots.open(from, scratch.page()).is_ok());
        if !source_opened || !opened {
            return false;
        }
        if open.is_none() || source != turn {
            // SAFETY: the turn that filled it is done, and the lane is not used again before this one is done.
            scratch.page().copy_from_slice(unsafe { &*self.lane(source) });
        }
        slots.seal_in_place(to, &mut scratch.bytes);
        scratch.note(turn);
        slots.copy_out(to, &scratch.bytes);
        true
    }

    pub(super) fn asleep(&self) -> &AtomicU32 {
        &self.head().asleep
    }

    pub(super) fn woken(&self) -> &AtomicU64 {
        &self.head().woken
    }

    pub(super) fn stop(&self) -> &AtomicU32 {
        &self.head().stop
    }

    pub(super) fn is_all_begun(&self) -> bool {
        let Head { asked, begun, .. } = self.head();
        begun.0.load(Ordering::SeqCst) >= asked.0.load(Ordering::SeqCst)
    }
}

impl Number for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    fn exchange(&self, now: u64, then: u64) -> Result<u64, u64> {
        self.compare_exchange_weak(now, then, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl Shared for Ring {
    type Number = AtomicU64;

    fn asked(&self) -> &AtomicU64 {
        &self.head().asked.0
    }

    fn begun(&self) -> &AtomicU64 {
        &self.head().begun.0
    }

    fn done(&self, turn: Ticket) -> &AtomicU64 {
        // SAFETY: as `layout` has it; zeros are valid.
        unsafe { &*self.start.add(size_of::<Head>()).cast::<AtomicU64>().add(self.index(turn)) }
    }

    fn room(&self) -> usize {
        self.room
    }

    fn write(&self, turn: Ticket, carry: PageJob) {
        // SAFETY: the turn was not asked for, and those that used the lane before are done: it is the caller's.
        unsafe { self.entry(turn).write(carry) };
    }

    fn read(&self, turn: Ticket) -> PageJob {
        // SAFETY: it was asked for, and nobody writes it before it is done.
        unsafe { *self.entry(turn) }
    }

    fn pause(&self, looks: u32) {
        spin_loop();
        if looks.is_multiple_of(LOOKS_BEFORE_YIELD) {
            // The other side may want this very processor.
            std::thread::yield_now();
        }
    }
}

/// A side that does turns.
struct Worker<'a, M, E> {
    ring: &'a Ring,
    slots: &'a SealedSlots<M>,
    scratch: &'a mut Scratch,
    has_ended: E,
}

impl<M: SharedMemory, E: Fn() -> bool> Side for Worker<'_, M, E> {
    fn act(&mut self, turn: Ticket, carry: &PageJob) -> bool {
        self.ring.open_and_seal(turn, *carry, self.slots, self.scratch)
    }

    fn ends(&mut self, turn: Ticket, carry: &PageJob) -> bool {
        // SAFETY: whose it was has ended.
        let left = unsafe { self.ring.scratch_beside() };
        // Its page may be in shared memory already, whole or in part, where an older one was that this turn opens.
        let sealed = carry.seal.filter(|_| left.holds(turn));
        if let Some((id, _)) = sealed {
            self.slots.copy_out(id, &left.bytes);
        }
        sealed.is_some()
    }

    fn has_ended(&self) -> bool {
        (self.has_ended)()
    }
}

impl Drop for Ring {
    fn drop(&mut self) {
        for turn in 0..self.room as u64 {
            // SAFETY: whoever drops the ring is alone with it.
            unsafe { (*self.lane(turn)).zeroize() };
        }
        // SAFETY: as above.
        unsafe { (*self.head().scratch_beside.get()).wipe() };
        // SAFETY: the mapping is ours, and no address of it leaves this file but for as long as the ring is borrowed.
        let unmapped = unsafe { rustix::mm::munmap(self.start.cast(), self.bytes()) };
        debug_assert_eq!(unmapped, Ok(()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_core::tree::layout::{Extent, Layout};
    use ameles_seal::pages::{AtomicMemory, PageCipher, PageId, PageKey, memory_bytes};
    use rand_chacha::ChaCha20Rng;
    use rand_chacha::rand_core::SeedableRng;

    fn layout() -> Layout {
        Layout::new(vec![Extent { buckets: 4, slots: 1, slot_bytes: PAGE_BYTES as u32 }])
    }

    fn memory() -> AtomicMemory {
        AtomicMemory::new(memory_bytes(&layout(), PageCipher::Aes256Gcm).unwrap())
    }

    fn from_pool<M: SharedMemory>(memory: M) -> SealedSlots<M> {
        let key = PageKey::draw(PageCipher::Aes256Gcm, &mut ChaCha20Rng::seed_from_u64(1));
        SealedSlots::new(memory, &layout(), key).unwrap()
    }

    fn slots() -> SealedSlots<AtomicMemory> {
        from_pool(memory())
    }

    fn id(slot: u32, version: u64) -> PageId {
        PageId { slot, version }
    }

    /// Seals a page in slot 0, carries it to slot 1, and on to slot 2.
    fn ask_for_three(ring: &Ring) {
        ring.fill(1, &[7; PAGE_BYTES]);
        ring.ask(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
        ring.ask(2, PageJob { open: Some(id(0, 1)), seal: Some((id(1, 1), 2)), after: [1, 0] });
        ring.ask(3, PageJob { open: Some(id(1, 1)), seal: Some((id(2, 1), 3)), after: [1, 0] });
    }

    fn assert_done(ring: &Ring, slots: &SealedSlots<AtomicMemory>) {
        for turn in 1..=3 {
            assert_eq!(ring.outcome(turn), JobStatus::Done);
        }
        let mut page = [0; PAGE_BYTES];
        slots.open(id(2, 1), &mut page).unwrap();
        assert_eq!(page, [7; PAGE_BYTES]);
    }

    #[test]
    fn a_turn_that_waits_for_one_of_a_side_that_has_ended_does_it_as_well() {
        for begun_there in 1..=2 {
            let (ring, slots) = (Ring::new(8).unwrap(), slots());
            let mut scratch = Scratch::new();
            ask_for_three(&ring);
            for turn in 1..=begun_there {
                assert_eq!(turns::begin(&ring), Some(turn), "the other side begins it, and ends");
            }
            while ring.do_next(&slots, &mut scratch, || true) {}
            assert_done(&ring, &slots);
        }
    }

    #[test]
    fn what_a_side_had_begun_that_has_ended_is_done_again_with_all_that_follows() {
        let (ring, slots) = (Ring::new(8).unwrap(), slots());
        let mut scratch = Scratch::new();
        ask_for_three(&ring);
        assert!(ring.do_next(&slots, &mut scratch, || false));
        assert_eq!(turns::begin(&ring), Some(2));
        ring.do_all_again(&slots, &mut scratch);
        assert_done(&ring, &slots);
    }

    /// Shared memory as seen by a side that ends when it has copied out so many bytes of a page.
    struct Ends<'a> {
        memory: &'a AtomicMemory,
        after: usize,
    }

    impl SharedMemory for Ends<'_> {
        fn bytes(&self) -> usize {
            self.memory.bytes()
        }

        fn load(&self, at: usize, into: &mut [u8]) {
            self.memory.load(at, into);
        }

        fn store(&self, at: usize, from: &[u8]) {
            self.memory.store(at, &from[..self.after]);
        }
    }

    #[test]
    fn a_page_that_the_ended_side_had_copied_out_whole_or_in_part_is_no_forgery() {
        let sealed_bytes = slots().sealed_bytes();
        // A refresh in place, one from elsewhere, and the written page where an old one is opened all the same.
        let turns: [(PageId, (PageId, Ticket)); 3] =
            [(id(0, 1), (id(0, 2), 2)), (id(0, 1), (id(1, 1), 2)), (id(0, 1), (id(0, 2), 1))];
        for (open, seal) in turns {
            for after in [0, 1, 64, PAGE_BYTES, sealed_bytes - 1, sealed_bytes] {
                let memory = memory();
                let (ring, slots) = (Ring::new(8).unwrap(), from_pool(&memory));
                let mut scratch = Scratch::new();
                ring.fill(1, &[7; PAGE_BYTES]);
                ring.ask(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
                let carry = PageJob { open: Some(open), seal: Some(seal), after: [1, 0] };
                ring.ask(2, carry);
                assert!(ring.do_next(&slots, &mut scratch, || false));
                assert_eq!(turns::begin(&ring), Some(2));
                // SAFETY: the side that ends is played here, and no other is.
                let left = unsafe { ring.scratch_beside() };
                assert!(ring.open_and_seal(2, carry, &from_pool(Ends { memory: &memory, after }), left));
                ring.do_all_again(&slots, &mut scratch);
                assert_eq!(ring.outcome(2), JobStatus::Done, "{after} bytes of {seal:?}");
                let mut page = [0; PAGE_BYTES];
                slots.open(seal.0, &mut page).unwrap();
                assert_eq!(page, [7; PAGE_BYTES]);
            }
        }
    }

    #[test]
    fn turns_done_by_two_threads_at_once_leave_what_one_would() {
        let (ring, slots) = (Ring::new(16).unwrap(), slots());
        std::thread::scope(|scope| {
            let beside = scope.spawn(|| {
                let mut scratch = Scratch::new();
                while ring.stop().load(Ordering::SeqCst) == 0 {
                    ring.do_next(&slots, &mut scratch, || false);
                }
            });
            let mut scratch = Scratch::new();
            ring.fill(1, &[9; PAGE_BYTES]);
            ring.ask(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
            for turn in 2..500 {
                // From slot to slot, round and round: each waits for the one before.
                let (from, to) = ((turn - 2) % 4, (turn - 1) % 4);
                let (was, becomes) = (id(from as u32, (turn - 2) / 4 + 1), id(to as u32, (turn - 1) / 4 + 1));
                while turn > 8 && ring.outcome(turn - 8) == JobStatus::Pending {
                    ring.do_next(&slots, &mut scratch, || false);
                }
                ring.ask(turn, PageJob { open: Some(was), seal: Some((becomes, turn)), after: [1, 0] });
            }
            while ring.outcome(499) == JobStatus::Pending {
                ring.do_next(&slots, &mut scratch, || false);
            }
            ring.stop().store(1, Ordering::SeqCst);
            beside.join().unwrap();
        });
        let mut page = [0; PAGE_BYTES];
        slots.open(id(498 % 4, 498 / 4 + 1), &mut page).unwrap();
        assert_eq!(page, [9; PAGE_BYTES]);
    }
}
