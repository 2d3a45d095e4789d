//! The scheduler of a channel: chooses the next command and jumps to its cycle.

use crate::command::{Command, Kind};
use crate::scheduler::fast::banks::{Banks, NO_ROW, Way};
use crate::scheduler::fast::queue::Queue;
use crate::scheduler::request::{Direction, Listener, Request, Scheduler};
use crate::specification::{Queues, Specification};
use crate::units::Cycle;

/// A scheduler that jumps from one command to the next.
#[derive(Debug)]
pub struct Fast {
    channel: u32,
    /// The next cycle to work through.
    now: u64,
    /// A cycle before which no request enters and no refresh falls due.
    event: u64,
    banks: Banks,
    reads: Queue,
    writes: Queue,
    blocks: Filter,
    marks: Queues,
    is_draining: bool,
    refresh: Refresh,
}

/// The refreshes that are due.
#[derive(Debug)]
struct Refresh {
    batch: u32,
    period: u64,
    /// Of each rank, the cycle in which more fall due, and the number that it owes.
    ranks: Vec<(u64, u32)>,
    /// A bit for each bank whose rank owes none.
    open: u64,
}

/// The number of queued writes by a few bits of their place: most reads need not be compared with any.
#[derive(Debug)]
struct Filter([u32; 256]);

/// The next command.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Choice {
    cycle: u64,
    /// Its place among those of the same cycle and rule.
    order: usize,
    bank: usize,
    kind: Kind,
}

impl Scheduler for Fast {
    fn new(specification: &Specification, channel: u32) -> Self {
        let Specification { geometry, refresh, queues, .. } = specification;
        let banks = geometry.ranks * geometry.banks;
        let period = refresh.interval.0 * u64::from(refresh.batch);
        Fast {
            channel,
            now: 0,
            event: 0,
            banks: Banks::new(specification),
            reads: Queue::new(Way::Read, queues.read, banks as usize),
            writes: Queue::new(Way::Write, queues.write, banks as usize),
            blocks: Filter([0; 256]),
            marks: queues.clone(),
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
        self.event = self.event.min(request.arrival.0);
        match request.direction {
            Direction::Read => self.reads.outside.push_back(request),
            Direction::Write => {
                *self.blocks.count(&request) += 1;
                self.writes.outside.push_back(request);
            }
        }
    }

    fn run(&mut self, limit: Cycle, listener: &mut impl Listener) {
        while self.now < limit.0 && !listener.is_content() {
            if self.now >= self.event {
                self.let_refreshes_fall_due();
                self.let_requests_in(listener);
                self.event = self.next_event();
            }
            let end = self.event.min(limit.0);
            match self.choose() {
                Some(choice) if choice.cycle < end => {
                    self.issue(choice, listener);
                    self.now = choice.cycle + 1;
                }
                _ => self.now = end,
            }
        }
    }
}

impl Fast {
    fn let_refreshes_fall_due(&mut self) {
        for rank in 0..self.refresh.ranks.len() {
            let (due, owed) = &mut self.refresh.ranks[rank];
            if *due == self.now {
                *due += self.refresh.period;
                *owed += self.refresh.batch;
                for bank in self.banks.of_rank(rank) {
                    self.refresh.open &= !(1 << bank);
                }
            }
        }
    }

    fn let_requests_in(&mut self, listener: &mut impl Listener) {
        while let Some(read) = self.reads.next_arrived(self.now) {
            let bank = self.bank(&read);
            if *self.blocks.count(&read) > 0 && self.writes.has_older(&read, bank) {
                listener.done(&read, Cycle(self.now + 1));
            } else {
                self.reads.enter(read, bank, self.banks.get(bank));
            }
        }
        while let Some(write) = self.writes.next_arrived(self.now) {
            let bank = self.bank(&write);
            self.writes.enter(write, bank, self.banks.get(bank));
        }
    }

    fn next_event(&self) -> u64 {
        let due = self.refresh.ranks.iter().map(|(due, _)| *due).min().unwrap_or(u64::MAX);
        due.min(self.reads.next_arrival()).min(self.writes.next_arrival())
    }

    #[inline]
    fn bank(&self, request: &Request) -> usize {
        self.banks.of_rank(request.rank as usize).start + request.bank as usize
    }

    #[inline]
    fn active(&mut self) -> Direction {
        if self.writes.queued <= self.marks.low as usize {
            self.is_draining = false;
        } else if self.writes.queued >= self.marks.high as usize {
            self.is_draining = true;
        }
        if self.is_draining || self.reads.queued == 0 { Direction::Write } else { Direction::Read }
    }

