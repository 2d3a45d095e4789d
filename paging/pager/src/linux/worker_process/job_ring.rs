//! The ring of page jobs in the memory that two processes share: the jobs, their status, and a page buffer for each.
//!
//! The [protocol](job_protocol) says who claims which job, and when.
#![allow(unsafe_code, reason = "memory that two processes share; each block says why it is sound")]

use super::job_protocol::{self, Runner, SharedCounter, SharedRing};
use super::scratch::Scratch;
use crate::page::PAGE_BYTES;
use ameles_seal::pages::{JobStatus, PageJob, SealedSlots, SharedMemory, Ticket};
use rustix::io::Errno;
use rustix::mm::{Advice, MapFlags, MlockFlags, ProtFlags};
use std::cell::UnsafeCell;
use std::hint::spin_loop;
use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};
use zeroize::Zeroize;

/// The number of polls of a job of the other side before this side yields its processor.
const POLLS_BEFORE_YIELD: u32 = 1 << 8;

/// A counter that both sides poll, on cache lines of its own.
#[repr(C, align(128))]
#[derive(Default)]
struct Counter(AtomicU64);

/// The beginning of the shared memory.
#[repr(C)]
struct RingHeader {
    /// The last ticket that was submitted.
    submitted: Counter,
    /// The last ticket that was claimed.
    claimed: Counter,
    /// The state of the worker process while it runs no job; a futex.
    worker_state: AtomicU32,
    /// The time at which the caller last woke it, in nanoseconds of the monotonic clock.
    woken_at: AtomicU64,
    stop: AtomicU32,
    worker_scratch: UnsafeCell<Scratch>,
}

/// A job, until its buffer is used again.
#[repr(C, align(64))]
struct JobSlot(UnsafeCell<PageJob>);

/// The buffer of a job.
#[repr(C, align(4096))]
struct PageBuffer(UnsafeCell<[u8; PAGE_BYTES]>);

/// Memory of both processes and of no other. It has no name and is in no core dump. It is in no swap if the limit on
/// locked memory allows that.
pub(super) struct JobRing {
    start: *mut u8,
    capacity: usize,
}

// SAFETY: counters and statuses are atomic. The side that has the job writes jobs and buffers before it stores the
// status. The other side reads them after it has loaded the status.
unsafe impl Send for JobRing {}
// SAFETY: as above.
unsafe impl Sync for JobRing {}

