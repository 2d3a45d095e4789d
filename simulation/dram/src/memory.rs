//! The memory as the controller of an ORAM sees it: batches of blocks, and a clock that only moves forward.

use crate::command::{Command, Observer, RequestId};
use crate::energy::{Counts, Energy, Meter};
use crate::error::DramError;
use crate::geometry::{Address, Mapping};
use crate::place::Place;
use crate::scheduler::{Direction, Fast, Listener, Request, Scheduler, Stepped};
use crate::specification::Specification;
use crate::units::Cycle;
use std::ops::ControlFlow;

/// Requests that were submitted together. It belongs to the memory that returned it.
///
/// A memory stores a few bytes per batch until a caller waits for it. A batch for which no caller will wait is better
/// given to [`Memory::post`].
#[derive(Debug)]
#[must_use = "a batch is stored until it is waited for: use `post` for requests without a waiter"]
pub struct Batch(u32);

/// A memory system.
///
/// It has a clock: requests are submitted [`now`](Memory::now), and only [`wait`](Memory::wait),
/// [`advance`](Memory::advance) and [`finish`](Memory::finish) move it, forward. So no request can be submitted in
/// the past. Any number of requests can be submitted: those that find a queue full wait outside it in the order of
/// submission.
#[derive(Debug)]
pub struct Memory<S = Fast, W = ()> {
    specification: Specification,
    mapping: Mapping,
    now: Cycle,
    next: RequestId,
    channels: Vec<Channel<S>>,
    /// The batches whose numbers are free again.
    free: Vec<u32>,
    observer: W,
}

/// A channel with what is to be known of its requests.
#[derive(Debug)]
struct Channel<S> {
    scheduler: S,
    meter: Meter,
    /// The number of requests that are not done.
    pending: u64,
    /// The cycle in which the last of all requests so far is done.
    last: Cycle,
    /// The share of this channel in each batch. The first is for posted requests.
    shares: Vec<Share>,
}

/// The part of a batch in one channel.
#[derive(Clone, Copy, Debug)]
struct Share {
    pending: u32,
    /// The cycle in which the last of those so far is done.
    last: Cycle,
}

/// The batch of all posted requests, for which no caller waits.
const POSTED_BATCH: u32 = 0;

/// The listener to a channel's scheduler.
struct ChannelListener<'a, W> {
    meter: &'a mut Meter,
    pending: &'a mut u64,
    last: &'a mut Cycle,
    shares: &'a mut [Share],
    stop: StopCondition,
    observer: &'a mut W,
}

/// The reason to stop before the limit.
#[derive(Clone, Copy)]
enum StopCondition {
    /// Never.
    Limit,
    /// The share of a batch is done.
    Batch(u32),
    /// All requests are done.
    Idle,
}

impl Memory {
    /// Creates a memory at rest, in cycle 0.
    ///
    /// # Errors
    /// The specification is invalid.
    pub fn new(specification: &Specification) -> Result<Self, DramError> {
        Memory::with_observer(specification, ())
    }
}

impl<S: Scheduler, W: Observer> Memory<S, W> {
    /// Creates a memory at rest, in cycle 0, with a scheduler of the caller's choice and a listener.
    ///
    /// # Errors
    /// The specification is invalid.
    pub fn with_observer(specification: &Specification, observer: W) -> Result<Self, DramError> {
        specification.check()?;
        let share = Share { pending: 0, last: Cycle(0) };
        let channel = |nth| Channel {
            scheduler: S::new(specification, nth),
            meter: Meter::new(specification.geometry.ranks),
            pending: 0,
            last: Cycle(0),
            shares: vec![share],
        };
        Ok(Memory {
            mapping: Mapping::new(&specification.geometry),
            now: Cycle(0),
            next: RequestId(0),
            channels: (0..specification.geometry.channels).map(channel).collect(),
            free: Vec::new(),
            observer,
            specification: specification.clone(),
        })
    }

    /// The description of the memory.
    pub fn specification(&self) -> &Specification {
        &self.specification
    }

    /// The current cycle.
    pub fn now(&self) -> Cycle {
        self.now
    }

    /// Submits blocks to be read.
    ///
    /// # Errors
    /// The memory has no such block; nothing was submitted.
    pub fn read<A: Address>(&mut self, blocks: &[A]) -> Result<Batch, DramError> {
        self.submit_batch(Direction::Read, blocks)
    }

    /// Submits blocks to be written.
    ///
    /// # Errors
    /// The memory has no such block; nothing was submitted.
    pub fn write<A: Address>(&mut self, blocks: &[A]) -> Result<Batch, DramError> {
        self.submit_batch(Direction::Write, blocks)
    }

    /// Submits blocks for which no caller will wait.
    ///
    /// # Errors
    /// The memory has no such block; nothing was submitted.
    pub fn post<A: Address>(&mut self, direction: Direction, blocks: &[A]) -> Result<(), DramError> {
        self.check(blocks)?;
        self.submit(direction, blocks, POSTED_BATCH);
        Ok(())
    }

    /// Moves the clock forward to the cycle in which the last block of a batch is done, and returns that cycle. For a
    /// batch of no blocks it is the cycle of its submission.
    pub fn wait(&mut self, batch: Batch) -> Cycle {
        let Batch(nth) = batch;
        let mut last = Cycle(0);
        for channel in &mut self.channels {
            if channel.shares[nth as usize].pending > 0 {
                channel.run(Cycle(u64::MAX), StopCondition::Batch(nth), &mut self.observer);
            }
            last = last.max(channel.shares[nth as usize].last);
        }
        self.free.push(nth);
        self.now = self.now.max(last);
        last
    }

