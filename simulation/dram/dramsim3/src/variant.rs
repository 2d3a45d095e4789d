//! Our scheduler with some of its rules replaced by those of DRAMsim3 or Ramulator, to see which of them makes a
//! difference.

use crate::gaps::{Gaps, Relation};
use crate::ini::same_group;
use ameles_dram::scheduler::{Listener, Request, Scheduler};
use ameles_dram::{Command, Cycle, Direction, Kind, Specification};
use std::collections::VecDeque;
use std::ops::ControlFlow;

/// Each bank has one queue of 16 for reads and writes. One request moves into a queue in each cycle. Writes move while
/// the write buffer is full, or while it has more than 8 and all queues are empty.
pub(crate) const COMMAND_QUEUES: u8 = 1;
/// Banks take turns. A bank chooses its first request whose next command, of any kind, can be issued.
pub(crate) const TURNS: u8 = 2;
/// A row is closed for the oldest request of its bank after 4 hits, though more are queued.
pub(crate) const FOUR_HITS: u8 = 4;
/// Writes of two ranks follow each other without t_rtrs.
pub(crate) const WRITES_OF_RANKS: u8 = 8;
/// HBM has a bus for row commands, and another for reads and writes.
pub(crate) const TWO_BUSES: u8 = 16;
/// Ramulator: writes that have begun, also because there is no read, continue down to fewer than the low mark.
pub(crate) const LONG_DRAINS: u8 = 32;
/// Ramulator: it chooses the oldest request whose next command, of any kind, can be issued. Requests for which a row
/// was opened come first, in both directions. No other request closes that row, and they no longer count as queued.
pub(crate) const FIRST_READY: u8 = 64;

/// The capacity of a bank's queue.
const BANK_QUEUE: usize = 16;
/// Hits after which a row is closed.
const HITS: u32 = 4;

/// A scheduler with the given rules, cycle by cycle.
pub(crate) struct Variant<const RULES: u8> {
    gaps: Gaps,
    channel: u32,
    now: Cycle,
    banks: Vec<Bank>,
    ranks: Vec<Rank>,
    reads: Vec<Request>,
    writes: Vec<Request>,
    waiting: VecDeque<Request>,
    is_draining: bool,
    /// The writes that are still to move into the banks' queues.
    draining: usize,
    /// The bank whose turn it was last.
    turn: usize,
}

#[derive(Clone, Default)]
struct Bank {
    row: Option<u32>,
    hits: u32,
    /// The first cycle in which it takes each kind of command.
    earliest: [Cycle; 5],
    queue: Vec<Request>,
    /// The request for which the row was opened, until it is served.
    opener: Option<Request>,
}

#[derive(Clone, Default)]
struct Rank {
    pending_refreshes: u32,
    activates: VecDeque<Cycle>,
}

impl<const RULES: u8> Scheduler for Variant<RULES> {
    fn new(specification: &Specification, channel: u32) -> Self {
        let (ranks, banks) = (specification.geometry.ranks, specification.geometry.banks);
        Variant {
            gaps: Gaps {
                specification: specification.clone(),
                same_group: same_group(specification),
                has_free_writes: Self::has(WRITES_OF_RANKS),
            },
            channel,
            now: Cycle(0),
            banks: vec![Bank::default(); (ranks * banks) as usize],
            ranks: vec![Rank::default(); ranks as usize],
            reads: Vec::new(),
            writes: Vec::new(),
            waiting: VecDeque::new(),
            is_draining: false,
            draining: 0,
            turn: 0,
        }
    }

    fn push(&mut self, request: Request) {
        self.waiting.push_back(request);
    }

    fn run(&mut self, limit: Cycle, listener: &mut impl Listener) {
        while self.now < limit {
            self.add_due_refreshes();
            let mut flow = self.admit(listener);
            let first = self.choose();
            if let Some((kind, bank, request)) = first {
                flow = merge(flow, self.issue(kind, bank, request, listener));
                let second = if self.has_two_buses() { self.choose() } else { None };
                if let Some((second, bank, request)) =
                    second.filter(|(second, ..)| is_transfer(*second) != is_transfer(kind))
                {
                    flow = merge(flow, self.issue(second, bank, request, listener));
                }
            }
            let may_move = Self::has(COMMAND_QUEUES) && self.reads.len() + self.writes.len() > 0;
            if may_move {
                self.move_one();
            } else if first.is_none() && self.waiting.is_empty() {
                self.skip(limit);
            }
            self.now += Cycle(1);
            if flow.is_break() {
                break;
            }
        }
    }
}

fn is_transfer(kind: Kind) -> bool {
    matches!(kind, Kind::Read | Kind::Write)
}

