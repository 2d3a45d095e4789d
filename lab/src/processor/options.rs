//! The options of the processor lab.

use super::error::ProcessorError;
use super::preset::{FrameOrder, Preset, Start};
use super::settings::Setting;
use super::trace_options::TraceOptions;
use ameles_dram::{DramError, Specification};
use ameles_simulator::configuration::Configuration;
use ameles_simulator::pace::Pace;
use std::fmt::{self, Display, Formatter};
use std::ops::{Range, RangeInclusive};

/// Heights of trees.
pub(super) const LEVELS: RangeInclusive<u32> = 11..=26;

/// The levels in memory of a tree that is lower than the authors', which has 24 levels, ten of them on chip. So paths
/// are as long as theirs, and buckets keep their distance from the leaves. One level at least is on chip.
const LEVELS_IN_MEMORY: u32 = 14;

/// The maximum clock of a memory in MHz: that of the processor.
const MAX_MHZ: u32 = 3200;
/// The maximum number of channels.
const MAX_CHANNELS: u32 = 64;

/// A part of the report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// Programs by schemes: Figures 2, 6, 10 to 12, 14, 15 and the energy.
    Figures,
    /// The filling of each level: Figures 3, 4 and 13.
    Utilisation,
    /// Sizes of buckets, searched for trees of several heights: Figure 16.
    Scaling,
    /// The best oblivious controllers within budgets of bytes on chip.
    Budgets,
    /// The speed from the start of the tree on.
    OverTime,
    /// The effect of page frames and of the ways of the PLB on PosMap paths.
    Plb,
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Part::Figures => "figures",
            Part::Utilisation => "utilisation",
            Part::Scaling => "scaling",
            Part::Budgets => "budgets",
            Part::OverTime => "over-time",
            Part::Plb => "plb",
        })
    }
}

/// The options of a run of the lab.
#[derive(Clone, Debug)]
pub struct Options {
    /// The set of choices that the figures are named for.
    pub preset: Preset,
    /// The parts of the report; if it is empty, those that take minutes: the figures, and the filling unless anything
    /// but the tree was chosen.
    pub parts: Vec<Part>,
    /// The number of levels of the tree, the leaves' included: 11 to 26.
    pub levels: u32,
    /// The memory, in place of IR-ORAM's.
    pub memory: Option<Specification>,
    /// The number of channels of the memory, if not those of its description.
    pub channels: Option<u32>,
    /// The places of a program's pages in the memory.
    pub frames: FrameOrder,
    /// The state of the tree before the first access, if it is chosen.
    pub start: Option<Start>,
    /// Traces of the user's, in place of the lab's.
    pub traces: TraceOptions,
    /// Names of programs; all if it is empty.
    pub programs: Vec<String>,
    /// Names of schemes; those of the figures if it is empty.
    pub schemes: Vec<String>,
    /// Changes of every scheme's configuration.
    pub settings: Vec<Setting>,
    /// The rates of paths to run with.
    pub paces: Vec<Pace>,
    /// The maximum number of misses of a trace, without its warm-up.
    pub misses: usize,
    /// The seeds of all that is drawn: everything runs with one after the other. There is at least one.
    pub seeds: Range<u64>,
    /// The number of parallel runs: each takes the memory of a tree.
    pub threads: usize,
}

impl Options {
    /// A set of choices, all programs, the first 100,000 misses of each, and three seeds.
    pub fn of(preset: Preset) -> Self {
        let (levels, channels, frames) = match preset {
            Preset::Authors => (24, Some(1), FrameOrder::Virtual),
            Preset::Paper => (25, None, FrameOrder::Virtual),
            Preset::Machine => (25, None, FrameOrder::Random),
        };
        let paces = match preset {
            Preset::Authors => vec![Pace::Free, Pace::Fetches(1000)],
            Preset::Paper => vec![Pace::FromEnd(1000), Pace::Free],
            Preset::Machine => vec![Pace::FromEnd(1000), Pace::Free],
        };
        Options {
            preset,
            parts: Vec::new(),
            levels,
            memory: None,
            channels,
            frames,
            start: None,
            traces: TraceOptions::default(),
            programs: Vec::new(),
            schemes: Vec::new(),
            settings: Vec::new(),
            paces,
            misses: 100_000,
            seeds: 1..4,
            threads: std::thread::available_parallelism().map_or(1, usize::from).min(4),
        }
    }

