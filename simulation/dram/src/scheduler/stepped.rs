//! The rules, cycle by cycle and as they are written: slow, and plain enough to be compared with the text.

use crate::command::{Command, Kind};
use crate::scheduler::request::{Direction, Listener, Request, Scheduler};
use crate::specification::Specification;
use crate::units::Cycle;
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// The listener has not heard enough.
const CONTINUE: ControlFlow<()> = ControlFlow::Continue(());

/// A scheduler that works through every single cycle.
#[derive(Debug)]
pub struct Stepped {
    specification: Specification,
    channel: u32,
    /// The next cycle to work through.
    now: Cycle,
    ranks: Vec<Rank>,
    /// The first cycle in which the command bus is free.
    command_bus: Cycle,
    /// The last burst: its end, its rank and its direction.
    bus: Option<(Cycle, u8, Direction)>,
    reads: Queue,
    writes: Queue,
    is_draining: bool,
    /// The requests whose rows are wanted next, at most one of a bank.
    wanted_next: Vec<Request>,
}

/// The requests of a direction, oldest first.
#[derive(Debug, Default)]
struct Queue {
    queued: Vec<Request>,
    waiting: VecDeque<Request>,
}

/// The last time of everything that happened in a rank.
#[derive(Debug)]
struct Rank {
    banks: Vec<Bank>,
    groups: Vec<Group>,
    /// All activates, oldest first; no more than the last four.
    activates: VecDeque<Cycle>,
    refresh: Option<Cycle>,
    read_or_write: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
    pending_refreshes: u32,
}

/// The last time of what happened in a bank group.
#[derive(Clone, Debug, Default)]
struct Group {
    activate: Option<Cycle>,
    read_or_write: Option<Cycle>,
    write: Option<Cycle>,
}

#[derive(Clone, Debug, Default)]
struct Bank {
    row: Option<u32>,
    activate: Option<Cycle>,
    precharge: Option<Cycle>,
    read: Option<Cycle>,
    write: Option<Cycle>,
}

/// Returns whether `gap` has passed since something last happened, if ever it did.
fn has_passed(since: Option<Cycle>, gap: Cycle, now: Cycle) -> bool {
    since.is_none_or(|since| now >= since + gap)
}

impl Scheduler for Stepped {
    fn new(specification: &Specification, channel: u32) -> Self {
        let geometry = &specification.geometry;
        let rank = |_| Rank {
            banks: vec![Bank::default(); geometry.banks as usize],
            groups: vec![Group::default(); geometry.groups as usize],
            activates: VecDeque::new(),
            refresh: None,
            read_or_write: None,
            read: None,
            write: None,
            pending_refreshes: 0,
        };
        Stepped {
            specification: specification.clone(),
            channel,
            now: Cycle(0),
            ranks: (0..geometry.ranks).map(rank).collect(),
            command_bus: Cycle(0),
            bus: None,
            reads: Queue::default(),
            writes: Queue::default(),
            is_draining: false,
            wanted_next: Vec::new(),
        }
    }

    fn push(&mut self, request: Request) {
        debug_assert!(request.arrival >= self.now, "{request:?} comes from the past of {}", self.now);
        match request.direction {
            Direction::Read => self.reads.waiting.push_back(request),
            Direction::Write => self.writes.waiting.push_back(request),
        }
    }

    fn run(&mut self, limit: Cycle, listener: &mut impl Listener) {
        while self.now < limit {
            self.add_due_refreshes();
            let entering = self.admit_requests(listener);
            let active_direction = self.active_direction();
            let is_bus_free = self.now >= self.command_bus;
            let command = is_bus_free.then(|| self.next_command(active_direction)).flatten();
            let issuing = command.map_or(CONTINUE, |command| self.issue(command, listener));
            self.now += Cycle(1);
            if entering.is_break() || issuing.is_break() {
                break;
            }
        }
    }
}