fn merge(one: ControlFlow<()>, other: ControlFlow<()>) -> ControlFlow<()> {
    if one.is_break() { one } else { other }
}

/// A command, its bank and, of a read or write, the request.
type Choice = (Kind, usize, Option<Request>);

impl<const RULES: u8> Variant<RULES> {
    fn has(rule: u8) -> bool {
        RULES & rule != 0
    }

    fn has_two_buses(&self) -> bool {
        Self::has(TWO_BUSES) && self.gaps.specification.timing.t_rcd_write.is_some()
    }

    /// Skips the cycles in which nothing can happen, except the last of them.
    fn skip(&mut self, limit: Cycle) {
        let refresh = &self.gaps.specification.refresh;
        let due = Cycle((self.now.0 + 1).next_multiple_of(refresh.interval.0 / self.ranks.len() as u64));
        let windows = self.ranks.iter().filter_map(|rank| rank.activates.front());
        let windows = windows.map(|activate| *activate + self.gaps.specification.timing.t_faw);
        let gaps = self.banks.iter().flat_map(|bank| bank.earliest);
        let next = gaps.chain(windows).filter(|cycle| *cycle > self.now).min().unwrap_or(limit);
        self.now = next.min(due).min(limit) - Cycle(1);
    }

    fn add_due_refreshes(&mut self) {
        let refresh = &self.gaps.specification.refresh;
        for (nth, rank) in self.ranks.iter_mut().enumerate() {
            let lag = refresh.stagger * nth as u64;
            if self.now > lag && (self.now - lag).0.is_multiple_of(refresh.interval.0) {
                rank.pending_refreshes += 1;
            }
        }
    }

    fn admit(&mut self, listener: &mut impl Listener) -> ControlFlow<()> {
        let mut flow = ControlFlow::Continue(());
        let (mut reads, mut writes) = (self.reads.len(), self.writes.len());
        let queues = self.gaps.specification.queues.clone();
        let mut left = VecDeque::new();
        while let Some(request) = self.waiting.pop_front() {
            let (number, max) = match request.direction {
                Direction::Read => (&mut reads, queues.read),
                Direction::Write => (&mut writes, queues.write),
            };
            if request.arrival > self.now || *number >= max as usize {
                left.push_back(request);
                continue;
            }
            let is_same = |other: &&Request| {
                other.direction == Direction::Write
                    && other.id < request.id
                    && place(other) == place(&request)
            };
            let queued = self.banks.iter().flat_map(|bank| &bank.queue).chain(&self.writes).chain(&left);
            if request.direction == Direction::Read && queued.into_iter().any(|other| is_same(&other)) {
                flow = merge(flow, listener.on_done(&request, self.now + Cycle(1)));
                continue;
            }
            *number += 1;
            match request.direction {
                Direction::Read => self.reads.push(request),
                Direction::Write => self.writes.push(request),
            }
        }
        self.waiting = left;
        flow
    }

    /// Moves a request into its bank's queue.
    fn move_one(&mut self) {
        let is_empty = || self.banks.iter().all(|bank| bank.queue.is_empty());
        let waiting = self.writes.len();
        if self.draining == 0
            && (waiting >= self.gaps.specification.queues.write as usize || waiting > 8 && is_empty())
        {
            self.draining = waiting;
        }
        let from = if self.draining > 0 { &self.writes } else { &self.reads };
        let fits = |request: &Request| self.banks[self.nth_bank(request)].queue.len() < BANK_QUEUE;
        let Some(nth) = from.iter().position(fits) else { return };
        let request = if self.draining > 0 {
            let request = self.writes[nth];
            let mut reads = self.reads.iter().chain(self.banks.iter().flat_map(|bank| &bank.queue));
            if reads.any(|read| read.direction == Direction::Read && place(read) == place(&request)) {
                self.draining = 0;
                return;
            }
            self.draining -= 1;
            self.writes.remove(nth)
        } else {
            self.reads.remove(nth)
        };
        let bank = self.nth_bank(&request);
        self.banks[bank].queue.push(request);
    }

    fn nth_bank(&self, request: &Request) -> usize {
        usize::from(request.rank) * self.gaps.specification.geometry.banks as usize
            + usize::from(request.bank)
    }

    fn rank_of(&self, bank: usize) -> usize {
        bank / self.gaps.specification.geometry.banks as usize
    }

    fn choose(&mut self) -> Option<Choice> {
        if let Some(choice) = self.refresh() {
            return Some(choice);
        }
        let candidates = self.candidates();
        if candidates.is_empty() && !Self::has(FIRST_READY) {
            return None;
        }
        if Self::has(FIRST_READY) {
            return self.choose_first_ready(&candidates);
        }
        let choice = if Self::has(TURNS) {
            self.choose_in_turn(&candidates)
        } else {
            self.choose_hits_first(&candidates)
        };
        if let Some((_, bank, _)) = choice {
            self.turn = self.place_in_turn(bank);
        }
        choice
    }