    /// The options of a machine.
    pub fn standard() -> Self {
        Self::of(Preset::Machine)
    }

    /// The smallest tree that has room for every program, and the first misses of each: the figures are rough.
    pub fn quick(preset: Preset) -> Self {
        let standard = Self::of(preset);
        Options { levels: 20, misses: 5000, seeds: 1..2, ..standard }
    }

    /// The options with each seed.
    pub(super) fn by_seed(&self) -> impl Iterator<Item = Options> {
        self.seeds.clone().map(|seed| Options { seeds: seed..seed + 1, ..self.clone() })
    }

    /// The first seed.
    pub(super) fn seed(&self) -> u64 {
        self.seeds.start
    }

    /// The state in which the tree of a part starts: that of the machine, if none was chosen. The speed over time
    /// begins packed.
    pub fn start_of(&self, part: Part) -> Start {
        let of_part = if part == Part::OverTime { Start::Packed } else { self.preset.start() };
        self.start.unwrap_or(of_part)
    }

    /// Lines of the user's memory: half of the tree's slots, unless they were set.
    pub(super) fn lines(&self) -> u64 {
        let set = self.settings.iter().rev().find_map(Setting::lines);
        set.unwrap_or(2 << self.levels)
    }

    /// Baseline in the memory of the options, for a tree of that many levels.
    pub(super) fn baseline(&self, levels: u32) -> Configuration {
        let mut baseline = Configuration::baseline(levels);
        let oram = &mut baseline.oram;
        oram.top_levels = oram.top_levels.min(levels.saturating_sub(LEVELS_IN_MEMORY)).max(1);
        if let Some(memory) = &self.memory {
            baseline.memory = memory.clone().with_super_rows();
        }
        if let Some(channels) = self.channels {
            baseline.memory.geometry.channels = channels;
        }
        baseline.with_fitting_subtrees()
    }

    /// Checks the height of the tree, and the memory.
    ///
    /// # Errors
    /// [`ProcessorError::Levels`], [`ProcessorError::SearchLevels`], [`ProcessorError::Memory`].
    pub(super) fn check(&self) -> Result<(), ProcessorError> {
        if !LEVELS.contains(&self.levels) {
            return Err(ProcessorError::Levels(self.levels));
        }
        if self.parts.contains(&Part::Scaling) && self.levels == *LEVELS.start() {
            return Err(ProcessorError::SearchLevels(self.levels));
        }
        let memory = self.baseline(self.levels).memory;
        let impossible = |why: String| Err(DramError::Invalid(why).into());
        if memory.clock.mhz > MAX_MHZ {
            return impossible(format!(
                "clock.mhz is {}: choose 1 to {MAX_MHZ}, the processor's clock",
                memory.clock.mhz
            ));
        }
        if memory.geometry.channels > MAX_CHANNELS {
            return impossible(format!(
                "number of channels is {}: choose 1 to {MAX_CHANNELS}",
                memory.geometry.channels
            ));
        }
        self.traces.check(self.lines())?;
        Ok(memory.check()?)
    }

    /// These options with each part, program, scheme and rate once: a repeated name counts once.
    pub fn without_duplicates(mut self) -> Self {
        keep_first(&mut self.parts);
        keep_first(&mut self.programs);
        keep_first(&mut self.schemes);
        keep_first(&mut self.paces);
        self
    }

    /// The parts to run.
    pub fn parts(&self) -> Vec<Part> {
        let chosen = [
            self.traces.is_chosen(),
            !self.programs.is_empty(),
            !self.schemes.is_empty(),
            !self.settings.is_empty(),
        ];
        match (self.parts.is_empty(), chosen.contains(&true)) {
            (false, _) => self.parts.clone(),
            (true, true) => vec![Part::Figures],
            (true, false) => vec![Part::Figures, Part::Utilisation],
        }
    }

    /// Changes every configuration by `KEY=VALUE`.
    ///
    /// # Errors
    /// A sentence that says what is wrong with it.
    pub fn set(&mut self, given: &str) -> Result<(), String> {
        self.settings.push(given.parse()?);
        Ok(())
    }
}

/// Leaves the first of several that are equal, in their order.
fn keep_first<T: PartialEq>(all: &mut Vec<T>) {
    for one in std::mem::take(all) {
        if !all.contains(&one) {
            all.push(one);
        }
    }
}
