//! The processor: it fetches and retires several instructions per cycle, in order, with a reorder buffer between.
//!
//! The rules are USIMM's. Up to `width` instructions are fetched in a cycle while the reorder buffer has room, and up
//! to `width` retire, oldest first. An instruction may retire in the cycle after it is done. It is done `pipeline`
//! cycles after it was fetched; a load that misses, that many cycles after its line arrives. A store is done like any
//! other instruction: its line is fetched in the background. A fetch stalls while too many stored lines and
//! write-backs are outstanding.
//!
//! Several cores each have such a reorder buffer and a trace of their own. They share the last-level cache and the
//! memory. The core whose clock is lowest fetches next, so accesses of the cache come in the order of time.

mod core;
mod periods;

use crate::cache::{Cache, Victim};
use crate::trace::{Kind, Miss};
use crate::units::{Cycle, Line};
use core::Core;
use periods::Instruction;

/// The shape of a processor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    /// The number of instructions fetched, and retired, per cycle: at least 1.
    pub width: u64,
    /// The number of entries of the reorder buffer: at least 1.
    pub reorder_buffer: usize,
    /// The number of cycles from fetch to completion.
    pub pipeline: u64,
    /// The number of extra cycles of a load that hits the last-level cache.
    pub cache: u64,
    /// The maximum number of outstanding requests for which no instruction waits: at least 1.
    pub posted: usize,
    /// True if lines that leave the cache clean are given to the memory as well: it has no copy of what it hands out.
    pub evicts_clean_lines: bool,
    /// The cores. Each has a reorder buffer and posted requests of its own.
    pub cores: Cores,
}

/// The maximum number of cores.
pub const MAX_CORES: usize = 16;

/// The cores of a processor, and the parts of the memory by which their misses are distinguished.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cores {
    /// The number of cores: 1 to [`MAX_CORES`].
    pub count: usize,
    /// The number of lines of the memory for each core: at least 1. The first core has the first lines, and so on.
    pub lines: u64,
}

impl Cores {
    /// A single core with all of the memory.
    pub const ONE: Cores = Cores { count: 1, lines: u64::MAX };

    /// The core of a line.
    fn of(self, line: Line) -> usize {
        usize::try_from(line.0 / self.lines).unwrap_or(usize::MAX).min(self.count - 1)
    }
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
        cores: Cores::ONE,
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
    /// The core that sent it, counted from 0.
    pub core: usize,
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
    /// The processor sends a request to the memory.
    Request(Request),
    /// The processor can continue only after the memory has answered a request.
    Waits,
    /// The processor sends no request before the given cycle or count of instructions.
    Reached,
    /// The processor has retired its last instruction in this cycle.
    Done(Cycle),
}

/// A processor and its last-level cache, at work on a trace.
#[derive(Debug)]
pub struct Processor<T> {
    shape: Shape,
    cache: Cache,
    trace: T,
    cores: Vec<Core>,
    /// The reason why each core does not continue at present.
    rests: Vec<Option<Next>>,
    /// The turn in which the first core reached the last limit.
    reached: u64,
    requests: u64,
    counts: Counts,
}

/// The counts of a run so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of instructions that were fetched.
    pub instructions: u64,
    /// Misses of the trace that were fetched, whether the last-level cache has their lines or not.
    pub misses: u64,
    /// The number of loads that missed the last-level cache.
    pub loads: u64,
    /// The number of stores that missed it.
    pub stores: u64,
    /// The number of dirty lines that left it.
    pub written_back: u64,
    /// The cycle in which each core retired its last instruction: 0 for one that has not, or does not exist.
    pub ends: [Cycle; MAX_CORES],
}

impl<T: Iterator<Item = Miss>> Processor<T> {
    /// A processor at rest, with empty reorder buffers.
    ///
    /// # Panics
    /// If a field of the shape is below its least value, or there are too many cores.
    pub fn new(shape: Shape, cache: Cache, trace: T) -> Self {
        assert!(shape.width > 0 && shape.reorder_buffer > 0 && shape.posted > 0, "{shape:?} does nothing");
        let Cores { count, lines } = shape.cores;
        assert!((1..=MAX_CORES).contains(&count) && lines > 0, "{shape:?} has no such cores");
        let cores = (0..count).map(|_| Core::new(shape.width, shape.reorder_buffer)).collect();
        let rests = vec![None; count];
        let mut processor = Processor {
            shape,
            cache,
            trace,
            cores,
            rests,
            reached: 0,
            requests: 0,
            counts: Counts::default(),
        };
        (0..count).for_each(|core| processor.read(core));
        processor
    }

