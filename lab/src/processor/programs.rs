//! The programs: traces of real ones, a mix, and synthetic ones.

use super::bytes::bytes;
use super::error::ProcessorError;
use super::options::Options;
use super::settings::Setting;
use super::user_traces::UserTrace;
use super::{side_by_side, synthetic_traces, table_two};
use crate::report::{Section, Sheet};
use ameles_processor::trace::mix::Mix;
use ameles_processor::trace::pages::{Frames, Order, PAGE_LINES, PlacedMisses};
use ameles_processor::trace::synthetic::Pattern;
use ameles_processor::trace::{self, Kind, Miss, TraceError};
use ameles_processor::units::Line;
use ameles_simulator::configuration::Configuration;
use ameles_traces::{programs, short};
use std::path::PathBuf;

/// A program's misses, in places of the memory.
pub(super) struct Program {
    pub(super) name: String,
    /// The programs of the paper for which it is a substitute.
    pub(super) stands_for: String,
    pub(super) misses: Vec<Miss>,
    /// The first misses only fill the last-level cache.
    pub(super) warm_up: u64,
    /// The names of the programs of several cores.
    pub(super) cores: Vec<String>,
}

/// The programs of the mix, all with the same warm-up.
const MIX: [&str; 3] = ["xz", "picosat", "recommender"];

/// The source of a program's misses.
enum Source {
    /// A trace of the user's, and the number of misses that only warm the cache.
    File { misses: Vec<Miss>, warm_up: u64 },
    /// A program of the repository.
    Real,
    /// Several programs.
    Mix,
    /// A synthetic trace.
    Synthetic(Pattern),
}

/// A selected program: its name, the paper's programs for which it is a substitute, and the source of its misses.
struct SelectedProgram {
    name: String,
    stands_for: String,
    source: Source,
}

/// Misses in places of the memory.
type BoxedMisses<'a> = Box<dyn Iterator<Item = Result<Miss, TraceError>> + 'a>;

/// Returns the selected programs, or all, in a memory for a tree of at most `max_levels` levels.
///
/// # Errors
/// [`ProcessorError`]; [`ProcessorError::Room`] lists all programs that find no room, and the choices that have room.
pub(super) fn all(options: &Options, max_levels: u32) -> Result<Vec<Program>, ProcessorError> {
    let lines = options.lines();
    let (mut all, mut too_large, mut needed) = (Vec::new(), Vec::new(), 0);
    for group in groups(options)? {
        match group.program(options, lines) {
            Err(ProcessorError::Trace { source: TraceError::Full(_), .. }) => {
                needed = group.lines(options)?.max(needed);
                too_large.push(group.name(options));
            }
            program => all.push(program?),
        }
    }
    if too_large.is_empty() {
        return Ok(all);
    }
    let levels = (options.levels..=max_levels).find(|levels| 2 << levels >= needed);
    let advice = match levels {
        _ if options.settings.iter().any(|setting| setting.lines().is_some()) => {
            format!("choose lines={needed} or more, or fewer --misses")
        }
        Some(levels) => format!("choose --levels {levels} or more, or fewer --misses"),
        None => format!("choose fewer --misses, for a tree of {max_levels} levels has no room either"),
    };
    Err(ProcessorError::Room { programs: too_large.join(", "), lines, advice })
}

/// The programs of the paper for which a program of the repository is a substitute, with spaces between.
pub(super) fn stands_for(name: &str) -> String {
    let tables = programs::tables().expect("the table of the repository is sound");
    let program = tables.programs.iter().find(|program| program.name == name);
    program.map_or_else(String::new, |program| program.stands_for.join(" "))
}

/// Programs that run side by side, on cores that take them in turn; or one of them on one core.
struct Group(Vec<SelectedProgram>);

/// The groups that run one after another: on several cores, all traces of the user's are one group.
fn groups(options: &Options) -> Result<Vec<Group>, ProcessorError> {
    let selected = selected_programs(options)?;
    if options.traces.core_count() > 1 && !options.traces.paths.is_empty() {
        return Ok(vec![Group(selected)]);
    }
    let mut groups: Vec<Group> = Vec::new();
    for program in selected {
        if groups.iter().all(|group| group.0[0].name != program.name) {
            groups.push(Group(vec![program]));
        }
    }
    Ok(groups)
}

impl Group {
    /// The names of its programs, and the number of copies if there are several.
    fn name(&self, options: &Options) -> String {
        let names = self.0.iter().map(|program| program.name.as_str()).collect::<Vec<_>>().join("+");
        match options.traces.core_count() / self.0.len() {
            0 | 1 => names,
            copies => format!("{names} x{copies}"),
        }
    }