impl JobRing {
    /// Makes a ring with a buffer for each of `capacity` jobs.
    pub(super) fn new(capacity: usize) -> Result<Self, Errno> {
        let bytes = Self::layout(capacity).2;
        let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
        // SAFETY: a new mapping of zeros, at an address of the kernel's choice.
        let start = unsafe { rustix::mm::mmap_anonymous(ptr::null_mut(), bytes, protection, flags)? };
        let ring = JobRing { start: start.cast(), capacity };
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(start, bytes, Advice::LinuxDontDump)? };
        // SAFETY: as above. If the limit does not allow it, the memory is not locked.
        let _ = unsafe { rustix::mm::mlock_with(start, bytes, MlockFlags::ONFAULT) };
        Ok(ring)
    }

    /// Returns the offsets at which jobs (after header and statuses) and buffers begin, and at which the buffers end.
    fn layout(capacity: usize) -> (usize, usize, usize) {
        let statuses = size_of::<RingHeader>();
        let jobs = (statuses + capacity * size_of::<AtomicU64>()).next_multiple_of(align_of::<JobSlot>());
        let buffers = (jobs + capacity * size_of::<JobSlot>()).next_multiple_of(align_of::<PageBuffer>());
        (jobs, buffers, buffers + capacity * size_of::<PageBuffer>())
    }

    pub(super) fn capacity(&self) -> usize {
        self.capacity
    }

    /// Returns the size of the ring in bytes.
    pub(super) fn bytes(&self) -> usize {
        Self::layout(self.capacity).2
    }

    fn header(&self) -> &RingHeader {
        // SAFETY: the mapping begins with the header, is aligned to pages, and was zeros, which are valid.
        unsafe { &*self.start.cast() }
    }

    /// Returns the last ticket that was claimed.
    pub(super) fn claimed(&self) -> Ticket {
        self.header().claimed.0.load(Ordering::Relaxed)
    }

    /// Returns the scratch of the worker process.
    ///
    /// # Safety
    /// One caller has it at a time.
    #[expect(clippy::mut_from_ref, reason = "it lies in an UnsafeCell, and the caller promises to be alone")]
    pub(super) unsafe fn worker_scratch(&self) -> &mut Scratch {
        // SAFETY: zeros are valid, and nobody else uses the scratch.
        unsafe { &mut *self.header().worker_scratch.get() }
    }

    fn index(&self, ticket: Ticket) -> usize {
        (ticket % self.capacity as u64) as usize
    }

    fn job_slot(&self, ticket: Ticket) -> *mut PageJob {
        // SAFETY: `layout` gives the offset.
        unsafe {
            let jobs = self.start.add(Self::layout(self.capacity).0).cast::<JobSlot>();
            UnsafeCell::raw_get(&raw const (*jobs.add(self.index(ticket))).0)
        }
    }

    fn buffer(&self, ticket: Ticket) -> *mut [u8; PAGE_BYTES] {
        // SAFETY: `layout` gives the offset.
        unsafe {
            let buffers = self.start.add(Self::layout(self.capacity).1).cast::<PageBuffer>();
            UnsafeCell::raw_get(&raw const (*buffers.add(self.index(ticket))).0)
        }
    }

    pub(super) fn fill(&self, ticket: Ticket, page: &[u8]) {
        // SAFETY: the job was not submitted, and the jobs that used its buffer before are done: the caller has both.
        unsafe { (*self.buffer(ticket)).copy_from_slice(page) };
    }

    pub(super) fn submit(&self, ticket: Ticket, job: PageJob) {
        job_protocol::submit(self, ticket, job);
    }

    pub(super) fn status(&self, ticket: Ticket) -> JobStatus {
        job_protocol::status(self, ticket)
    }

    /// Hides the memory from processes that this one forks from now on.
    pub(super) fn hide_from_children(&self) -> Result<(), Errno> {
        // SAFETY: the advice loses no contents.
        unsafe { rustix::mm::madvise(self.start.cast(), self.bytes(), Advice::LinuxDontFork) }
    }

    /// Claims and runs the next job. `false` if there is none. A job may wait for a job of the other side. During this
    /// wait, `has_ended` is called now and then: it returns whether that side has ended.
    pub(super) fn run_next<M: SharedMemory>(
        &self,
        slots: &SealedSlots<M>,
        scratch: &mut Scratch,
        has_ended: impl Fn() -> bool,
    ) -> bool {
        job_protocol::run_next(self, &mut RingRunner { ring: self, slots, scratch, has_ended })
    }

    /// Runs the jobs that the worker process had claimed when it ended, and every job after them.
    pub(super) fn run_unfinished<M: SharedMemory>(&self, slots: &SealedSlots<M>, scratch: &mut Scratch) {
        job_protocol::run_unfinished(
            self,
            &mut RingRunner { ring: self, slots, scratch, has_ended: || true },
        );
    }

    /// Runs a job. `false` if a page of it did not open; in this case nothing is sealed.
    fn run_job<M: SharedMemory>(
        &self,
        ticket: Ticket,
        PageJob { open, seal, .. }: PageJob,
        slots: &SealedSlots<M>,
        scratch: &mut Scratch,
    ) -> bool {
        let Some((to, source)) = seal else {
            // SAFETY: the side that has the job has its buffer. A prefetched page is for a later job.
            let buffer = unsafe { &mut *self.buffer(ticket) };
            return open.is_none_or(|id| slots.open(id, buffer).is_ok());
        };
        let source_opened = source == ticket || self.status(source) == JobStatus::Done;
        let opened = open.is_none_or(|from| slots.open(from, scratch.page()).is_ok());
        if !source_opened || !opened {
            return false;
        }
        if open.is_none() || source != ticket {
            // SAFETY: the job that filled the buffer is done, and its buffer is not used again before this job is done.
            scratch.page().copy_from_slice(unsafe { &*self.buffer(source) });
        }
        slots.seal_in_place(to, &mut scratch.bytes);
        scratch.mark_sealed(ticket);
        slots.store(to, &scratch.bytes);
        true
    }

    pub(super) fn worker_state(&self) -> &AtomicU32 {
        &self.header().worker_state
    }

    pub(super) fn woken_at(&self) -> &AtomicU64 {
        &self.header().woken_at
    }

    pub(super) fn stop(&self) -> &AtomicU32 {
        &self.header().stop
    }

    pub(super) fn is_all_claimed(&self) -> bool {
        let RingHeader { submitted, claimed, .. } = self.header();
        claimed.0.load(Ordering::SeqCst) >= submitted.0.load(Ordering::SeqCst)
    }
}

impl SharedCounter for AtomicU64 {
    fn load(&self, order: Ordering) -> u64 {
        AtomicU64::load(self, order)
    }

    fn store(&self, value: u64, order: Ordering) {
        AtomicU64::store(self, value, order);
    }

