//! The scheduler of a channel: chooses the next command and jumps to its cycle.

use crate::command::{Command, Kind};
use crate::scheduler::fast::banks::{Banks, NO_ROW};
use crate::scheduler::fast::queue::Queue;
use crate::scheduler::request::{Direction, Listener, Request, Scheduler};
use crate::specification::{CommandBus, Queues, Specification};
use crate::units::Cycle;
use std::ops::ControlFlow;

/// A scheduler that jumps from one command to the next.
#[derive(Debug)]
pub struct Fast {
    channel: u32,
    /// The next cycle to work through.
    now: u64,
    /// The first cycle in which the command bus is free.
    command_bus: u64,
    command_cycles: CommandBus,
    /// A cycle before which no request enters and no refresh falls due.
    event: u64,
    banks: Banks,
    reads: Queue,
    writes: Queue,
    write_filter: Filter,
    thresholds: Queues,
    is_draining: bool,
    refresh: Refresh,
    /// True if a row is continued as long as possible.
    allows_row_runs: bool,
}

/// The refreshes that are due.
#[derive(Debug)]
struct Refresh {
    batch: u32,
    period: u64,
    /// The cycle in which each rank's next refreshes are due, and the number of pending ones.
    ranks: Vec<(u64, u32)>,
    /// A bit for each bank whose rank has none pending.
    open: u64,
}

/// The number of queued writes by a few bits of their place: most reads need not be compared with any.
#[derive(Debug)]
struct Filter([u32; 512]);

/// The next command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    cycle: u64,
    /// The place of the request among those of the same cycle and rule.
    order: usize,
    bank: usize,
    kind: Kind,
}

impl Scheduler for Fast {
    fn new(specification: &Specification, channel: u32) -> Self {
        let Specification { geometry, refresh, queues, .. } = specification;
        let period = refresh.interval.0 * u64::from(refresh.batch);
        let banks = Banks::new(specification);
        Fast {
            channel,
            now: 0,
            command_bus: 0,
            command_cycles: specification.command_bus.clone(),
            event: 0,
            allows_row_runs: banks.favours_own_bank(),
            banks,
            reads: Queue::new(Kind::Read, queues.read),
            writes: Queue::new(Kind::Write, queues.write),
            write_filter: Filter([0; 512]),
            thresholds: queues.clone(),
            is_draining: false,
            refresh: Refresh {
                batch: refresh.batch,
                period,
                ranks: (0..geometry.ranks)
                    .map(|rank| (period + refresh.stagger.0 * u64::from(rank), 0))
                    .collect(),
                open: u64::MAX,
            },
        }
    }

    #[inline]
    fn push(&mut self, request: Request) {
        debug_assert!(request.arrival.0 >= self.now, "{request:?} comes from the past of cycle {}", self.now);
        self.event = self.event.min(request.arrival.0);
        match request.direction {
            Direction::Read => self.reads.push(request),
            Direction::Write => {
                *self.write_filter.count(&request) += 1;
                self.writes.push(request);
            }
        }
    }

    fn run(&mut self, limit: Cycle, listener: &mut impl Listener) {
        let mut limit = limit.0;
        while self.now < limit {
            if self.now >= self.event {
                self.add_due_refreshes();
                if self.admit_requests(listener).is_break() {
                    limit = self.now + 1;
                }
                self.event = self.next_event();
            }
            let end = self.event.min(limit);
            match self.choose() {
                Some(choice) if choice.cycle < end => {
                    if self.issue(choice, end, listener).is_break() {
                        return;
                    }
                }
                _ => self.now = end,
            }
        }
    }
}

impl Fast {
    fn add_due_refreshes(&mut self) {
        for rank in 0..self.refresh.ranks.len() {
            let (due, pending_refreshes) = &mut self.refresh.ranks[rank];
            if *due == self.now {
                *due += self.refresh.period;
                *pending_refreshes += self.refresh.batch;
                for bank in self.banks.of_rank(rank) {
                    self.refresh.open &= !(1 << bank);
                }
            }
        }
    }