impl Stepped {
    /// Takes requests whose rows are wanted next, from this cycle on, in place of those before. The first of a bank
    /// counts.
    pub(crate) fn want_next(&mut self, requests: impl Iterator<Item = Request>) {
        self.wanted_next.clear();
        for next in requests {
            let is_of_bank = |other: &Request| (other.rank, other.bank) == (next.rank, next.bank);
            if !self.wanted_next.iter().any(is_of_bank) {
                self.wanted_next.push(next);
            }
        }
    }
}

// The steps 1 to 3.
impl Stepped {
    fn add_due_refreshes(&mut self) {
        let refresh = &self.specification.refresh;
        let period = refresh.interval * u64::from(refresh.batch);
        for (nth, rank) in self.ranks.iter_mut().enumerate() {
            let lag = refresh.stagger * nth as u64;
            if self.now > lag && (self.now - lag).0.is_multiple_of(period.0) {
                rank.pending_refreshes += refresh.batch;
            }
        }
    }

    fn admit_requests(&mut self, listener: &mut impl Listener) -> ControlFlow<()> {
        let mut flow = CONTINUE;
        let room = |queue: &Queue, max: u32| queue.queued.len() < max as usize;
        let has_arrived = |request: &mut Request| request.arrival <= self.now;
        while room(&self.reads, self.specification.queues.read) {
            let Some(read) = self.reads.waiting.pop_front_if(has_arrived) else { break };
            let mut writes = self.writes.queued.iter().chain(&self.writes.waiting);
            if writes.any(|write| write.id < read.id && write.is_for_same_burst(&read)) {
                if listener.on_done(&read, self.now + Cycle(1)).is_break() {
                    flow = ControlFlow::Break(());
                }
            } else {
                self.reads.queued.push(read);
            }
        }
        while room(&self.writes, self.specification.queues.write) {
            let Some(write) = self.writes.waiting.pop_front_if(has_arrived) else { break };
            self.writes.queued.push(write);
        }
        flow
    }

    fn active_direction(&mut self) -> Direction {
        let queued = self.writes.queued.len();
        if queued <= self.specification.queues.low as usize {
            self.is_draining = false;
        } else if queued >= self.specification.queues.high as usize {
            self.is_draining = true;
        }
        if self.is_draining || self.reads.queued.is_empty() { Direction::Write } else { Direction::Read }
    }
}

// Step 4.
impl Stepped {
    fn next_command(&self, active_direction: Direction) -> Option<Command> {
        self.refresh_command()
            .or_else(|| self.row_hit_command(active_direction))
            .or_else(|| self.row_miss_command(active_direction))
            .or_else(|| self.command_ahead())
    }

    fn refresh_command(&self) -> Option<Command> {
        self.ranks.iter().enumerate().filter(|(_, rank)| rank.pending_refreshes > 0).find_map(
            |(nth, rank)| {
                let command = |kind, bank: usize, row| Command {
                    cycle: self.now,
                    kind,
                    channel: self.channel,
                    rank: nth as u32,
                    bank: bank as u32,
                    row,
                    column: 0,
                };
                if rank.banks.iter().all(|bank| bank.row.is_none()) {
                    return self.may_refresh(rank).then(|| command(Kind::Refresh, 0, 0));
                }
                let closable = |(_, bank): &(usize, &Bank)| bank.row.is_some() && self.may_precharge(bank);
                let (bank, state) = rank.banks.iter().enumerate().find(closable)?;
                Some(command(Kind::Precharge, bank, state.row?))
            },
        )
    }

    fn row_hit_command(&self, active_direction: Direction) -> Option<Command> {
        let request = self
            .active_requests(active_direction)
            .find(|request| self.bank(request).row == Some(request.row) && self.may_transfer(request))?;
        let kind = match active_direction {
            Direction::Read => Kind::Read,
            Direction::Write => Kind::Write,
        };
        Some(Command { column: request.column, ..self.command(kind, request, request.row) })
    }

