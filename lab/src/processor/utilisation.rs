//! Figures 3, 4 and 13: the share of the slots of each level that hold a block.
//!
//! The paper takes four billion paths through a tree of 25 levels. Here its states after random accesses are
//! sampled. Real programs run in a tree that is smaller by seven levels, where this number of paths per block takes
//! seconds.

use super::error::ProcessorError;
use super::options::{Options, Part};
use super::preset::Start;
use super::programs::{self, Program};
use super::published;
use super::schemes::configuration_error;
use super::trace_options::TraceOptions;
use crate::bench::Progress;
use crate::line_chart::Lines;
use crate::report::{Picture, Section, Sheet};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_core::types::Level;
use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::machine::Machine;
use ameles_simulator::pace::Pace;
use ameles_simulator::tree::filled::FilledTree;

/// Stand-ins for gcc and lbm, and random accesses: the programs of Figure 4.
const PROGRAMS: [&str; 3] = ["cc1", "lbm", "rand"];
/// The maximum of levels of the tree in which they run.
const RUN_LEVELS: u32 = 18;

/// A figure: its name in names of files, its title, and its scheme.
const FIGURES: [(&str, &str, Scheme); 2] = [
    ("figure-3-4", "Figures 3 and 4: Baseline", Scheme::Baseline),
    ("figure-13", "Figure 13: IR-Alloc", Scheme::IrAlloc),
];

/// A state of a tree: its name, and the share of each level.
type State = (String, Vec<f64>);

/// The programs, in the memory of the tree in which they run.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn programs(options: &Options) -> Result<Vec<Program>, ProcessorError> {
    let run_options = Options {
        levels: options.levels.min(RUN_LEVELS),
        traces: TraceOptions::default(),
        programs: PROGRAMS.map(str::to_owned).into(),
        settings: Vec::new(),
        ..options.clone()
    };
    programs::all(&run_options, RUN_LEVELS)
}

/// Makes the report's section with all three figures.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn section(
    options: &Options,
    programs: &[Program],
    progress: &dyn Progress,
) -> Result<Section, ProcessorError> {
    let mut section = Section::new(
        "utilisation",
        "Figures 3, 4 and 13: slots of each level that hold a block, in per cent",
    );
    let run_levels = options.levels.min(RUN_LEVELS);
    for (nth, (name, title, scheme)) in (0..).zip(FIGURES) {
        progress.on_step("slots of each level", nth, FIGURES.len() as u64);
        let drawn_states = drawn_states(options, scheme, name)?;
        let title_of = |levels: u32, what: &str| format!("{title}, {levels} levels, {what}");
        show(&mut section, &format!("{name}-drawn"), title_of(options.levels, "as drawn"), &drawn_states);
        let run = run_states(options, run_levels, scheme, name, programs)?;
        show(&mut section, &format!("{name}-run"), title_of(run_levels, "as it came"), &run);
    }
    section.add_text(format!(
        "The paper prints of Baseline, on levels 10 to 21: {}; on the last level: {}; on level 3: {}. Of IR-Alloc: {}. In a tree of \
         {run_levels} levels the same distance from the leaves counts.",
        published::MIDDLE_LEVELS,
        published::LAST_LEVEL,
        published::LEVEL_3,
        published::WITH_IR_ALLOC
    ));
    Ok(section)
}

/// A tree all of whose levels are in memory, so that each is counted. The levels of small buckets keep their distance
/// from the leaves.
fn configuration(levels: u32, scheme: Scheme) -> Configuration {
    let mut configuration = Configuration::baseline(levels);
    configuration.oram.top_levels = (levels + 10).saturating_sub(25);
    configuration = configuration.with_scheme(scheme);
    configuration.oram.top_levels = 0;
    configuration.oram.hits = TrustedHits::ReadThePath;
    configuration.pace = Pace::Free;
    configuration
}

/// Draws the states in which a tree can start.
fn drawn_states(options: &Options, scheme: Scheme, name: &str) -> Result<Vec<State>, ProcessorError> {
    let configuration = configuration(options.levels, scheme);
    let state = |start: Start| {
        let tree = FilledTree::draw(&configuration.oram, start.contents(), options.seed())
            .map_err(|source| configuration_error(name, &configuration, source))?;
        Ok((state_name(start).to_owned(), tree.utilisation().1))
    };
    [Start::Packed, Start::Filled, Start::Settled].into_iter().map(state).collect()
}

/// The name of a state in which a tree starts.
const fn state_name(start: Start) -> &'static str {
    match start {
        Start::Packed => "packed towards the leaves",
        Start::Filled | Start::Own => "each line accessed once",
        Start::Settled => "random accesses for long",
    }
}

/// The states after programs that take as many misses as the tree has lines. They begin packed if the options do, and
/// otherwise with each line accessed once, as the paper does.
fn run_states(
    options: &Options,
    levels: u32,
    scheme: Scheme,
    name: &str,
    programs: &[Program],
) -> Result<Vec<State>, ProcessorError> {
    let configuration = configuration(levels, scheme);
    let start =
        if options.start_of(Part::Utilisation) == Start::Packed { Start::Packed } else { Start::Filled };
    let tree = FilledTree::draw(&configuration.oram, start.contents(), options.seed())
        .map_err(|source| configuration_error(name, &configuration, source))?;
    let misses = options.misses.saturating_mul(5).min(configuration.oram.user_blocks as usize);
    let mut states = vec![(state_name(start).to_owned(), tree.utilisation().1)];
    let mut copy = tree.copy();
    for program in programs {
        let mut machine = Machine::over(configuration.clone(), copy, options.seed())
            .map_err(|source| configuration_error(name, &configuration, source))?;
        let trace = program.misses.iter().copied().cycle().take(misses);
        machine.run(trace, 0, |_| ()).map_err(|source| ProcessorError::Run {
            program: program.name.clone(),
            scheme: name.to_owned(),
            source: Box::new(source),
        })?;
        states.push((format!("{} for {misses} misses", program.name), machine.utilisation().1));
        copy = machine.into_tree();
        copy.reset(&tree);
    }
    Ok(states)
}

/// Shows a table of states by level, with the mean of the middle levels, and a picture.
fn show(section: &mut Section, name: &str, title: String, states: &[State]) {
    let levels = states[0].1.len();
    let header = ["level"].into_iter().chain(states.iter().map(|(name, _)| name.as_str()));
    let mut sheet = Sheet::new(name, &title, header);
    let mut line = |name: String, share: &dyn Fn(&[f64]) -> f64| {
        let cells = states.iter().map(|(_, shares)| format!("{:.1}", 100.0 * share(shares)));
        sheet.rows.push([name].into_iter().chain(cells).collect());
    };
    for level in 0..levels {
        line(Level(level as u32).0.to_string(), &|shares| shares[level]);
    }
    // Levels 10 to 21 of 25.
    let middle = levels.saturating_sub(15)..levels.saturating_sub(3);
    let words = format!("mean of levels {} to {}", middle.start, middle.end.max(1) - 1);
    line(words, &|shares| shares[middle.clone()].iter().sum::<f64>() / middle.len().max(1) as f64);
    section.add_table(sheet);
    let lines = Lines {
        title,
        what: "slots that hold a block".to_owned(),
        across: "level, the root's first".to_owned(),
        first: 0,
        lines: states.to_vec(),
    };
    section.add_picture(Picture { name: name.to_owned(), svg: lines.svg() });
}