    /// The cycle in which the last block of a batch was done, if that is not in the future.
    pub fn done(&mut self, batch: &Batch) -> Option<Cycle> {
        self.catch_up();
        let shares = self.channels.iter().map(|channel| channel.shares[batch.0 as usize]);
        let last = shares.clone().map(|share| share.last).max()?;
        (last <= self.now && shares.into_iter().all(|share| share.pending == 0)).then_some(last)
    }

    /// Moves the clock to a cycle, unless it is later already.
    pub fn advance(&mut self, to: Cycle) {
        self.now = self.now.max(to);
    }

    /// Moves the clock to the cycle in which everything that was submitted is done; returns the clock.
    pub fn finish(&mut self) -> Cycle {
        for channel in &mut self.channels {
            if channel.pending > 0 {
                channel.run(Cycle(u64::MAX), StopCondition::Idle, &mut self.observer);
            }
            self.now = self.now.max(channel.last);
        }
        self.now
    }

    /// The work that was done before the current cycle.
    pub fn counts(&mut self) -> Counts {
        self.catch_up();
        let mut counts = Counts::default();
        for channel in &self.channels {
            counts += channel.meter.counts(self.now);
        }
        counts
    }

    /// The energy of that work.
    pub fn energy(&mut self) -> Energy {
        self.counts().energy(&self.specification)
    }

    /// Works through all cycles before the current one, and gives the listener back.
    pub fn into_observer(mut self) -> W {
        self.catch_up();
        self.observer
    }

    /// Works through all cycles before the current one.
    fn catch_up(&mut self) {
        for channel in &mut self.channels {
            channel.run(self.now, StopCondition::Limit, &mut self.observer);
        }
    }

    fn submit_batch<A: Address>(&mut self, direction: Direction, blocks: &[A]) -> Result<Batch, DramError> {
        self.check(blocks)?;
        let share = Share { pending: 0, last: self.now };
        let nth = if let Some(nth) = self.free.pop() {
            for channel in &mut self.channels {
                channel.shares[nth as usize] = share;
            }
            nth
        } else {
            for channel in &mut self.channels {
                channel.shares.push(share);
            }
            (self.channels[0].shares.len() - 1) as u32
        };
        self.submit(direction, blocks, nth);
        Ok(Batch(nth))
    }

    fn check<A: Address>(&self, blocks: &[A]) -> Result<(), DramError> {
        blocks.iter().try_for_each(|block| block.check(&self.mapping))
    }

    fn submit<A: Address>(&mut self, direction: Direction, blocks: &[A], batch: u32) {
        let bursts = self.specification.geometry.bursts;
        for block in blocks {
            let Place { channel, rank, bank, row, column } = block.place(&self.mapping);
            let arrival = self.now;
            // There are at most 64 of each.
            let (rank, bank) = (rank as u8, bank as u8);
            let channel = &mut self.channels[channel as usize];
            channel.pending += u64::from(bursts);
            channel.shares[batch as usize].pending += bursts;
            for column in column * bursts..(column + 1) * bursts {
                let id = self.next;
                self.next = RequestId(id.0 + 1);
                channel.scheduler.push(Request { id, batch, direction, rank, bank, row, column, arrival });
            }
        }
    }
}

impl<W: Observer> Memory<Stepped, W> {
    /// Opens one row of each bank for blocks that will be submitted next, while no request wants these banks. They
    /// replace the blocks of the previous call.
    ///
    /// # Errors
    /// The memory has no such block; nothing was changed.
    pub fn open_ahead<A: Address>(&mut self, blocks: &[A]) -> Result<(), DramError> {
        self.check(blocks)?;
        self.catch_up();
        let (arrival, id) = (self.now, self.next);
        let places: Vec<Place> = blocks.iter().map(|block| block.place(&self.mapping)).collect();
        for (nth, channel) in (0..).zip(&mut self.channels) {
            let next = places.iter().filter(|place| place.channel == nth).map(|place| Request {
                id,
                batch: POSTED_BATCH,
                direction: Direction::Read,
                rank: place.rank as u8,
                bank: place.bank as u8,
                row: place.row,
                column: place.column,
                arrival,
            });
            channel.scheduler.want_next(next);
        }
        Ok(())
    }
}

impl<S: Scheduler> Channel<S> {
    fn run(&mut self, limit: Cycle, stop: StopCondition, observer: &mut impl Observer) {
        let Channel { scheduler, meter, pending, last, shares } = self;
        scheduler.run(limit, &mut ChannelListener { meter, pending, last, shares, stop, observer });
    }
}

impl<W: Observer> Listener for ChannelListener<'_, W> {
    #[inline]
    fn on_command(&mut self, command: &Command) {
        self.meter.on_command(command);
        self.observer.on_command(command);
    }

    #[inline]
    fn on_done(&mut self, request: &Request, cycle: Cycle) -> ControlFlow<()> {
        self.meter.on_done();
        *self.pending -= 1;
        *self.last = cycle.max(*self.last);
        let share = &mut self.shares[request.batch as usize];
        share.pending -= 1;
        share.last = cycle.max(share.last);
        self.observer.on_done(request.id, cycle);
        let is_finished = match self.stop {
            StopCondition::Limit => false,
            StopCondition::Batch(batch) => batch == request.batch && share.pending == 0,
            StopCondition::Idle => *self.pending == 0,
        };
        if is_finished { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    }
}
