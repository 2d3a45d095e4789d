//! Page jobs that a worker does on another processor: a page is opened, sealed, or moved from slot to slot.
//!
//! A write of DetWoORAM refreshes K pages whose contents nobody requested. A worker that runs next to the program gets
//! only their slots. Only the page that is written moves from one processor to the other. The caller submits jobs and
//! continues. Jobs are claimed in the order of their tickets. Jobs that open or seal the same slot are done one after
//! the other: each waits for the previous one. So the results and the contents of shared memory are the same as without
//! a worker, for any order of the other jobs.

use super::cipher::PageId;
use super::sealed_slots::SealedSlots;
use alloc::boxed::Box;
use alloc::collections::VecDeque;
use alloc::vec::Vec;
use ameles_core::store::PageMoves;

/// The number of a submitted job, from 1.
pub type Ticket = u64;

/// A page to open, to seal, or both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PageJob {
    /// The sealed page to open into the job's own buffer; version 0 stands for zeros.
    pub open: Option<PageId>,
    /// The identity under which to seal a page, and the job whose buffer holds it: this job or an earlier one.
    pub seal: Option<(PageId, Ticket)>,
    /// Earlier jobs that must be done first: the last one that uses the opened slot, and the last one that uses the
    /// sealed slot. The job whose page is sealed must be done first too. Each of those has waited for the jobs before
    /// it that use the slot. An entry is the distance back from this job; 0 stands for none.
    pub after: [u32; 2],
}

// A job crosses from one processor to the other in one cache line.
const _: () = assert!(size_of::<PageJob>() <= 64);

impl PageJob {
    /// Returns the earlier jobs that must be done before this one, whose ticket is given. Some may occur twice.
    pub fn prerequisites(&self, ticket: Ticket) -> impl Iterator<Item = Ticket> + use<> {
        let source = self.seal.map_or(ticket, |(_, source)| source);
        let [opened, sealed] = self.after.map(|distance| ticket - Ticket::from(distance));
        [opened, sealed, source].into_iter().filter(move |before| *before != ticket)
    }
}

/// A worker that has the region's key, its shared memory, and a private page buffer for each job. Job t has
/// buffer t modulo [`capacity`](Self::capacity).
pub trait PageWorker<M>: Send {
    /// Returns the number of buffers. At most half as many jobs are in flight, and no job seals the page of a job that
    /// was submitted longer ago than that.
    fn capacity(&self) -> usize;

    /// Copies a page into a job's buffer, before the job is submitted.
    fn fill(&self, ticket: Ticket, page: &[u8]);

    /// Submits a job. Jobs are submitted in the order of their tickets.
    fn submit(&self, ticket: Ticket, job: PageJob);

    /// Makes sure that the worker starts the submitted jobs.
    fn wake(&self);

    /// Returns the status of a submitted job.
    fn status(&self, ticket: Ticket) -> JobStatus;

    /// Lets the caller do the next job that nobody has claimed; without one it returns soon.
    fn help(&self, slots: &SealedSlots<M>);

    /// Returns whether the worker leaves the machine to others. The caller then submits no more jobs, and moves pages
    /// itself. The answer must depend on the load of the machine only.
    fn has_backed_off(&self) -> bool;

    /// Returns soon: the caller has nothing to do. It does the worker's jobs if the worker has ended.
    fn wait(&self, slots: &SealedSlots<M>);
}

/// The status of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JobStatus {
    /// The job is not done yet.
    Pending,
    /// The job is done.
    Done,
    /// A page of the job did not open: the page to read, or the one to seal. Nothing was sealed.
    Forged,
}

/// The time at which a write returns, and whether a caller that must wait does jobs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WorkMode {
    /// A write returns when its pages are in shared memory, and the caller does its share.
    Parallel,
    /// A write returns when its jobs are submitted, and the pages of the next write are prefetched.
    Eager,
    /// A write returns when its jobs are submitted, and a caller that must wait does its share.
    EagerParallel,
}

impl WorkMode {
    fn returns_early(self) -> bool {
        self != WorkMode::Parallel
    }

    fn caller_helps(self) -> bool {
        self != WorkMode::Eager
    }

    /// Returns whether pages are prefetched. If caller and worker both work, each must fetch the pages that the other
    /// has opened from the other's cache. That costs as much as to open them.
    fn prefetches(self) -> bool {
        self == WorkMode::Eager
    }
}

/// The caller's side: the jobs that it has submitted.
pub(crate) struct WorkQueue<M> {
    worker: Box<dyn PageWorker<M>>,
    mode: WorkMode,
    /// The last ticket.
    last: Ticket,
    /// The jobs that may still be in flight, in the order of their tickets.
    in_flight: VecDeque<InFlightJob>,
    /// The pages that are prefetched, and the jobs that do it.
    prefetched: Vec<(PageId, Ticket)>,
}

/// A job with the slots that it uses.
struct InFlightJob {
    ticket: Ticket,
    opens: Option<PageId>,
    seals: Option<PageId>,
}

impl InFlightJob {
    /// Returns whether it uses the slot. Two jobs that only open a slot could be done at once. They are not, so that
    /// the last one stands for all before it.
    fn uses(&self, slot: u32) -> bool {
        [self.opens, self.seals].iter().flatten().any(|id| id.slot == slot)
    }
}

/// The first page that did not open.
type FirstForged = PageId;

impl<M> WorkQueue<M> {
    pub(crate) fn new(worker: Box<dyn PageWorker<M>>, mode: WorkMode) -> Self {
        let capacity = worker.capacity();
        let (in_flight, prefetched) = (VecDeque::with_capacity(capacity), Vec::with_capacity(capacity));
        WorkQueue { worker, mode, last: 0, in_flight, prefetched }
    }