    /// Reads its programs into a memory of `lines` lines: on several cores, each into its core's part.
    fn program(&self, options: &Options, lines: u64) -> Result<Program, ProcessorError> {
        let count = options.traces.core_count();
        if count == 1 {
            return self.0[0].program(options, lines);
        }
        let part = options.traces.part_lines(lines);
        let mut programs = Vec::new();
        for (core, program) in (0..count as u64).zip(self.0.iter().cycle()) {
            // Copies of one program have frames of their own.
            let seed = options.seed().wrapping_add(core);
            let of_core = Options { seeds: seed..seed.saturating_add(1), ..options.clone() };
            let mut program = program.program(&of_core, part)?;
            program.misses.iter_mut().for_each(|miss| miss.line = Line(miss.line.0 + core * part));
            programs.push(program);
        }
        let stands_for = if self.0.len() == 1 { self.0[0].stands_for.clone() } else { String::new() };
        let cores = programs.iter().map(|program| program.name.clone()).collect();
        let traces = programs.into_iter().map(|program| (program.warm_up as usize, program.misses)).collect();
        let (warm_up, misses) = side_by_side::merge(traces);
        Ok(Program { name: self.name(options), stands_for, misses, warm_up: warm_up as u64, cores })
    }

    /// The lines of the smallest memory that has room for the group.
    fn lines(&self, options: &Options) -> Result<u64, ProcessorError> {
        let lines = self.0.iter().map(|program| program.lines(options)).collect::<Result<Vec<_>, _>>()?;
        Ok(lines.into_iter().max().unwrap_or(0) * options.traces.core_count() as u64)
    }
}

/// The selected programs, or all.
fn selected_programs(options: &Options) -> Result<Vec<SelectedProgram>, ProcessorError> {
    if !options.traces.paths.is_empty() {
        let read = |path: &PathBuf| {
            let UserTrace { name, misses, warm_up } = UserTrace::read(options, path)?;
            let source = Source::File { misses, warm_up };
            Ok(SelectedProgram { name, stands_for: String::new(), source })
        };
        return options.traces.paths.iter().map(read).collect();
    }
    let tables = programs::tables().expect("the table of the repository is sound");
    let real = tables.programs.iter().map(|program| SelectedProgram {
        name: program.name.clone(),
        stands_for: program.stands_for.join(" "),
        source: Source::Real,
    });
    let other = |name: &str, stands_for: &str, source| SelectedProgram {
        name: name.to_owned(),
        stands_for: stands_for.to_owned(),
        source,
    };
    let others = [
        other("mix", "mix", Source::Mix),
        other("scan", "", Source::Synthetic(Pattern::Scan)),
        other("rand", "", Source::Synthetic(Pattern::Random)),
        other("zipf", "", Source::Synthetic(Pattern::Zipf { exponent: 1.0 })),
    ];
    let mut all: Vec<SelectedProgram> = real.chain(others).collect();
    let is_known = |name: &&String| all.iter().any(|known| known.name == **name);
    if let Some(name) = options.programs.iter().find(|name| !is_known(name)) {
        let known = all.iter().map(|known| known.name.as_str()).collect::<Vec<_>>().join(", ");
        return Err(ProcessorError::Unknown { what: "program", name: name.clone(), known });
    }
    all.retain(|known| options.programs.is_empty() || options.programs.contains(&known.name));
    Ok(all)
}

impl SelectedProgram {
    /// Returns the number of misses that only warm the cache, and the misses placed in a memory of `lines` lines.
    fn placed_misses(
        &self,
        options: &Options,
        lines: u64,
        order: Order,
    ) -> Result<(u64, BoxedMisses<'_>), ProcessorError> {
        Ok(match &self.source {
            Source::File { misses, warm_up } => {
                (*warm_up, Box::new(PlacedMisses::new(misses.iter().copied().map(Ok), lines, order)))
            }
            Source::Real => {
                let (warm_up, trace) = open_trace(&self.name)?;
                (warm_up, Box::new(PlacedMisses::new(trace, lines, order)))
            }
            Source::Mix => {
                let opened = MIX.map(open_trace).into_iter().collect::<Result<Vec<_>, _>>()?;
                let warm_up = opened.iter().map(|(warm_up, _)| warm_up).sum();
                let traces = opened.into_iter().map(|(_, trace)| trace);
                (warm_up, Box::new(Mix::new(traces, Frames::new(lines, order))))
            }
            Source::Synthetic(pattern) => {
                let (warm_up, trace) = synthetic_traces::misses(options, *pattern, lines);
                (warm_up, Box::new(trace.map(Ok)))
            }
        })
    }

