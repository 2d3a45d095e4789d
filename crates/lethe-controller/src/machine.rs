//! The machine: the processor, the controller and the memory, at work on a trace.

use crate::configuration::{Configuration, ConfigurationError};
use crate::counts::{Counts, PathKind};
use crate::early_write_back::EarlyWriteBack;
use crate::memory_side::{MemorySide, Step, Want};
use crate::pace::Last;
use crate::path_timer::{PathTimer, TreeLayout};
use crate::tree::filled::{Contents, FilledTree};
use crate::tree::slots::Slots;
use lethe_core::oram::OramError;
use lethe_core::words::{BlockId, Leaf, Level};
use lethe_dram::{Counts as Work, DramError, Energy, Memory, PlainLayout, SubtreeLayout};
use lethe_processor::cache::Cache;
use lethe_processor::processor::{Counts as ProcessorCounts, Next, Processor, Reason, Request, Shape};
use lethe_processor::trace::{Kind, Miss};
use lethe_processor::units::{Cycle, Line};
use rand_chacha::ChaCha8Rng;
use rand_core::SeedableRng;
use std::collections::VecDeque;
use std::convert::Infallible;

/// The end of a run before its trace ended.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The trace asks for a line that the ORAM does not have.
    #[error("line {line} of the trace lies beyond the {lines} lines of memory: map its pages first")]
    Line {
        /// The line.
        line: u64,
        /// Lines of the memory.
        lines: u64,
    },
    /// The ORAM failed: with room in the stash it does not.
    #[error("the ORAM failed: {0}")]
    Oram(#[from] OramError<Infallible>),
    /// The memory failed.
    #[error(transparent)]
    Memory(#[from] DramError),
}

/// A path as the watcher of the memory's bus sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ShownPath {
    /// The cycle at which it begins.
    pub start: Cycle,
    /// The cycle at which it has been written.
    pub end: Cycle,
    /// The path.
    pub leaf: Leaf,
}

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// The cycle at which the last instruction retired.
    pub cycles: Cycle,
    /// The paths, by kind.
    pub counts: Counts,
    /// The processor's counts.
    pub processor: ProcessorCounts,
    /// The work of the memory.
    pub work: Work,
    /// Its energy.
    pub energy: Energy,
}

/// A machine without a program.
pub struct Machine {
    configuration: Configuration,
    memory: MemorySide,
    timer: PathTimer,
    random: ChaCha8Rng,
    last: Last,
}

impl Machine {
    /// A machine whose tree has these contents. The same seed gives the same run.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn new(
        configuration: Configuration,
        contents: Contents,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        let tree = FilledTree::draw(&configuration.oram, contents, seed)?;
        Self::over(configuration, tree, seed)
    }

    /// A machine over a tree that was drawn for its ORAM.
    ///
    /// # Errors
    /// [`ConfigurationError`].
    pub fn over(
        configuration: Configuration,
        tree: FilledTree,
        seed: u64,
    ) -> Result<Self, ConfigurationError> {
        configuration.check()?;
        let mut random = ChaCha8Rng::seed_from_u64(seed);
        let memory = MemorySide::over(&configuration.oram, tree.into_parts(), &mut random)?;
        let timer = timer(&configuration)?;
        Ok(Machine { configuration, memory, timer, random, last: Last::default() })
    }

    /// The share of the slots of each level in untrusted memory that hold a block, and the first of those levels.
    pub fn utilisation(&self) -> (Level, Vec<f64>) {
        self.memory.store.look(|slots| (slots.top(), slots.utilisation()))
    }

    /// Blocks in the stash now.
    pub fn stash_blocks(&self) -> usize {
        self.memory.oram.tree().stash_blocks()
    }

    /// Bytes of the tree, and of all that is on the trusted side.
    pub fn bytes(&self) -> usize {
        self.memory.store.look(Slots::bytes) + self.memory.oram.trusted_bytes()
    }

    /// Takes a program's misses through the machine, and lets `watch` see each path. The first `warm_up` of them only fill the
    /// last-level cache, and take no time.
    ///
    /// # Errors
    /// [`RunError`].
    pub fn run<T: Iterator<Item = Miss>>(
        &mut self,
        mut trace: T,
        warm_up: u64,
        watch: impl FnMut(ShownPath),
    ) -> Result<Outcome, RunError> {
        let Configuration { processor, cache_bytes, cache_ways, delayed_remapping, .. } = self.configuration;
        let shape = Shape { gives_back: delayed_remapping, ..processor };
        let mut cache = Cache::new(cache_bytes, cache_ways).expect("the configuration was checked");
        for Miss { line, kind, .. } in trace.by_ref().take(warm_up as usize) {
            self.check(line)?;
            cache.access(line, kind == Kind::Store);
        }
        if delayed_remapping {
            cache.lines().try_for_each(|(line, _)| self.take_out(line))?;
        }
        self.memory.counts = Counts::default();
        let begin = self.last.end;
        let early = self.configuration.early_write_backs.then(EarlyWriteBack::default);
        let processor = Processor::new(shape, cache, trace);
        Run { machine: self, processor, begin, queue: VecDeque::new(), early, watch }.finish()
    }

    fn check(&self, line: Line) -> Result<BlockId, RunError> {
        let lines = self.configuration.oram.user_blocks;
        if line.0 < lines { Ok(BlockId(line.0)) } else { Err(RunError::Line { line: line.0, lines }) }
    }

    /// Takes a line out that the cache has when a run begins, in no time.
    fn take_out(&mut self, line: Line) -> Result<(), RunError> {
        let block = self.check(line)?;
        loop {
            while self.memory.is_too_full() {
                self.memory.evict()?;
            }
            match self.memory.step(block, Want::TakeOut)? {
                Step::Answered => return Ok(()),
                Step::TooFull => {}
                Step::Path { kind, .. } => {
                    self.memory.write_back()?;
                    if kind == PathKind::Data {
                        return Ok(());
                    }
                }
            }
        }
    }
}