    fn refresh(&self) -> Option<Choice> {
        let banks = self.gaps.specification.geometry.banks as usize;
        let closed = (0..self.ranks.len()).filter(|rank| self.ranks[*rank].pending_refreshes > 0);
        closed.into_iter().find_map(|rank| {
            let mut banks = rank * banks..(rank + 1) * banks;
            if banks.clone().all(|bank| self.banks[bank].row.is_none()) {
                let is_ready = banks.clone().all(|bank| self.is_ready(Kind::Refresh, bank));
                return is_ready.then_some((Kind::Refresh, banks.start, None));
            }
            let is_closable =
                |bank: &usize| self.banks[*bank].row.is_some() && self.is_ready(Kind::Precharge, *bank);
            Some((Kind::Precharge, banks.find(is_closable)?, None))
        })
    }

    /// The requests to choose from, oldest first, of ranks without pending refreshes.
    fn candidates(&mut self) -> Vec<Request> {
        let mut all: Vec<Request> = if Self::has(COMMAND_QUEUES) {
            self.banks.iter().flat_map(|bank| &bank.queue).copied().collect()
        } else {
            let queues = &self.gaps.specification.queues;
            let (low, high) = (queues.low as usize, queues.high as usize);
            let opened = |request: &&Request| {
                Self::has(FIRST_READY)
                    && self.banks[self.nth_bank(request)].opener.is_some_and(|opener| opener.id == request.id)
            };
            let waiting = self.writes.iter().filter(|request| !opened(request)).count();
            let has_reads = self.reads.iter().any(|request| !opened(&request));
            if Self::has(LONG_DRAINS) {
                let begins = waiting > high || !has_reads;
                let goes_on = self.is_draining && (waiting >= low || !has_reads);
                self.is_draining = begins || goes_on;
            } else if waiting <= low {
                self.is_draining = false;
            } else if waiting >= high {
                self.is_draining = true;
            }
            let is_writing = self.is_draining || !has_reads;
            if is_writing { self.writes.clone() } else { self.reads.clone() }
        };
        all.retain(|request| self.ranks[usize::from(request.rank)].pending_refreshes == 0);
        // A bank's queue is in the order in which requests came into it.
        if !Self::has(COMMAND_QUEUES) || !Self::has(TURNS) {
            all.sort_by_key(|request| request.id);
        }
        all
    }

    fn choose_hits_first(&self, candidates: &[Request]) -> Option<Choice> {
        let next = |request: &Request| (self.next(request), self.nth_bank(request), *request);
        let hit = candidates
            .iter()
            .map(next)
            .find(|(kind, bank, _)| is_transfer(*kind) && self.is_ready(*kind, *bank));
        if let Some((kind, bank, request)) = hit {
            return Some((kind, bank, Some(request)));
        }
        candidates.iter().map(next).find_map(|(kind, bank, request)| {
            let is_allowed =
                !is_transfer(kind) && self.is_ready(kind, bank) && self.may_close(kind, &request, candidates);
            is_allowed.then_some((kind, bank, Some(request)))
        })
    }

    fn choose_first_ready(&self, candidates: &[Request]) -> Option<Choice> {
        let openers = self.banks.iter().filter_map(|bank| bank.opener.as_ref());
        let others = candidates.iter().filter(|request| {
            let opener = &self.banks[self.nth_bank(request)].opener;
            opener.is_none() || self.next(request) != Kind::Precharge
        });
        openers.chain(others).find_map(|request| {
            let (kind, bank) = (self.next(request), self.nth_bank(request));
            self.is_ready(kind, bank).then_some((kind, bank, Some(*request)))
        })
    }

    fn choose_in_turn(&self, candidates: &[Request]) -> Option<Choice> {
        let number = self.banks.len();
        let mut busy = vec![Vec::new(); number];
        candidates.iter().for_each(|request| busy[self.nth_bank(request)].push(*request));
        (1..=number).map(|ahead| self.bank_in_turn((self.turn + ahead) % number)).find_map(|bank| {
            busy[bank].iter().find_map(|request| {
                let kind = self.next(request);
                let is_allowed = self.is_ready(kind, bank) && self.may_close(kind, request, &busy[bank]);
                is_allowed.then_some((kind, bank, Some(*request)))
            })
        })
    }

    /// The place of a bank in the order of turns: by rank, bank group and bank of the group.
    fn place_in_turn(&self, bank: usize) -> usize {
        let (banks, groups) = (
            self.gaps.specification.geometry.banks as usize,
            self.gaps.specification.geometry.groups as usize,
        );
        bank / banks * banks + bank % groups * (banks / groups) + bank % banks / groups
    }