    /// Returns the most jobs that may be in flight.
    fn max_in_flight(&self) -> usize {
        self.worker.capacity() / 2
    }

    /// Returns whether there is room for all jobs of a write, and a worker to do them.
    pub(crate) fn accepts(&self, carried: &PageMoves<'_>) -> bool {
        carried.to.len() <= self.max_in_flight() && !self.worker.has_backed_off()
    }

    /// Submits a job that seals a page of the caller.
    pub(crate) fn seal(
        &mut self,
        id: PageId,
        page: &[u8],
        slots: &SealedSlots<M>,
    ) -> Result<Ticket, FirstForged> {
        let ticket = self.next_ticket(slots)?;
        self.worker.fill(ticket, page);
        self.submit(ticket, None, Some((id, ticket)));
        Ok(ticket)
    }

    /// Submits a job that moves a page, or that seals the page of an earlier job in its place. The replaced page is
    /// still opened, so that the job shows the same and takes as long.
    pub(crate) fn move_page(
        &mut self,
        from: PageId,
        to: PageId,
        replacement: Option<Ticket>,
        slots: &SealedSlots<M>,
    ) -> Result<(), FirstForged> {
        let ticket = self.next_ticket(slots)?;
        // A page that was prefetched longer ago than that may have lost its buffer to a later job.
        let oldest = ticket.saturating_sub(self.max_in_flight() as u64);
        let prefetched =
            self.prefetched.iter().find(|(id, ticket)| *id == from && *ticket >= oldest).map(|(_, by)| *by);
        let open = if prefetched.is_some() { None } else { Some(from) };
        self.submit(ticket, open, Some((to, replacement.or(prefetched).unwrap_or(ticket))));
        Ok(())
    }

    /// Prefetches pages that will be moved, if that is the mode. Pages prefetched earlier are forgotten.
    pub(crate) fn prefetch(
        &mut self,
        from: impl ExactSizeIterator<Item = PageId>,
        slots: &SealedSlots<M>,
    ) -> Result<(), FirstForged> {
        self.prefetched.clear();
        // As many jobs again, and one more, come before the pages are sealed.
        if self.mode.prefetches() && 2 * from.len() < self.max_in_flight() && !self.worker.has_backed_off() {
            for id in from {
                let ticket = self.next_ticket(slots)?;
                self.submit(ticket, Some(id), None);
                self.prefetched.push((id, ticket));
            }
            self.worker.wake();
        }
        Ok(())
    }

    /// Makes sure that the submitted jobs are started, and waits until they are done if that is the mode.
    pub(crate) fn finish(&mut self, slots: &SealedSlots<M>) -> Result<(), FirstForged> {
        self.worker.wake();
        if self.mode.returns_early() { self.retire_done() } else { self.wait_for(self.last, slots) }
    }

    /// Waits until no job that seals this slot is in flight.
    pub(crate) fn settle(&mut self, slot: u32, slots: &SealedSlots<M>) -> Result<(), FirstForged> {
        let seals = |job: &&InFlightJob| job.seals.is_some_and(|id| id.slot == slot);
        match self.in_flight.iter().rev().find(seals).map(|job| job.ticket) {
            Some(ticket) => self.wait_for(ticket, slots),
            None => Ok(()),
        }
    }

    /// Waits until no job is in flight.
    pub(crate) fn settle_all(&mut self, slots: &SealedSlots<M>) -> Result<(), FirstForged> {
        self.wait_for(self.last, slots)
    }

    fn submit(&mut self, ticket: Ticket, open: Option<PageId>, seal: Option<(PageId, Ticket)>) {
        let seals = seal.map(|(id, _)| id);
        let after = [open, seals].map(|id| id.map_or(0, |id| self.distance_to_last_use(ticket, id.slot)));
        self.in_flight.push_back(InFlightJob { ticket, opens: open, seals });
        self.worker.submit(ticket, PageJob { open, seal, after });
    }

    /// Returns the distance back to the last job that uses the slot and may be in flight; 0 if there is none.
    fn distance_to_last_use(&self, ticket: Ticket, slot: u32) -> u32 {
        let last = self.in_flight.iter().rev().find(|earlier| earlier.uses(slot));
        // At most as many jobs are in flight as there are buffers.
        last.map_or(0, |earlier| (ticket - earlier.ticket) as u32)
    }

    /// Returns the next ticket, when there is room for its job.
    fn next_ticket(&mut self, slots: &SealedSlots<M>) -> Result<Ticket, FirstForged> {
        self.last += 1;
        self.wait_for(self.last.saturating_sub(self.max_in_flight() as u64), slots)?;
        Ok(self.last)
    }

    /// Waits for all jobs up to this one.
    fn wait_for(&mut self, ticket: Ticket, slots: &SealedSlots<M>) -> Result<(), FirstForged> {
        while self.in_flight.front().is_some_and(|first| first.ticket <= ticket) {
            self.retire_done()?;
            if self.in_flight.front().is_some_and(|first| first.ticket <= ticket) {
                self.worker.wake();
                if self.mode.caller_helps() { self.worker.help(slots) } else { self.worker.wait(slots) }
            }
        }
        Ok(())
    }

    /// Forgets the jobs that are done, up to the first that is not. After a forged page, no later job is forgotten.
    fn retire_done(&mut self) -> Result<(), FirstForged> {
        while let Some(first) = self.in_flight.front() {
            match self.worker.status(first.ticket) {
                JobStatus::Pending => break,
                JobStatus::Done => self.in_flight.pop_front(),
                JobStatus::Forged => return Err(first.opens.or(first.seals).expect("a job does something")),
            };
        }
        Ok(())
    }
}