    fn exchange(&self, expected: u64, new: u64) -> Result<u64, u64> {
        self.compare_exchange_weak(expected, new, Ordering::Relaxed, Ordering::Relaxed)
    }
}

impl SharedRing for JobRing {
    type Counter = AtomicU64;

    fn submitted(&self) -> &AtomicU64 {
        &self.header().submitted.0
    }

    fn claimed(&self) -> &AtomicU64 {
        &self.header().claimed.0
    }

    fn done(&self, ticket: Ticket) -> &AtomicU64 {
        // SAFETY: the statuses follow the header; zeros are valid.
        unsafe { &*self.start.add(size_of::<RingHeader>()).cast::<AtomicU64>().add(self.index(ticket)) }
    }

    fn capacity(&self) -> usize {
        self.capacity
    }

    fn write_job(&self, ticket: Ticket, job: PageJob) {
        // SAFETY: the job was not submitted, and the jobs that used its buffer before are done: the caller has both.
        unsafe { self.job_slot(ticket).write(job) };
    }

    fn read_job(&self, ticket: Ticket) -> PageJob {
        // SAFETY: the job was submitted, and no side writes it before it is done.
        unsafe { *self.job_slot(ticket) }
    }

    fn pause(&self, polls: u32) {
        spin_loop();
        if polls.is_multiple_of(POLLS_BEFORE_YIELD) {
            // The other side may wait for this processor.
            std::thread::yield_now();
        }
    }
}

/// A side that runs jobs of a ring.
struct RingRunner<'a, M, E> {
    ring: &'a JobRing,
    slots: &'a SealedSlots<M>,
    scratch: &'a mut Scratch,
    has_ended: E,
}

impl<M: SharedMemory, E: Fn() -> bool> Runner for RingRunner<'_, M, E> {
    fn run(&mut self, ticket: Ticket, job: &PageJob) -> bool {
        self.ring.run_job(ticket, *job, self.slots, self.scratch)
    }

    fn complete_interrupted(&mut self, ticket: Ticket, job: &PageJob) -> bool {
        // SAFETY: the process that had it has ended.
        let scratch = unsafe { self.ring.worker_scratch() };
        // Its page may already be in shared memory, in whole or in part, in place of the older page that this job
        // opens.
        let sealed = job.seal.filter(|_| scratch.holds_sealed(ticket));
        if let Some((id, _)) = sealed {
            self.slots.store(id, &scratch.bytes);
        }
        sealed.is_some()
    }

    fn has_peer_ended(&self) -> bool {
        (self.has_ended)()
    }
}

