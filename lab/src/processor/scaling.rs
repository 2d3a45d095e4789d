//! Figure 16: sizes of buckets searched for trees of three heights, and what they gain on random accesses.

use super::bytes::bytes;
use super::error::ProcessorError;
use super::options::Options;
use super::schemes::{configuration_error, pace_name};
use super::settings::Setting;
use crate::bench::Progress;
use crate::report::{Section, Sheet};
use ameles_processor::trace::Miss;
use ameles_processor::trace::synthetic::{Pattern, Shape, Synthetic};
use ameles_simulator::allocation::{Limits, SearchError, TriedSizes, search};
use ameles_simulator::configuration::Configuration;
use ameles_simulator::configuration_error::ConfigurationError;
use ameles_simulator::machine::Machine;
use ameles_simulator::oram_configuration::OramConfiguration;
use ameles_simulator::tree::filled::{Contents, FilledTree};
use ameles_simulator::tree::steady_state::History;

/// The number of random traces over which the gain is averaged, as in the paper.
const TRACES: u64 = 13;
/// The maximum number of misses of each trace.
const MISSES: usize = 10_000;

/// Searches the sizes for the selected tree and for those one level lower and higher, and runs random traces over
/// them and over Baseline. It shows each try.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn section(options: &Options, progress: &dyn Progress) -> Result<Section, ProcessorError> {
    let mut section =
        Section::new("scaling", "Figure 16: IR-Alloc in trees of several heights, on random accesses");
    let header = [
        "levels",
        "user's data",
        "sizes found",
        "blocks a path",
        "space lost, %",
        "background evictions, %",
        "speed",
        "deviation",
    ];
    let mut gains = Sheet::new(
        "figure-16",
        "Speed over Baseline; the paper's bars have no numbers, and a deviation of 0.0001",
        header,
    );
    let mut tries = Sheet::new(
        "allocation",
        "Sizes that were tried",
        ["levels", "sizes", "blocks a path", "space lost, %", "background evictions, %", "cycles", "allowed"],
    );
    let baselines = baselines(options)?;
    for (nth, base) in (0..).zip(&baselines) {
        let (levels, lines) = (base.oram.levels, base.oram.user_blocks);
        progress.on_step("heights of the tree", nth, baselines.len() as u64);
        let failed = |source| failed(base, source);
        let misses = options.misses.min(MISSES);
        let mut on_try = |tried: &TriedSizes| {
            progress.on_step(&format!("sizes for {levels} levels"), nth, baselines.len() as u64);
            tries.rows.push(try_row(levels, tried));
        };
        let found = search(
            base,
            Limits::IR_ORAM,
            options.seed(),
            || random(lines, misses, options.seed()),
            &mut on_try,
        )
        .map_err(failed)?;
        let mut small = base.clone();
        small.oram.sizes = found.sizes.ranges();
        let one = cycles(base, options.seed(), misses).map_err(failed)?;
        let other = cycles(&small, options.seed(), misses).map_err(failed)?;
        let speeds: Vec<f64> =
            one.iter().zip(&other).map(|(one, other)| *one as f64 / *other as f64).collect();
        let mean = speeds.iter().sum::<f64>() / speeds.len() as f64;
        let variance = speeds.iter().map(|speed| (speed - mean).powi(2)).sum::<f64>() / speeds.len() as f64;
        gains.rows.push(vec![
            levels.to_string(),
            bytes(base.oram.user_blocks << 6),
            sizes_text(&found),
            found.path_blocks.to_string(),
            format!("{:.2}", 100.0 * found.space_loss),
            format!("{:.1}", 100.0 * found.evictions),
            format!("{mean:.3}"),
            format!("{:.4}", variance.sqrt()),
        ]);
    }
    section.add_table(gains);
    section.add_table(tries);
    section.add_text(format!("Paths {}; {TRACES} random traces.", pace_name(options.paces[0])));
    Ok(section)
}

/// The trees, each checked before the first is searched.
fn baselines(options: &Options) -> Result<Vec<Configuration>, ProcessorError> {
    let heights = options.levels - 1..=(options.levels + 1).min(26);
    let base = |levels| {
        let mut base = Machine::with_room(Setting::apply_all(&options.settings, options.baseline(levels)));
        base.pace = options.paces[0];
        base.oram.sizes.clear();
        Machine::check(&base).map_err(|source| failed(&base, SearchError::Configuration(source)))?;
        Ok(base)
    };
    heights.map(base).collect()
}

/// The sizes as `--set z=` takes them.
fn sizes_text(tried: &TriedSizes) -> String {
    let ranges = tried.sizes.ranges();
    let range = |(first, last, size): &(u32, u32, u32)| match first == last {
        true => format!("{first}:{size}"),
        false => format!("{first}-{last}:{size}"),
    };
    if ranges.is_empty() { "-".to_owned() } else { ranges.iter().map(range).collect::<Vec<_>>().join(",") }
}

fn try_row(levels: u32, tried: &TriedSizes) -> Vec<String> {
    vec![
        levels.to_string(),
        sizes_text(tried),
        tried.path_blocks.to_string(),
        format!("{:.2}", 100.0 * tried.space_loss),
        format!("{:.1}", 100.0 * tried.evictions),
        tried.cycles.to_string(),
        if tried.is_allowed { "yes" } else { "no" }.to_owned(),
    ]
}

fn random(lines: u64, misses: usize, seed: u64) -> impl Iterator<Item = Miss> {
    let shape = Shape { pattern: Pattern::Random, lines, stores: 0.5, instructions: 40, seed };
    Synthetic::new(shape).expect("a sound shape").take(misses)
}

/// Cycles of each random trace.
fn cycles(configuration: &Configuration, seed: u64, misses: usize) -> Result<Vec<u64>, SearchError> {
    let lines = configuration.oram.user_blocks;
    let tree = draw(&configuration.oram, seed)?;
    let mut machine = Machine::over(configuration.clone(), tree.into_copy(), seed)?;
    // The traces run in sequence: random accesses do not change the state of the tree.
    let of_trace = |trace| Ok(machine.run(random(lines, misses, seed + 1 + trace), 0, |_| ())?.cycles.0);
    (0..TRACES).map(of_trace).collect()
}

fn draw(oram: &OramConfiguration, seed: u64) -> Result<FilledTree, ConfigurationError> {
    FilledTree::draw(oram, Contents::Steady(History::Random), seed)
}

fn failed(base: &Configuration, source: SearchError) -> ProcessorError {
    let scheme = "baseline";
    match source {
        SearchError::Configuration(source) => configuration_error(scheme, base, source),
        SearchError::Run(source) => ProcessorError::Run {
            program: "rand".to_owned(),
            scheme: scheme.to_owned(),
            source: Box::new(source),
        },
    }
}