    /// Reads the next miss of a core. Those of others that come before it wait for their turn.
    fn read(&mut self, core: usize) {
        let next = self.cores[core].unread.pop_front().or_else(|| {
            loop {
                let miss = self.trace.next()?;
                match self.shape.cores.of(miss.line) {
                    other if other != core => self.cores[other].unread.push_back(miss),
                    _ => return Some(miss),
                }
            }
        });
        self.cores[core].next = next.map(|miss| (miss.instructions, miss));
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

    /// Continues to the next request. Requests come in the order of their cycles.
    pub fn advance(&mut self) -> Next {
        self.advance_to(Cycle(u64::MAX))
    }

    /// Continues to the next request, or to the first fetch that comes no earlier than `limit`.
    pub fn advance_to(&mut self, limit: Cycle) -> Next {
        self.advance_within(limit, u64::MAX)
    }

    /// Continues to the next request, or until it has fetched this many instructions in all.
    pub fn advance_to_fetch(&mut self, instructions: u64) -> Next {
        self.advance_within(Cycle(u64::MAX), instructions)
    }

    /// The cycle of the last fetch before the limit that [`Next::Reached`] reports.
    pub fn now(&self) -> Cycle {
        Cycle(self.reached / self.shape.width)
    }

    fn advance_within(&mut self, limit: Cycle, instructions: u64) -> Next {
        let limit = limit.0.saturating_mul(self.shape.width);
        self.rests.fill(None);
        let mut reached = None;
        while let Some(core) = self.lowest() {
            match self.step(core, limit, instructions) {
                Some(request @ Next::Request(_)) => return request,
                rest => self.rests[core] = rest,
            }
            if self.rests[core] == Some(Next::Reached) {
                reached.get_or_insert(self.cores[core].state.fetched);
            }
        }
        self.reached = reached.unwrap_or(self.reached);
        // A core that has reached the limit may continue later, and one that waits is answered later.
        let rests = || self.rests.iter().flatten();
        let ends = rests().filter_map(|rest| if let Next::Done(end) = rest { Some(*end) } else { None });
        match ends.max() {
            _ if rests().any(|rest| *rest == Next::Reached) => Next::Reached,
            Some(end) if rests().all(|rest| matches!(rest, Next::Done(_))) => Next::Done(end),
            _ => Next::Waits,
        }
    }

    /// The cores that can continue, each with its clock.
    fn running(&self) -> impl Iterator<Item = (usize, u64)> {
        let running = (0..).zip(&self.cores).zip(&self.rests).filter(|(_, rest)| rest.is_none());
        running.map(|((nth, core), _)| (nth, core.clock(self.shape.width)))
    }

    /// The core whose clock is lowest among those that can continue.
    fn lowest(&self) -> Option<usize> {
        self.running().min_by_key(|(_, clock)| *clock).map(|(nth, _)| nth)
    }

    /// The lowest clock of the other cores that can continue.
    fn others(&self, than: usize) -> u64 {
        self.running().filter(|(nth, _)| *nth != than).map(|(_, clock)| clock).min().unwrap_or(u64::MAX)
    }

    /// Does one step of a core: posts an evicted line, retires, or fetches. Stops at the fetch slot `limit`, or after
    /// `instructions` instructions. Returns what the caller must do next for this core.
    fn step(&mut self, nth: usize, limit: u64, instructions: u64) -> Option<Next> {
        let core = &mut self.cores[nth];
        let is_full = core.posted.outstanding == self.shape.posted;
        if !core.evicted.is_empty() && is_full {
            return Some(Next::Waits);
        }
        if let Some(Victim { line, is_dirty }) = core.evicted.pop_front() {
            let reason = if is_dirty { Reason::WriteBack } else { Reason::CleanEviction };
            return Some(Next::Request(self.post(nth, line, reason)));
        }
        let room = core.posted.free_at.saturating_mul(self.shape.width);
        let remaining_fetches = instructions.saturating_sub(self.counts.instructions);
        if core.state.fetched.max(room) >= limit || remaining_fetches == 0 && core.next.is_some() {
            return Some(Next::Reached);
        }
        if core.state.buffer.len() == self.shape.reorder_buffer {
            if !core.state.retire(self.shape.width) {
                return Some(Next::Waits);
            }
            // Its clock has moved: another core may come first now.
            if self.cores.len() > 1 && self.lowest() != Some(nth) {
                return None;
            }
        }
        let core = &mut self.cores[nth];
        match core.next {
            Some((0, miss)) => {
                if miss.kind == Kind::Store && is_full {
                    return Some(Next::Waits);
                }
                self.read(nth);
                self.memory_instruction(nth, miss).map(Next::Request)
            }
            Some((left, miss)) => {
                let skipped = if remaining_fetches >= u64::from(left) {
                    // Where instructions are counted, no core runs ahead of another.
                    let others = if instructions == u64::MAX { u64::MAX } else { self.others(nth) };
                    let core = &mut self.cores[nth];
                    core.periods.skip(&mut core.state, left, room, limit.min(others))
                } else {
                    0
                };
                if skipped > 0 {
                    self.counts.instructions += u64::from(skipped);
                    self.cores[nth].next = Some((left - skipped, miss));
                    return None;
                }
                self.fetch_between_misses(nth, limit, remaining_fetches);
                None
            }
            None if core.state.buffer.is_empty() => {
                let end = Cycle(core.state.retired / self.shape.width);
                self.counts.ends[nth] = end;
                Some(Next::Done(end))
            }
            None => (!core.state.retire(self.shape.width)).then_some(Next::Waits),
        }
    }

    /// Fetches one of the instructions before the next miss of a core. If there is only one core, it continues with the
    /// others, as long as [`step`](Self::step) would do nothing else.
    fn fetch_between_misses(&mut self, nth: usize, limit: u64, remaining_fetches: u64) {
        let Shape { width, reorder_buffer, pipeline, .. } = self.shape;
        let is_alone = self.cores.len() == 1;
        let Core { next, state, periods, posted, .. } = &mut self.cores[nth];
        let Some((left, _)) = next else { return };
        let room = posted.free_at * width;
        let max = if is_alone { periods.rest_of_period(*left).min(remaining_fetches) } else { 1 };
        for fetched in 1..=max {
            state.fetched = (state.fetched + 1).max(room);
            state.buffer.push_back(Instruction::Done(state.fetched / width + pipeline));
            let is_full = state.buffer.len() == reorder_buffer;
            if fetched == max || state.fetched >= limit || is_full && !state.retire(width) {
                *left -= fetched as u32;
                self.counts.instructions += fetched;
                return;
            }
        }
    }

    /// Lets no core fetch anything before this cycle.
    pub fn hold(&mut self, until: Cycle) {
        for core in &mut self.cores {
            core.posted.free_at = core.posted.free_at.max(until.0);
        }
    }

    /// Answers a request: its line is there, or is written, at this cycle.
    pub fn answer(&mut self, request: &Request, at: Cycle) {
        let core = &mut self.cores[request.core];
        if request.reason != Reason::Load {
            if core.posted.outstanding == self.shape.posted {
                core.posted.free_at = core.posted.free_at.max(at.0);
            }
            core.posted.outstanding = core.posted.outstanding.saturating_sub(1);
            return;
        }
        let done = Instruction::Done(at.0 + self.shape.pipeline);
        let is_it = |instruction: &&mut Instruction| matches!(instruction, Instruction::Waits(number) if *number == request.number);
        if let Some(instruction) = core.state.buffer.iter_mut().find(is_it) {
            *instruction = done;
        }
    }

    /// Fetches the instruction that misses the first-level cache of a core, and returns its request.
    fn memory_instruction(&mut self, nth: usize, miss: Miss) -> Option<Request> {
        let cycle = self.fetch(nth);
        self.counts.misses += 1;
        let done = Instruction::Done(cycle + self.shape.pipeline);
        let access = self.cache.access(miss.line, miss.kind == Kind::Store);
        let evicts_clean_lines = self.shape.evicts_clean_lines;
        let core = &mut self.cores[nth];
        core.evicted.extend(access.victim.filter(|victim| victim.is_dirty || evicts_clean_lines));
        match (miss.kind, access.is_hit) {
            (Kind::Store, true) => core.state.buffer.push_back(done),
            (Kind::Load, true) => {
                let done = cycle + self.shape.pipeline + self.shape.cache;
                core.state.buffer.push_back(Instruction::Done(done));
            }
            (Kind::Store, false) => {
                core.state.buffer.push_back(done);
                self.counts.stores += 1;
                return Some(self.post(nth, miss.line, Reason::Store));
            }
            (Kind::Load, false) => {
                self.counts.loads += 1;
                let request = self.request(nth, miss.line, Reason::Load);
                self.cores[nth].state.buffer.push_back(Instruction::Waits(request.number));
                return Some(request);
            }
        }
        None
    }

    fn post(&mut self, nth: usize, line: Line, reason: Reason) -> Request {
        self.counts.written_back += u64::from(reason == Reason::WriteBack);
        self.cores[nth].posted.outstanding += 1;
        self.request(nth, line, reason)
    }

    fn request(&mut self, nth: usize, line: Line, reason: Reason) -> Request {
        let number = self.requests;
        self.requests += 1;
        let at = Cycle(self.cores[nth].clock(self.shape.width) / self.shape.width);
        Request { number, at, line, reason, core: nth }
    }

    /// Fetches an instruction of a core, and returns its cycle.
    fn fetch(&mut self, nth: usize) -> u64 {
        self.counts.instructions += 1;
        let core = &mut self.cores[nth];
        core.state.fetched = (core.state.fetched + 1).max(core.posted.free_at * self.shape.width);
        core.state.fetched / self.shape.width
    }
}

#[cfg(test)]
mod tests;