    fn admit_requests(&mut self, listener: &mut impl Listener) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        // Writes first: a read then finds most of them in the list of its bank.
        while let Some(write) = self.writes.next_arrived(self.now) {
            let bank = self.banks.nth(write.rank) + usize::from(write.bank);
            self.writes.enter(bank, self.banks.get(bank));
        }
        while let Some(read) = self.reads.next_arrived(self.now) {
            let bank = self.banks.nth(read.rank) + usize::from(read.bank);
            if *self.write_filter.count(read) > 0 && self.writes.has_older(read, bank) {
                if listener.on_done(read, Cycle(self.now + 1)).is_break() {
                    flow = ControlFlow::Break(());
                }
                self.reads.drop_first();
            } else {
                self.reads.enter(bank, self.banks.get(bank));
            }
        }
        flow
    }

    fn next_event(&self) -> u64 {
        let due = self.refresh.ranks.iter().map(|(due, _)| *due).min().unwrap_or(u64::MAX);
        due.min(self.reads.next_arrival()).min(self.writes.next_arrival())
    }

    #[inline]
    fn active_direction(&mut self) -> Direction {
        if self.writes.queued <= self.thresholds.low as usize {
            self.is_draining = false;
        } else if self.writes.queued >= self.thresholds.high as usize {
            self.is_draining = true;
        }
        if self.is_draining || self.reads.queued == 0 { Direction::Write } else { Direction::Read }
    }

    /// Returns whether the write queue, from which a request was taken, is no longer active although it has more.
    #[inline]
    fn has_drained(&self) -> bool {
        self.reads.queued > 0 && self.writes.queued <= self.thresholds.low as usize
    }

    /// The next command, if no request enters before it.
    #[inline]
    fn choose(&mut self) -> Option<Choice> {
        let active_direction = self.active_direction();
        let queue = self.queue(active_direction);
        let (mut min, mut chosen) = (u128::MAX, 0);
        let mut busy = queue.busy & self.refresh.open;
        let first = self.first_cycle();
        while busy != 0 {
            let bank = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let next = queue.next(bank);
            let cycle = next.cycle.max(self.banks.gates[next.gate as usize]).max(first);
            let key = u128::from(cycle) << 64 | u128::from(next.order);
            if key < min {
                (min, chosen) = (key, bank);
            }
        }
        let cycle = (min >> 64) as u64;
        if self.refresh.open != u64::MAX
            && let Some(refresh_command) =
                self.refresh_command().filter(|refresh_command| refresh_command.cycle <= cycle)
        {
            return Some(refresh_command);
        }
        if cycle == u64::MAX {
            return None;
        }
        Some(Choice { cycle, order: 0, bank: chosen, kind: queue.next(chosen).kind })
    }

    /// The oldest request for an open row, and the first cycle in which a row is opened or closed, of all other banks.
    fn other_banks(&self, queue: &Queue, kind: Kind, bank: usize) -> (u64, u64) {
        let (mut oldest, mut row_cycle) = (u64::MAX, u64::MAX);
        let mut busy = queue.busy & !(1 << bank);
        while busy != 0 {
            let next = queue.next(busy.trailing_zeros() as usize);
            busy &= busy - 1;
            if next.kind == kind {
                oldest = oldest.min(next.order);
            } else {
                row_cycle = row_cycle.min(next.cycle.max(self.banks.gates[next.gate as usize]));
            }
        }
        (oldest, row_cycle)
    }

    /// The first cycle in which a command can be issued.
    #[inline]
    fn first_cycle(&self) -> u64 {
        self.now.max(self.command_bus)
    }

    #[inline]
    fn queue(&self, direction: Direction) -> &Queue {
        match direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        }
    }

    /// The next command of the ranks with pending refreshes.
    #[cold]
    fn refresh_command(&self) -> Option<Choice> {
        let first = self.first_cycle();
        let closed = (0..self.refresh.ranks.len()).filter(|rank| self.refresh.ranks[*rank].1 > 0);
        let choices = closed.flat_map(|rank| {
            let banks = self.banks.of_rank(rank);
            let refresh = (!self.banks.is_open(rank)).then(|| Choice {
                cycle: self.banks.refresh_cycle(rank).max(first),
                order: banks.start,
                bank: banks.start,
                kind: Kind::Refresh,
            });
            let open = banks.filter(|bank| self.banks.get(*bank).row != NO_ROW);
            let precharges = open.map(|bank| Choice {
                cycle: self.banks.get(bank).precharge.max(first),
                order: bank,
                bank,
                kind: Kind::Precharge,
            });
            refresh.into_iter().chain(precharges)
        });
        choices.min()
    }

    /// Issues a command, and after a read or write as many of the same row as follow it before the cycle `end`.
    #[inline]
    fn issue(&mut self, choice: Choice, end: u64, listener: &mut impl Listener) -> ControlFlow<()> {
        let Choice { cycle, bank, kind, .. } = choice;
        let row = match kind {
            Kind::Read => return self.transfer_blocks::<false>(bank, cycle, end, listener),
            Kind::Write => return self.transfer_blocks::<true>(bank, cycle, end, listener),
            Kind::Activate => {
                let active_direction = self.active_direction();
                let row = self.queue(active_direction).head_row(bank);
                self.banks.activate(bank, row, cycle);
                row
            }
            Kind::Precharge => {
                let row = self.banks.get(bank).row;
                self.banks.precharge(bank, cycle);
                row
            }
            Kind::Refresh => {
                self.refresh(self.banks.get(bank).rank.into(), cycle);
                0
            }
        };
        if kind != Kind::Refresh {
            self.reads.open_or_close(bank, self.banks.get(bank));
            self.writes.open_or_close(bank, self.banks.get(bank));
        }
        listener.on_command(&self.command(kind, bank, cycle, row, 0));
        self.now = cycle + 1;
        self.command_bus = cycle + self.command_cycles.cycles(kind).0;
        ControlFlow::Continue(())
    }

    #[inline]
    fn command(&self, kind: Kind, bank: usize, cycle: u64, row: u32, column: u32) -> Command {
        let rank = self.banks.get(bank).rank;
        Command {
            cycle: Cycle(cycle),
            kind,
            channel: self.channel,
            rank: u32::from(rank),
            bank: (bank - self.banks.nth(rank)) as u32,
            row,
            column,
        }
    }

    /// Reads or writes the oldest hit of a bank, and continues with that row as long as no other bank comes before
    /// it.
    ///
    /// A read or write delays the reads and writes of all other banks at least as long as those of its own bank. Rows
    /// are opened and closed as if it had not happened. So other banks are considered once, and not at each block of a
    /// row.
    // Apart from `run`, each has enough registers.
    #[inline(never)]
    fn transfer_blocks<const IS_WRITE: bool>(
        &mut self,
        bank: usize,
        mut cycle: u64,
        end: u64,
        listener: &mut impl Listener,
    ) -> ControlFlow<()> {
        let (queue, direction, kind) = if IS_WRITE {
            (&self.writes, Direction::Write, Kind::Write)
        } else {
            (&self.reads, Direction::Read, Kind::Read)
        };
        let (held, time) = (self.command_cycles.cycles(kind).0, self.banks.transfer_time(direction));
        let step = self.banks.step(direction).max(held);
        // There is room again: nothing is certain beyond the next cycle.
        let has_waiting_requests = queue.has_waiting();
        if has_waiting_requests {
            self.event = 0;
        }
        let may_continue = self.allows_row_runs && self.refresh.open == u64::MAX && !has_waiting_requests;
        let mut other_banks = None;
        let flow = loop {
            let queue = if IS_WRITE { &mut self.writes } else { &mut self.reads };
            let (request, age) = queue.take_hit(bank);
            if IS_WRITE {
                *self.write_filter.count(&request) -= 1;
            }
            listener.on_command(&self.command(kind, bank, cycle, request.row, request.column));
            let flow = listener.on_done(&request, Cycle(cycle + time));
            let next = cycle + step;
            // The age of no request is greater than that of any.
            if flow.is_break() || !may_continue || age == u64::MAX || next >= end {
                break flow;
            }
            let (oldest, row_cycle) =
                *other_banks.get_or_insert_with(|| self.other_banks(self.queue(direction), kind, bank));
            if age > oldest || next > row_cycle || (IS_WRITE && self.has_drained()) {
                break flow;
            }
            cycle = next;
        };
        self.banks.column_command(bank, direction, cycle);
        let state = self.banks.get(bank);
        let (queue, other) =
            if IS_WRITE { (&mut self.writes, &mut self.reads) } else { (&mut self.reads, &mut self.writes) };
        queue.update(bank, state);
        other.delay_precharge(bank, state);
        self.now = cycle + 1;
        self.command_bus = cycle + held;
        flow
    }

    fn refresh(&mut self, rank: usize, now: u64) {
        self.banks.refresh(rank, now);
        let pending_refreshes = &mut self.refresh.ranks[rank].1;
        *pending_refreshes -= 1;
        if *pending_refreshes == 0 {
            for bank in self.banks.of_rank(rank) {
                self.refresh.open |= 1 << bank;
            }
        }
    }
}

impl Filter {
    /// The count of a block and those that share it.
    #[inline]
    fn count(&mut self, request: &Request) -> &mut u32 {
        let bank = u64::from(request.bank) << 6 | u64::from(request.rank);
        let place = u64::from(request.row) << 32 ^ u64::from(request.column) << 12 ^ bank;
        &mut self.0[(place.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 55) as usize]
    }
}