impl Drop for JobRing {
    fn drop(&mut self) {
        for ticket in 0..self.capacity as u64 {
            // SAFETY: the ring is dropped, so this is its only user.
            unsafe { (*self.buffer(ticket)).zeroize() };
        }
        // SAFETY: as above.
        unsafe { (*self.header().worker_scratch.get()).wipe() };
        // SAFETY: the mapping is ours, and its addresses leave this file only while the ring is borrowed.
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

    fn slots_over<M: SharedMemory>(memory: M) -> SealedSlots<M> {
        let key = PageKey::draw(PageCipher::Aes256Gcm, &mut ChaCha20Rng::seed_from_u64(1));
        SealedSlots::new(memory, &layout(), key).unwrap()
    }

    fn slots() -> SealedSlots<AtomicMemory> {
        slots_over(memory())
    }

    fn id(slot: u32, version: u64) -> PageId {
        PageId { slot, version }
    }

    /// Submits three jobs: a page is sealed in slot 0, moved to slot 1, and then to slot 2.
    fn submit_three(ring: &JobRing) {
        ring.fill(1, &[7; PAGE_BYTES]);
        ring.submit(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
        ring.submit(2, PageJob { open: Some(id(0, 1)), seal: Some((id(1, 1), 2)), after: [1, 0] });
        ring.submit(3, PageJob { open: Some(id(1, 1)), seal: Some((id(2, 1), 3)), after: [1, 0] });
    }

    fn assert_done(ring: &JobRing, slots: &SealedSlots<AtomicMemory>) {
        for ticket in 1..=3 {
            assert_eq!(ring.status(ticket), JobStatus::Done);
        }
        let mut page = [0; PAGE_BYTES];
        slots.open(id(2, 1), &mut page).unwrap();
        assert_eq!(page, [7; PAGE_BYTES]);
    }

    #[test]
    fn a_job_that_waits_for_one_of_a_side_that_has_ended_does_that_job_too() {
        for claimed_there in 1..=2 {
            let (ring, slots) = (JobRing::new(8).unwrap(), slots());
            let mut scratch = Scratch::new();
            submit_three(&ring);
            for ticket in 1..=claimed_there {
                assert_eq!(job_protocol::claim(&ring), Some(ticket), "the other side claims it, and ends");
            }
            while ring.run_next(&slots, &mut scratch, || true) {}
            assert_done(&ring, &slots);
        }
    }

    #[test]
    fn the_jobs_of_a_side_that_has_ended_are_done_again_with_all_later_jobs() {
        let (ring, slots) = (JobRing::new(8).unwrap(), slots());
        let mut scratch = Scratch::new();
        submit_three(&ring);
        assert!(ring.run_next(&slots, &mut scratch, || false));
        assert_eq!(job_protocol::claim(&ring), Some(2));
        ring.run_unfinished(&slots, &mut scratch);
        assert_done(&ring, &slots);
    }

    /// Shared memory of a side that ends after it has copied `after` bytes of a page there.
    struct StopsAfter<'a> {
        memory: &'a AtomicMemory,
        after: usize,
    }

    impl SharedMemory for StopsAfter<'_> {
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
    fn a_page_that_an_ended_side_had_copied_in_whole_or_in_part_is_no_forgery() {
        let sealed_bytes = slots().sealed_bytes();
        // A refresh in place, a refresh from another slot, and the written page in place of one that is opened.
        let jobs: [(PageId, (PageId, Ticket)); 3] =
            [(id(0, 1), (id(0, 2), 2)), (id(0, 1), (id(1, 1), 2)), (id(0, 1), (id(0, 2), 1))];
        for (open, seal) in jobs {
            for after in [0, 1, 64, PAGE_BYTES, sealed_bytes - 1, sealed_bytes] {
                let memory = memory();
                let (ring, slots) = (JobRing::new(8).unwrap(), slots_over(&memory));
                let mut scratch = Scratch::new();
                ring.fill(1, &[7; PAGE_BYTES]);
                ring.submit(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
                let job = PageJob { open: Some(open), seal: Some(seal), after: [1, 0] };
                ring.submit(2, job);
                assert!(ring.run_next(&slots, &mut scratch, || false));
                assert_eq!(job_protocol::claim(&ring), Some(2));
                // SAFETY: this test is the side that ends; there is no other.
                let worker_scratch = unsafe { ring.worker_scratch() };
                assert!(ring.run_job(
                    2,
                    job,
                    &slots_over(StopsAfter { memory: &memory, after }),
                    worker_scratch
                ));
                ring.run_unfinished(&slots, &mut scratch);
                assert_eq!(ring.status(2), JobStatus::Done, "{after} bytes of {seal:?}");
                let mut page = [0; PAGE_BYTES];
                slots.open(seal.0, &mut page).unwrap();
                assert_eq!(page, [7; PAGE_BYTES]);
            }
        }
    }

    #[test]
    fn jobs_run_by_two_threads_at_once_leave_the_same_pages_as_one_thread() {
        let (ring, slots) = (JobRing::new(16).unwrap(), slots());
        std::thread::scope(|scope| {
            let worker = scope.spawn(|| {
                let mut scratch = Scratch::new();
                while ring.stop().load(Ordering::SeqCst) == 0 {
                    ring.run_next(&slots, &mut scratch, || false);
                }
            });
            let mut scratch = Scratch::new();
            ring.fill(1, &[9; PAGE_BYTES]);
            ring.submit(1, PageJob { open: None, seal: Some((id(0, 1), 1)), after: [0, 0] });
            for ticket in 2..500 {
                // A page moves from slot to slot, again and again: each job waits for the previous one.
                let (from, to) = ((ticket - 2) % 4, (ticket - 1) % 4);
                let (was, becomes) =
                    (id(from as u32, (ticket - 2) / 4 + 1), id(to as u32, (ticket - 1) / 4 + 1));
                while ticket > 8 && ring.status(ticket - 8) == JobStatus::Pending {
                    ring.run_next(&slots, &mut scratch, || false);
                }
                ring.submit(
                    ticket,
                    PageJob { open: Some(was), seal: Some((becomes, ticket)), after: [1, 0] },
                );
            }
            while ring.status(499) == JobStatus::Pending {
                ring.run_next(&slots, &mut scratch, || false);
            }
            ring.stop().store(1, Ordering::SeqCst);
            worker.join().unwrap();
        });
        let mut page = [0; PAGE_BYTES];
        slots.open(id(498 % 4, 498 / 4 + 1), &mut page).unwrap();
        assert_eq!(page, [9; PAGE_BYTES]);
    }
}