    /// Reads the program into a memory of `lines` lines.
    fn program(&self, options: &Options, lines: u64) -> Result<Program, ProcessorError> {
        let (warm_up, placed) = self.placed_misses(options, lines, options.frames.order(options.seed()))?;
        let max = options.misses.saturating_add(warm_up as usize);
        let misses = placed.take(max).collect::<Result<_, _>>();
        let misses = misses.map_err(|source| ProcessorError::Trace { program: self.name.clone(), source })?;
        let (name, stands_for) = (self.name.clone(), self.stands_for.clone());
        Ok(Program { name, stands_for, misses, warm_up, cores: Vec::new() })
    }

    /// Lines of the least memory that has room for it. Synthetic traces fit into any.
    fn lines(&self, options: &Options) -> Result<u64, ProcessorError> {
        let (warm_up, placed) = self.placed_misses(options, u64::MAX, Order::FirstTouch)?;
        let max = options.misses.saturating_add(warm_up as usize);
        let lines = placed.take(max).flatten().map(|miss| (miss.line.0 | (PAGE_LINES - 1)) + 1);
        Ok(lines.max().unwrap_or(0))
    }
}

type OpenTrace = (u64, trace::packed::Packed<&'static [u8]>);

fn open_trace(name: &str) -> Result<OpenTrace, ProcessorError> {
    let failed = |source| ProcessorError::Trace { program: name.to_owned(), source };
    let trace = short::open(name).expect("every program of the table has a trace").map_err(failed)?;
    Ok((trace.warm_up(), trace))
}

/// Makes the report's section about the programs, with their misses in the last-level cache of the settings.
pub(super) fn section(options: &Options, programs: &[Program]) -> Section {
    let machine = Setting::apply_all(&options.settings, Configuration::baseline(options.levels));
    let lines = match machine.block_lines {
        1 => String::new(),
        lines => format!(" with lines of {}", bytes(64 * lines)),
    };
    let cache = bytes(machine.cache_bytes);
    let title =
        format!("Programs, and what misses a last-level cache of {cache}{lines} in a thousand instructions");
    let mut section = Section::new("programs", title);
    let mut sheet = Sheet::new(
        "programs",
        "",
        ["program", "replaces", "misses of L1", "instructions", "load MPKI", "store MPKI", "written back"],
    );
    let mut rates = Vec::new();
    for program in programs {
        let MissCounts { instructions, loads, stores, written_back } = count_misses(&machine, program);
        let kilo = |count: u64| format!("{:.2}", 1000.0 * count as f64 / instructions.max(1) as f64);
        rates.push((program.stands_for.as_str(), [kilo(loads), kilo(stores)]));
        let row = [
            program.name.clone(),
            program.stands_for.clone(),
            (program.misses.len() as u64).saturating_sub(program.warm_up).to_string(),
            instructions.to_string(),
            kilo(loads),
            kilo(stores),
            kilo(written_back),
        ];
        sheet.rows.push(row.into());
    }
    section.add_table(sheet);
    if options.traces.core_count() == 1 {
        table_two::show(&mut section, programs.iter().map(|program| program.name.as_str()).zip(rates));
    }
    section
}

/// Instructions, and the lines that miss the last-level cache in them or leave it dirty.
#[derive(Default)]
struct MissCounts {
    instructions: u64,
    loads: u64,
    stores: u64,
    written_back: u64,
}

/// Takes a program through a last-level cache, whose lines are the blocks of the ORAM.
fn count_misses(machine: &Configuration, program: &Program) -> MissCounts {
    let mut cache = machine.cache().expect("the configurations were checked");
    let mut counts = MissCounts::default();
    for (nth, miss) in (0..).zip(&program.misses) {
        let access = cache.access(Line(miss.line.0 / machine.block_lines), miss.kind == Kind::Store);
        if nth < program.warm_up {
            continue;
        }
        counts.instructions += u64::from(miss.instructions) + 1;
        counts.written_back += u64::from(access.victim.is_some_and(|victim| victim.is_dirty));
        match (access.is_hit, miss.kind) {
            (true, _) => {}
            (false, Kind::Load) => counts.loads += 1,
            (false, Kind::Store) => counts.stores += 1,
        }
    }
    counts
}