    /// The next command, if nothing enters before it.
    #[inline]
    fn choose(&mut self) -> Option<Choice> {
        let queue = match self.active() {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        };
        let (mut least, mut chosen) = (u128::MAX, 0);
        let mut busy = queue.busy & self.refresh.open;
        while busy != 0 {
            let bank = busy.trailing_zeros() as usize;
            busy &= busy - 1;
            let next = &queue.next()[bank];
            let cycle = next.cycle.max(self.banks.gates[next.gate as usize]).max(self.now);
            let key = u128::from(cycle) << 64 | u128::from(next.order);
            if key < least {
                (least, chosen) = (key, bank);
            }
        }
        let cycle = (least >> 64) as u64;
        if self.refresh.open != u64::MAX
            && let Some(refreshing) = self.refreshing().filter(|refreshing| refreshing.cycle <= cycle)
        {
            return Some(refreshing);
        }
        if cycle == u64::MAX {
            return None;
        }
        let kind = match Way::of_gate(queue.next()[chosen].gate) {
            Way::Read => Kind::Read,
            Way::Write => Kind::Write,
            Way::Activate => Kind::Activate,
            Way::Precharge => Kind::Precharge,
        };
        Some(Choice { cycle, order: 0, bank: chosen, kind })
    }

    /// The next command of the ranks that owe a refresh.
    #[cold]
    fn refreshing(&self) -> Option<Choice> {
        let closed = (0..self.refresh.ranks.len()).filter(|rank| self.refresh.ranks[*rank].1 > 0);
        let choices = closed.flat_map(|rank| {
            let banks = self.banks.of_rank(rank);
            let refresh = (!self.banks.is_open(rank)).then(|| Choice {
                cycle: self.banks.refresh_cycle(rank).max(self.now),
                order: banks.start,
                bank: banks.start,
                kind: Kind::Refresh,
            });
            let open = banks.filter(|bank| self.banks.get(*bank).row != NO_ROW);
            let precharges = open.map(|bank| Choice {
                cycle: self.banks.get(bank).precharge.max(self.now),
                order: bank,
                bank,
                kind: Kind::Precharge,
            });
            refresh.into_iter().chain(precharges)
        });
        choices.min()
    }

    #[inline]
    fn issue(&mut self, choice: Choice, listener: &mut impl Listener) {
        let Choice { cycle, bank, kind, .. } = choice;
        let rank = self.banks.get(bank).rank;
        let mut command = Command {
            cycle: Cycle(cycle),
            kind,
            channel: self.channel,
            rank,
            bank: (bank - self.banks.of_rank(rank as usize).start) as u32,
            row: 0,
            column: 0,
        };
        match kind {
            Kind::Read => {
                self.move_block(Direction::Read, bank, &mut command, listener);
                return;
            }
            Kind::Write => {
                self.move_block(Direction::Write, bank, &mut command, listener);
                return;
            }
            Kind::Activate => {
                let active = self.active();
                command.row = match active {
                    Direction::Read => self.reads.head_row(bank),
                    Direction::Write => self.writes.head_row(bank),
                };
                self.banks.activate(bank, command.row, cycle);
                self.reads.open_or_close(bank, self.banks.get(bank));
                self.writes.open_or_close(bank, self.banks.get(bank));
            }
            Kind::Precharge => {
                command.row = self.banks.get(bank).row;
                self.banks.precharge(bank, cycle);
                self.reads.open_or_close(bank, self.banks.get(bank));
                self.writes.open_or_close(bank, self.banks.get(bank));
            }
            Kind::Refresh => self.refresh(rank as usize, cycle),
        }
        listener.command(&command);
    }

    #[inline]
    fn move_block(
        &mut self,
        direction: Direction,
        bank: usize,
        command: &mut Command,
        listener: &mut impl Listener,
    ) {
        let queue = match direction {
            Direction::Read => &mut self.reads,
            Direction::Write => &mut self.writes,
        };
        let request = queue.take_hit(bank);
        if !queue.outside.is_empty() {
            // There is room again.
            self.event = 0;
        }
        if direction == Direction::Write {
            *self.blocks.count(&request) -= 1;
        }
        let end = self.banks.column(bank, direction, command.cycle.0);
        self.reads.update(bank, self.banks.get(bank));
        self.writes.update(bank, self.banks.get(bank));
        (command.row, command.column) = (request.row, request.column);
        listener.command(command);
        listener.done(&request, Cycle(end));
    }

    fn refresh(&mut self, rank: usize, now: u64) {
        self.banks.refresh(rank, now);
        let owed = &mut self.refresh.ranks[rank].1;
        *owed -= 1;
        if *owed == 0 {
            for bank in self.banks.of_rank(rank) {
                self.refresh.open |= 1 << bank;
            }
        }
    }
}

impl Filter {
    /// The count that stands for a block, among others.
    #[inline]
    fn count(&mut self, request: &Request) -> &mut u32 {
        let place = request.row.wrapping_mul(0x9e37_79b1) ^ request.column.wrapping_mul(0x85eb_ca6b);
        let mixed = place ^ (request.bank << 8 | request.rank).wrapping_mul(0xc2b2_ae35);
        &mut self.0[(mixed >> 24) as usize]
    }
}
