//! The processor: it fetches and retires several instructions a cycle, in order, with a reorder buffer between.
//!
//! The rules are USIMM's. Up to `width` instructions are fetched in a cycle while the reorder buffer has room, and up
//! to `width` retire, oldest first. An instruction may retire in the cycle after it is done. It is done `pipeline`
//! cycles after it was fetched; a load that misses, that many cycles after its line arrives. A store is done like any
//! other instruction: its line is fetched in the background. A fetch stalls while too many stored lines and
//! write-backs are outstanding.

mod rounds;

use crate::cache::{Cache, Victim};
use crate::trace::{Kind, Miss};
use crate::units::{Cycle, Line};
use rounds::{Instruction, PipelineState, RoundSkipper};
use std::collections::VecDeque;

/// The shape of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Instructions that are fetched, and that retire, in a cycle: at least 1.
    pub width: u64,
    /// Instructions of the reorder buffer: at least 1.
    pub reorder_buffer: usize,
    /// Cycles from fetching an instruction to its completion.
    pub pipeline: u64,
    /// Cycles more that a load takes which the last-level cache answers.
    pub cache: u64,
    /// The maximum of outstanding requests for which no instruction waits: at least 1.
    pub posted: usize,
    /// True if lines that leave the cache clean are given to the memory as well: it has no copy of what it hands out.
    pub evicts_clean_lines: bool,
}

impl Shape {
    /// The processor of IR-ORAM's Table I, with the pipeline and the write queue of USIMM: width 4, reorder buffer
    /// 128, pipeline 10, 64 requests posted. The table has no latency of its cache: 20 cycles is ours.
    pub const IR_ORAM: Shape = Shape {
        width: 4,
        reorder_buffer: 128,
        pipeline: 10,
        cache: 20,
        posted: 64,
        evicts_clean_lines: false,
    };
}

/// A request of the processor to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The number by which it is answered: they count from 0.
    pub number: u64,
    /// The cycle of the request.
    pub at: Cycle,
    /// The line.
    pub line: Line,
    /// The reason.
    pub reason: Reason,
}

/// The reason of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// A load waits for the line.
    Load,
    /// A store is to change the line.
    Store,
    /// The line is dirty and had to leave the cache.
    WriteBack,
    /// The line is clean and had to leave the cache, and the memory has no copy of it.
    CleanEviction,
}

/// The next thing that a processor does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Next {
    /// It sends a request to the memory.
    Request(Request),
    /// It can continue only after the memory has answered a request.
    Waits,
    /// It sends no request before the given cycle or count of instructions.
    Reached,
    /// It has retired its last instruction in this cycle.
    Done(Cycle),
}

/// A processor and its last-level cache, at work on a trace.
#[derive(Debug)]
pub struct Processor<T> {
    shape: Shape,
    cache: Cache,
    trace: T,
    /// The instructions before the next miss, and the miss.
    next: Option<(u32, Miss)>,
    state: PipelineState,
    rounds: RoundSkipper,
    /// Requests for lines evicted from the cache, to be sent before anything else.
    evicted: VecDeque<Victim>,
    requests: u64,
    posted: PostedRequests,
    counts: Counts,
}

/// The requests for which no instruction waits.
#[derive(Debug, Default)]
struct PostedRequests {
    outstanding: usize,
    /// The cycle at which there was room again.
    free_at: u64,
}

/// The counts of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Instructions that were fetched.
    pub instructions: u64,
    /// Loads that missed the last-level cache.
    pub loads: u64,
    /// Stores that missed it.
    pub stores: u64,
    /// Dirty lines that left it.
    pub written_back: u64,
}

impl<T: Iterator<Item = Miss>> Processor<T> {
    /// A processor at rest, with an empty reorder buffer.
    ///
    /// # Panics
    /// If a field of the shape is below its least value.
    pub fn new(shape: Shape, cache: Cache, mut trace: T) -> Self {
        assert!(shape.width > 0 && shape.reorder_buffer > 0 && shape.posted > 0, "{shape:?} does nothing");
        let next = trace.next().map(|miss| (miss.instructions, miss));
        Processor {
            shape,
            cache,
            trace,
            next,
            state: PipelineState {
                buffer: VecDeque::with_capacity(shape.reorder_buffer),
                ..PipelineState::default()
            },
            rounds: RoundSkipper::new(shape.width, shape.reorder_buffer),
            evicted: VecDeque::new(),
            requests: 0,
            posted: PostedRequests::default(),
            counts: Counts::default(),
        }
    }

    /// The counts so far.
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// The last-level cache.
    pub fn cache(&self) -> &Cache {
        &self.cache
    }

    /// The last-level cache, for a controller that writes lines back early.
    pub fn cache_mut(&mut self) -> &mut Cache {
        &mut self.cache
    }

    /// Goes on to the next request. Requests come in the order of their cycles.
    pub fn advance(&mut self) -> Next {
        self.advance_to(Cycle(u64::MAX))
    }

    /// Goes on to the next request, or to the first fetch that comes no earlier than `limit`.
    pub fn advance_to(&mut self, limit: Cycle) -> Next {
        self.advance_within(limit, u64::MAX)
    }

    /// Continues to the next request, or until it has fetched this many instructions in all.
    pub fn advance_to_fetch(&mut self, instructions: u64) -> Next {
        self.advance_within(Cycle(u64::MAX), instructions)
    }

    /// The cycle of the last fetch.
    pub fn now(&self) -> Cycle {
        Cycle(self.state.fetched / self.shape.width)
    }