    /// The bank at a place in the order of turns.
    fn bank_in_turn(&self, place: usize) -> usize {
        let (banks, groups) = (
            self.gaps.specification.geometry.banks as usize,
            self.gaps.specification.geometry.groups as usize,
        );
        let (group, bank) = (place % banks / (banks / groups), place % (banks / groups));
        place / banks * banks + bank * groups + group
    }

    /// Returns false for a precharge of a row that is still wanted.
    fn may_close(&self, kind: Kind, request: &Request, candidates: &[Request]) -> bool {
        let bank = self.nth_bank(request);
        if kind != Kind::Precharge {
            return true;
        }
        let mut of_bank = candidates.iter().filter(|other| self.nth_bank(other) == bank);
        let is_oldest = of_bank.clone().next().is_some_and(|first| first.id == request.id);
        let is_wanted = of_bank.any(|other| Some(other.row) == self.banks[bank].row);
        !is_wanted || Self::has(FOUR_HITS) && is_oldest && self.banks[bank].hits >= HITS
    }

    /// The next command for a request.
    fn next(&self, request: &Request) -> Kind {
        match self.banks[self.nth_bank(request)].row {
            None => Kind::Activate,
            Some(row) if row != request.row => Kind::Precharge,
            Some(_) if request.direction == Direction::Read => Kind::Read,
            Some(_) => Kind::Write,
        }
    }

    fn is_ready(&self, kind: Kind, bank: usize) -> bool {
        let activates = &self.ranks[self.rank_of(bank)].activates;
        let window = activates.len() == 4 && self.now < activates[0] + self.gaps.specification.timing.t_faw;
        self.now >= self.banks[bank].earliest[kind as usize] && !(kind == Kind::Activate && window)
    }

    fn issue(
        &mut self,
        kind: Kind,
        nth: usize,
        request: Option<Request>,
        listener: &mut impl Listener,
    ) -> ControlFlow<()> {
        let rank = self.rank_of(nth);
        let row =
            if kind == Kind::Activate { request.map(|request| request.row) } else { self.banks[nth].row };
        let (row, column) =
            (row.unwrap_or(0), request.filter(|_| is_transfer(kind)).map_or(0, |request| request.column));
        let bank = (nth % self.gaps.specification.geometry.banks as usize) as u32;
        let (cycle, channel) = (self.now, self.channel);
        listener.on_command(&Command { cycle, kind, channel, rank: rank as u32, bank, row, column });
        self.delay(kind, nth);
        let state = &mut self.banks[nth];
        match kind {
            Kind::Activate => {
                (state.row, state.hits) = (Some(row), 0);
                state.opener = request;
                let activates = &mut self.ranks[rank].activates;
                activates.push_back(cycle);
                if activates.len() > 4 {
                    activates.pop_front();
                }
            }
            Kind::Precharge => (state.row, state.opener) = (None, None),
            Kind::Refresh => self.ranks[rank].pending_refreshes -= 1,
            Kind::Read | Kind::Write => {
                state.hits += 1;
                let Some(request) = request else { return ControlFlow::Continue(()) };
                state.opener = state.opener.filter(|opener| opener.id != request.id);
                for queue in [&mut state.queue, &mut self.reads, &mut self.writes] {
                    queue.retain(|other| other.id != request.id);
                }
                let timing = &self.gaps.specification.timing;
                let latency = if kind == Kind::Read { timing.t_cas } else { timing.t_cwd };
                return listener.on_done(&request, cycle + latency + timing.burst);
            }
        }
        ControlFlow::Continue(())
    }

    /// Delays later commands of all banks.
    fn delay(&mut self, kind: Kind, issued: usize) {
        let (now, rank) = (self.now, self.rank_of(issued));
        let geometry = &self.gaps.specification.geometry;
        let (banks, groups) = (geometry.banks as usize, geometry.groups as usize);
        let relations = [Relation::OtherRank, Relation::SameRank, Relation::SameGroup, Relation::SameBank];
        let gaps = relations.map(|relation| self.gaps.after(kind, relation));
        for (nth, bank) in self.banks.iter_mut().enumerate() {
            let relation = match nth {
                _ if nth / banks != rank => 0,
                _ if nth % banks % groups != issued % banks % groups => 1,
                _ if nth != issued => 2,
                _ => 3,
            };
            for (later, gap) in &gaps[relation] {
                let earliest = &mut bank.earliest[*later as usize];
                *earliest = (*earliest).max(now + *gap);
            }
        }
    }
}

fn place(request: &Request) -> (u8, u8, u32, u32) {
    (request.rank, request.bank, request.row, request.column)
}