    fn row_miss_command(&self, active_direction: Direction) -> Option<Command> {
        self.active_requests(active_direction).find_map(|request| {
            let rank = &self.ranks[request.rank as usize];
            let bank = self.bank(request);
            let Some(row) = bank.row else {
                return self
                    .may_activate(rank, bank, self.group(request))
                    .then(|| self.command(Kind::Activate, request, request.row));
            };
            let is_for_the_open_row =
                |other: &Request| (other.rank, other.bank, other.row) == (request.rank, request.bank, row);
            if self.active_requests(active_direction).any(is_for_the_open_row) || !self.may_precharge(bank) {
                return None;
            }
            Some(self.command(Kind::Precharge, request, row))
        })
    }

    fn command_ahead(&self) -> Option<Command> {
        self.wanted_next.iter().find_map(|next| {
            let (rank, bank) = (&self.ranks[next.rank as usize], self.bank(next));
            let is_of_bank = |request: &Request| {
                (request.rank, request.bank) == (next.rank, next.bank) && request.arrival <= self.now
            };
            let queues = [&self.reads, &self.writes].into_iter();
            let mut requests = queues.flat_map(|queue| queue.queued.iter().chain(&queue.waiting));
            if rank.pending_refreshes > 0 || requests.any(is_of_bank) {
                return None;
            }
            match bank.row {
                None => self
                    .may_activate(rank, bank, self.group(next))
                    .then(|| self.command(Kind::Activate, next, next.row)),
                Some(row) => (row != next.row && self.may_precharge(bank))
                    .then(|| self.command(Kind::Precharge, next, row)),
            }
        })
    }

    /// The requests of the active queue in ranks that are not closed, oldest first.
    fn active_requests(&self, active_direction: Direction) -> impl Iterator<Item = &Request> {
        let queue = match active_direction {
            Direction::Read => &self.reads,
            Direction::Write => &self.writes,
        };
        queue.queued.iter().filter(|request| self.ranks[request.rank as usize].pending_refreshes == 0)
    }

    fn bank(&self, request: &Request) -> &Bank {
        &self.ranks[request.rank as usize].banks[request.bank as usize]
    }

    fn group(&self, request: &Request) -> &Group {
        &self.ranks[request.rank as usize].groups[self.nth_group(request.bank.into())]
    }

    /// The group of a bank.
    fn nth_group(&self, bank: u32) -> usize {
        (bank % self.specification.geometry.groups) as usize
    }

    fn command(&self, kind: Kind, request: &Request, row: u32) -> Command {
        let (rank, bank) = (u32::from(request.rank), u32::from(request.bank));
        Command { cycle: self.now, kind, channel: self.channel, rank, bank, row, column: 0 }
    }
}

// The table of the times at which a command may be issued.
impl Stepped {
    fn may_activate(&self, rank: &Rank, bank: &Bank, group: &Group) -> bool {
        let timing = &self.specification.timing;
        let fourth_last = if rank.activates.len() == 4 { rank.activates.front().copied() } else { None };
        has_passed(bank.precharge, timing.t_rp, self.now)
            && has_passed(bank.activate, timing.t_rc, self.now)
            && has_passed(rank.activates.back().copied(), timing.t_rrd, self.now)
            && has_passed(group.activate, self.specification.same_group().t_rrd, self.now)
            && has_passed(fourth_last, timing.t_faw, self.now)
            && has_passed(rank.refresh, self.specification.refresh.duration, self.now)
    }

    fn may_precharge(&self, bank: &Bank) -> bool {
        let timing = &self.specification.timing;
        has_passed(bank.activate, timing.t_ras, self.now)
            && has_passed(bank.read, timing.t_rtp, self.now)
            && has_passed(bank.write, timing.t_cwd + timing.burst + timing.t_wr, self.now)
    }

