//! The programs: traces of real ones, a mix, and synthetic ones.

use super::error::ProcessorError;
use super::options::Options;
use crate::report::{Section, Sheet};
use lethe_processor::cache::Cache;
use lethe_processor::trace::mix::Mix;
use lethe_processor::trace::pages::{Frames, Order, Placed};
use lethe_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use lethe_processor::trace::{self, Kind, Miss, TraceError};
use lethe_traces::{programs, short};

/// A program's misses, in places of the memory.
pub(super) struct Program {
    pub(super) name: String,
    /// The programs of the paper that it stands in for.
    pub(super) stands_for: String,
    pub(super) misses: Vec<Miss>,
    /// The first misses only fill the last-level cache.
    pub(super) warm_up: u64,
}

/// Programs that run side by side in the mix: of one length of warm-up.
const MIX: [&str; 3] = ["xz", "picosat", "recommender"];

/// Misses of a synthetic trace.
const SYNTHETIC: usize = 40_000;

/// The programs that were asked for, or all.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn all(options: &Options) -> Result<Vec<Program>, ProcessorError> {
    let lines = options.lines();
    if let Some(path) = &options.trace {
        let name =
            path.file_stem().map_or_else(|| "trace".into(), |stem| stem.to_string_lossy().into_owned());
        let trace = trace::open(path)?;
        let warm_up = trace.warm_up();
        let most = options.misses.saturating_add(warm_up as usize);
        let misses = trace.take(most).collect::<Result<Vec<Miss>, _>>()?;
        let placed = Placed::new(misses.into_iter().map(Ok), lines, Order::Random { seed: options.seed });
        return Ok(vec![collected(options, name, String::new(), warm_up, placed)?]);
    }
    let tables = programs::tables().expect("the table of the repository is sound");
    let names: Vec<&str> = short::names().chain(["mix", "scan", "rand", "zipf"]).collect();
    for asked in &options.programs {
        if !names.contains(&asked.as_str()) {
            let (what, name, known) = ("program", asked.clone(), names.join(", "));
            return Err(ProcessorError::Unknown { what, name, known });
        }
    }
    let is_asked =
        |name: &str| options.programs.is_empty() || options.programs.iter().any(|asked| asked == name);
    let mut all = Vec::new();
    for program in tables.programs.iter().filter(|program| is_asked(&program.name)) {
        let (warm_up, trace) = opened(&program.name)?;
        let placed = Placed::new(trace, lines, Order::Random { seed: options.seed });
        let stands_for = program.stands_for.join(" ");
        all.push(collected(options, program.name.clone(), stands_for, warm_up, placed)?);
    }
    if is_asked("mix") {
        let opened = MIX.map(opened).into_iter().collect::<Result<Vec<_>, _>>()?;
        let warm_up = opened.iter().map(|(warm_up, _)| warm_up).sum();
        let frames = Frames::new(lines, Order::Random { seed: options.seed });
        let mix = Mix::new(opened.into_iter().map(|(_, trace)| trace), frames);
        all.push(collected(options, "mix".into(), "mix".into(), warm_up, mix)?);
    }
    for (name, pattern) in
        [("scan", Pattern::Scan), ("rand", Pattern::Random), ("zipf", Pattern::Zipf { exponent: 1.0 })]
    {
        if is_asked(name) {
            let shape = Shape { pattern, lines, stores: 0.5, instructions: 40, seed: options.seed };
            let trace = Synthetic::new(shape).expect("a sound shape").take(SYNTHETIC).map(Ok);
            all.push(collected(options, name.into(), String::new(), 0, trace)?);
        }
    }
    Ok(all)
}

type Opened = (u64, trace::packed::Packed<&'static [u8]>);

fn opened(name: &str) -> Result<Opened, ProcessorError> {
    let failed = |source| ProcessorError::Trace { program: name.to_owned(), source };
    let trace = short::open(name).expect("every program of the table has a trace").map_err(failed)?;
    Ok((trace.warm_up(), trace))
}

fn collected(
    options: &Options,
    name: String,
    stands_for: String,
    warm_up: u64,
    trace: impl Iterator<Item = Result<Miss, TraceError>>,
) -> Result<Program, ProcessorError> {
    let most = options.misses.saturating_add(warm_up as usize);
    match trace.take(most).collect() {
        Ok(misses) => Ok(Program { name, stands_for, misses, warm_up }),
        Err(source) => Err(ProcessorError::Trace { program: name, source }),
    }
}

/// The programs with their misses of the last-level cache.
pub(super) fn section(programs: &[Program]) -> Section {
    let mut section = Section::new(
        "programs",
        "Programs, and what misses a last-level cache of 2 MiB in a thousand instructions",
    );
    let mut sheet = Sheet::new(
        "programs",
        "",
        ["program", "stands for", "misses of L1", "instructions", "load MPKI", "store MPKI", "written back"],
    );
    for program in programs {
        let mut cache = Cache::new(2 << 20, 8).expect("sets by a power of two");
        let (mut instructions, mut loads, mut stores, mut written) = (0u64, 0u64, 0u64, 0u64);
        for (nth, miss) in (0..).zip(&program.misses) {
            let access = cache.access(miss.line, miss.kind == Kind::Store);
            if nth < program.warm_up {
                continue;
            }
            instructions += u64::from(miss.instructions) + 1;
            written += u64::from(access.victim.is_some_and(|victim| victim.is_dirty));
            match (access.is_hit, miss.kind) {
                (true, _) => {}
                (false, Kind::Load) => loads += 1,
                (false, Kind::Store) => stores += 1,
            }
        }
        let kilo = |count: u64| format!("{:.2}", 1000.0 * count as f64 / instructions.max(1) as f64);
        let row = [
            program.name.clone(),
            program.stands_for.clone(),
            (program.misses.len() as u64 - program.warm_up.min(program.misses.len() as u64)).to_string(),
            instructions.to_string(),
            kilo(loads),
            kilo(stores),
            kilo(written),
        ];
        sheet.rows.push(row.into());
    }
    section.show(sheet);
    section
}