/// A machine at work.
struct Run<'a, T, W> {
    machine: &'a mut Machine,
    /// The processor, whose clock stands at 0 when the run begins.
    processor: Processor<T>,
    /// The cycle of the machine at which the run begins.
    begin: Cycle,
    /// Requests that were made and not answered, in their order.
    queue: VecDeque<Request>,
    early: Option<EarlyWriteBack>,
    watch: W,
}

impl<T: Iterator<Item = Miss>, W: FnMut(ShownPath)> Run<'_, T, W> {
    fn finish(mut self) -> Result<Outcome, RunError> {
        let cycles = loop {
            let Machine { configuration, last, .. } = &*self.machine;
            let (start, dummy) = (configuration.pace.next(*last), configuration.pace.dummy(*last));
            if self.machine.memory.is_too_full() {
                let step = self.machine.memory.evict()?;
                self.path(start, step, None)?;
                continue;
            }
            if let Some(end) = self.receive(dummy.unwrap_or(start))? {
                break end;
            }
            match (self.queue.front(), dummy) {
                // A request that is made later must not put the dummy off.
                (Some(request), dummy) if dummy.is_none_or(|dummy| request.at <= dummy) => {
                    self.serve(start.max(request.at))?;
                }
                (_, Some(dummy)) => self.fill(dummy)?,
                (_, None) => {
                    if let Some(end) = self.receive(Cycle(u64::MAX))? {
                        break end;
                    }
                }
            }
        };
        let (work, energy) = self.machine.timer.work(Cycle(self.begin.0 + cycles.0));
        let counts = std::mem::take(&mut self.machine.memory.counts);
        Ok(Outcome { cycles, counts, processor: self.processor.counts(), work, energy })
    }

    /// Takes the requests in that are made before a cycle, and answers those at once that need no path. Without a limit it takes
    /// one. Returns the end of the program, if it has come.
    fn receive(&mut self, limit: Cycle) -> Result<Option<Cycle>, RunError> {
        loop {
            match self.processor.advance_to(Cycle(limit.0 - self.begin.0)) {
                Next::Request(mut request) => {
                    request.at.0 += self.begin.0;
                    let (block, want) = self.wanted(&request)?;
                    if self.machine.memory.answer(block, want)? {
                        self.answer_at_once(&request, request.at);
                    } else {
                        self.queue.push_back(request);
                    }
                    if limit == Cycle(u64::MAX) {
                        return Ok(None);
                    }
                }
                Next::Waits | Next::Reached => return Ok(None),
                Next::Done(end) if self.queue.is_empty() => return Ok(Some(end)),
                Next::Done(_) => return Ok(None),
            }
        }
    }

    /// Answers a request without a path.
    fn answer_at_once(&mut self, request: &Request, at: Cycle) {
        self.answer(request, Cycle(at.0 + self.machine.configuration.hit_cycles));
    }

    fn answer(&mut self, request: &Request, at: Cycle) {
        self.processor.answer(request, Cycle(at.0 - self.begin.0));
    }

    fn wanted(&self, request: &Request) -> Result<(BlockId, Want), RunError> {
        let block = self.machine.check(request.line)?;
        let want = match (request.reason, self.machine.configuration.delayed_remapping) {
            (_, false) => Want::Access,
            (Reason::Load | Reason::Store, true) => Want::TakeOut,
            (Reason::WriteBack | Reason::GiveBack, true) => Want::PutIn,
        };
        Ok((block, want))
    }

    /// Does a step for the request that has waited longest.
    fn serve(&mut self, start: Cycle) -> Result<(), RunError> {
        let Some(request) = self.queue.front().copied() else { return Ok(()) };
        let (block, want) = self.wanted(&request)?;
        if self.machine.memory.answer(block, want)? {
            self.queue.pop_front();
            self.answer_at_once(&request, start);
            return Ok(());
        }
        match self.machine.memory.step(block, want)? {
            Step::Answered => {
                self.queue.pop_front();
                self.answer_at_once(&request, start);
                Ok(())
            }
            // A background eviction comes first.
            Step::TooFull => Ok(()),
            step => self.path(start, step, Some(request)),
        }
    }

    /// Fills the turn of a path that nothing waits for: with a step of an early write-back, or a dummy.
    fn fill(&mut self, start: Cycle) -> Result<(), RunError> {
        let step = match self.early_step(start)? {
            Some(step) => step,
            None => self.machine.memory.dummy()?,
        };
        self.path(start, step, None)
    }

    /// Does a step for the line that goes next from the cache; `None` if there is none, or it needed no path.
    fn early_step(&mut self, now: Cycle) -> Result<Option<Step>, RunError> {
        let Machine { memory, random, .. } = &mut *self.machine;
        let Some(early) = &mut self.early else { return Ok(None) };
        let Some(line) = early.line(self.processor.cache(), now, random) else { return Ok(None) };
        let step = memory.step(BlockId(line.0), Want::Access)?;
        if !matches!(step, Step::TooFull | Step::Path { kind: PathKind::PosMap(_), .. }) {
            self.processor.cache_mut().clean(line);
            early.done();
            memory.counts.early_lines += 1;
        }
        Ok(match step {
            Step::Answered | Step::TooFull => None,
            Step::Path { leaf, .. } => Some(Step::Path { leaf, kind: PathKind::Early }),
        })
    }

    /// Takes the time of a path that was read, writes it back, and answers the request that it serves.
    fn path(&mut self, start: Cycle, step: Step, request: Option<Request>) -> Result<(), RunError> {
        let Step::Path { leaf, kind } = step else { return Ok(()) };
        let Machine { memory, timer, last, .. } = &mut *self.machine;
        memory.counts.add_path(kind);
        let times = timer.path(start, leaf)?;
        if kind != PathKind::Background {
            memory.write_back()?;
        }
        *last = Last { start, end: times.written };
        (self.watch)(ShownPath { start, end: times.written, leaf });
        if let Some(request) = request.filter(|_| kind == PathKind::Data) {
            self.queue.pop_front();
            self.answer(&request, times.read);
        }
        Ok(())
    }
}

fn timer(configuration: &Configuration) -> Result<PathTimer, ConfigurationError> {
    let slots = configuration.oram.slots()?;
    let memory = Memory::new(&configuration.memory)?;
    let geometry = &configuration.memory.geometry;
    let layout = match configuration.subtree_levels {
        Some(levels) => TreeLayout::Subtrees(SubtreeLayout::new(
            &slots,
            configuration.oram.top_levels as usize,
            levels,
            geometry,
        )?),
        None => TreeLayout::Plain(PlainLayout::new(&slots, geometry)?),
    };
    Ok(PathTimer::new(memory, layout, configuration.multiplier()))
}

#[cfg(test)]
mod tests;