    fn may_transfer(&self, request: &Request) -> bool {
        let timing = &self.specification.timing;
        let same_group = self.specification.same_group();
        let (rank, group) = (&self.ranks[request.rank as usize], self.group(request));
        let (latency, from_activate, has_turned) = match request.direction {
            Direction::Read => {
                let written = timing.t_cwd + timing.burst;
                let has_turned = has_passed(rank.write, written + timing.t_wtr, self.now)
                    && has_passed(group.write, written + same_group.t_wtr, self.now);
                (timing.t_cas, timing.t_rcd, has_turned)
            }
            Direction::Write => {
                let has_turned = has_passed(rank.read, timing.read_to_write(), self.now)
                    && has_passed(group.write, same_group.write_to_write(), self.now);
                (timing.t_cwd, timing.activate_to_write(), has_turned)
            }
        };
        let is_bus_free = self.bus.is_none_or(|(end, rank, direction)| {
            let is_same = rank == request.rank && direction == request.direction;
            self.now + latency >= end + if is_same { Cycle(0) } else { timing.t_rtrs }
        });
        has_turned
            && is_bus_free
            && has_passed(self.bank(request).activate, from_activate, self.now)
            && has_passed(rank.read_or_write, timing.t_ccd, self.now)
            && has_passed(group.read_or_write, same_group.t_ccd, self.now)
    }

    fn may_refresh(&self, rank: &Rank) -> bool {
        let timing = &self.specification.timing;
        let is_at_rest = |bank: &Bank| {
            has_passed(bank.precharge, timing.t_rp, self.now)
                && has_passed(bank.activate, timing.t_rc, self.now)
        };
        rank.banks.iter().all(is_at_rest)
            && has_passed(rank.refresh, self.specification.refresh.duration, self.now)
    }
}

// The record of what happened.
impl Stepped {
    fn issue(&mut self, command: Command, listener: &mut impl Listener) -> ControlFlow<()> {
        listener.on_command(&command);
        let now = self.now;
        self.command_bus = now + self.specification.command_bus.cycles(command.kind);
        let nth_group = self.nth_group(command.bank);
        let rank = &mut self.ranks[command.rank as usize];
        let bank = &mut rank.banks[command.bank as usize];
        let group = &mut rank.groups[nth_group];
        match command.kind {
            Kind::Activate => {
                bank.row = Some(command.row);
                bank.activate = Some(now);
                group.activate = Some(now);
                if rank.activates.len() == 4 {
                    rank.activates.pop_front();
                }
                rank.activates.push_back(now);
            }
            Kind::Precharge => {
                bank.row = None;
                bank.precharge = Some(now);
            }
            Kind::Read => {
                bank.read = Some(now);
                rank.read = Some(now);
                rank.read_or_write = Some(now);
                group.read_or_write = Some(now);
                return self.finish(Direction::Read, command, listener);
            }
            Kind::Write => {
                bank.write = Some(now);
                rank.write = Some(now);
                rank.read_or_write = Some(now);
                (group.write, group.read_or_write) = (Some(now), Some(now));
                return self.finish(Direction::Write, command, listener);
            }
            Kind::Refresh => {
                rank.refresh = Some(now);
                rank.pending_refreshes -= 1;
            }
        }
        CONTINUE
    }

    /// Takes the oldest request for the block of a read or write out of its queue.
    fn finish(
        &mut self,
        direction: Direction,
        command: Command,
        listener: &mut impl Listener,
    ) -> ControlFlow<()> {
        let timing = &self.specification.timing;
        let (queue, latency) = match direction {
            Direction::Read => (&mut self.reads, timing.t_cas),
            Direction::Write => (&mut self.writes, timing.t_cwd),
        };
        let place = (command.rank as u8, command.bank as u8, command.row, command.column);
        let nth = queue
            .queued
            .iter()
            .position(|request| (request.rank, request.bank, request.row, request.column) == place)
            .expect("a read or write is issued for a request");
        let end = self.now + latency + timing.burst;
        self.bus = Some((end, command.rank as u8, direction));
        listener.on_done(&queue.queued.remove(nth), end)
    }
}