    fn advance_within(&mut self, limit: Cycle, instructions: u64) -> Next {
        let limit = limit.0.saturating_mul(self.shape.width);
        loop {
            if let Some(next) = self.step(limit, instructions) {
                return next;
            }
        }
    }

    /// Fetches an instruction, or a whole number of rounds, before the turn `limit`, unless the count of instructions
    /// is reached. Returns what the driver of the processor has to know.
    fn step(&mut self, limit: u64, instructions: u64) -> Option<Next> {
        if !self.evicted.is_empty() {
            if self.posted.outstanding == self.shape.posted {
                return Some(Next::Waits);
            }
            if let Some(Victim { line, is_dirty }) = self.evicted.pop_front() {
                let reason = if is_dirty { Reason::WriteBack } else { Reason::CleanEviction };
                return Some(Next::Request(self.post(line, reason)));
            }
        }
        let room = self.posted.free_at.saturating_mul(self.shape.width);
        let remaining_fetches = instructions.saturating_sub(self.counts.instructions);
        if self.state.fetched.max(room) >= limit || remaining_fetches == 0 && self.next.is_some() {
            return Some(Next::Reached);
        }
        if self.state.buffer.len() == self.shape.reorder_buffer && !self.retire() {
            return Some(Next::Waits);
        }
        match self.next {
            Some((0, miss)) => {
                let is_full = self.posted.outstanding == self.shape.posted;
                if miss.kind == Kind::Store && is_full {
                    return Some(Next::Waits);
                }
                self.next = self.trace.next().map(|miss| (miss.instructions, miss));
                self.memory_instruction(miss).map(Next::Request)
            }
            Some((left, miss)) => {
                let may_skip = remaining_fetches >= u64::from(left);
                let skipped = if may_skip { self.rounds.skip(&mut self.state, left, room, limit) } else { 0 };
                if skipped > 0 {
                    self.counts.instructions += u64::from(skipped);
                    self.next = Some((left - skipped, miss));
                    return None;
                }
                self.next = Some((left - 1, miss));
                let done = self.fetch() + self.shape.pipeline;
                self.state.buffer.push_back(Instruction::Done(done));
                None
            }
            None if self.state.buffer.is_empty() => {
                Some(Next::Done(Cycle(self.state.retired / self.shape.width)))
            }
            None => (!self.retire()).then_some(Next::Waits),
        }
    }

    /// Answers a request: its line is there, or is written, at this cycle.
    pub fn answer(&mut self, request: &Request, at: Cycle) {
        if request.reason != Reason::Load {
            if self.posted.outstanding == self.shape.posted {
                self.posted.free_at = self.posted.free_at.max(at.0);
            }
            self.posted.outstanding = self.posted.outstanding.saturating_sub(1);
            return;
        }
        let done = Instruction::Done(at.0 + self.shape.pipeline);
        let is_it = |instruction: &&mut Instruction| matches!(instruction, Instruction::Waits(number) if *number == request.number);
        if let Some(instruction) = self.state.buffer.iter_mut().find(is_it) {
            *instruction = done;
        }
    }

    /// Fetches the instruction that misses the first-level cache, and returns its request.
    fn memory_instruction(&mut self, miss: Miss) -> Option<Request> {
        let cycle = self.fetch();
        let done = Instruction::Done(cycle + self.shape.pipeline);
        let access = self.cache.access(miss.line, miss.kind == Kind::Store);
        let evicts_clean_lines = self.shape.evicts_clean_lines;
        self.evicted.extend(access.victim.filter(|victim| victim.is_dirty || evicts_clean_lines));
        match (miss.kind, access.is_hit) {
            (Kind::Store, true) => self.state.buffer.push_back(done),
            (Kind::Load, true) => {
                let done = cycle + self.shape.pipeline + self.shape.cache;
                self.state.buffer.push_back(Instruction::Done(done));
            }
            (Kind::Store, false) => {
                self.state.buffer.push_back(done);
                self.counts.stores += 1;
                return Some(self.post(miss.line, Reason::Store));
            }
            (Kind::Load, false) => {
                self.counts.loads += 1;
                let request = self.request(miss.line, Reason::Load);
                self.state.buffer.push_back(Instruction::Waits(request.number));
                return Some(request);
            }
        }
        None
    }

    fn post(&mut self, line: Line, reason: Reason) -> Request {
        self.counts.written_back += u64::from(reason == Reason::WriteBack);
        self.posted.outstanding += 1;
        self.request(line, reason)
    }

    fn request(&mut self, line: Line, reason: Reason) -> Request {
        let number = self.requests;
        self.requests += 1;
        let at = Cycle(self.posted.free_at.max(self.state.fetched / self.shape.width));
        Request { number, at, line, reason }
    }

    /// Fetches an instruction, and returns its cycle.
    fn fetch(&mut self) -> u64 {
        self.counts.instructions += 1;
        self.state.fetched = (self.state.fetched + 1).max(self.posted.free_at * self.shape.width);
        self.state.fetched / self.shape.width
    }

    /// Retires the oldest instruction, if it is known when it is done. Whatever is fetched next comes no earlier.
    fn retire(&mut self) -> bool {
        let Some(Instruction::Done(done)) = self.state.buffer.front() else { return false };
        self.state.retired = (self.state.retired + 1).max((done + 1) * self.shape.width);
        self.state.buffer.pop_front();
        // The place is free from the cycle on in which the instruction retires.
        self.state.fetched =
            self.state.fetched.max((self.state.retired / self.shape.width) * self.shape.width - 1);
        true
    }
}

#[cfg(test)]
mod tests;
