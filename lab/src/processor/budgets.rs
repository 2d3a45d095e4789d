//! The best oblivious controller that fits a budget of bytes on chip. It takes improvements of Baseline one after the
//! other, each with as much of the tree top, the PLB and the positions as fits.

use super::error::ProcessorError;
use super::figures::{RunSet, mean_speed};
use super::options::Options;
use super::program_runs;
use super::programs::Program;
use super::row::Row;
use super::schemes::{NamedConfiguration, pace_name};
use crate::bench::Progress;
use crate::report::{Section, Sheet};
use ameles_core::schemes::freecursive::TrustedHits;
use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::counts::Counts;
use ameles_simulator::machine::Machine;
use ameles_simulator::on_chip::OnChipBytes;
use ameles_simulator::pace::Pace;

/// The budgets in KiB: last-level cache apart.
const BUDGETS_KIB: [u64; 3] = [64, 1024, 8192];

/// Levels whose buckets have two blocks, next to the tree top: those hold few blocks.
const LEVELS_OF_TWO: u32 = 5;

/// The name of the machine that all speeds are relative to.
const BASELINE: &str = "baseline";

/// An improvement, and its change of a configuration.
struct Step {
    name: &'static str,
    /// The smallest budget that it runs in.
    min_kib: u64,
    change: fn(Configuration) -> Configuration,
}

/// The improvements. Each of the first five builds on the previous one. The sixth is the fifth with larger blocks, and
/// the last is the fourth with Ring ORAM. With few levels on chip Ring ORAM's stash has too little room for its compact
/// buckets, and the run fails.
const STEPS: [Step; 7] = [
    Step { name: "every path read", min_kib: 64, change: every_path_read },
    Step { name: "and delayed remapping", min_kib: 64, change: delayed },
    Step { name: "and a compressed PosMap", min_kib: 64, change: compressed },
    Step { name: "and overlapped writes", min_kib: 64, change: overlapped },
    Step { name: "and smaller buckets", min_kib: 64, change: smaller_buckets },
    Step {
        name: "the same, blocks of 128 bytes",
        min_kib: 64,
        change: |machine| smaller_buckets(machine.with_block_lines(2)),
    },
    Step { name: "Ring ORAM in place of Path ORAM", min_kib: 1024, change: ring },
];

fn every_path_read(mut machine: Configuration) -> Configuration {
    machine.oram.hits = TrustedHits::ReadThePath;
    machine
}

fn delayed(machine: Configuration) -> Configuration {
    Configuration { delayed_remapping: true, ..every_path_read(machine) }
}

/// Counters of 14 bits in place of leaves of 32 make a PosMap block twice as large (Freecursive ORAM, section 5).
fn compressed(machine: Configuration) -> Configuration {
    let mut machine = delayed(machine);
    machine.oram.labels *= 2;
    machine.oram.look_aside_ways = 4;
    machine
}

fn overlapped(machine: Configuration) -> Configuration {
    Configuration { overlapped_writes: true, ..compressed(machine) }
}

/// Three blocks per bucket, which a settled tree has room for, and two on the first [`LEVELS_OF_TWO`] levels in memory.
fn smaller_buckets(machine: Configuration) -> Configuration {
    let mut machine = overlapped(machine);
    machine.oram.sizes = sizes_below(machine.oram.top_levels, machine.oram.levels);
    machine
}

fn sizes_below(top: u32, levels: u32) -> Vec<(u32, u32, u32)> {
    let first_of_three = top + LEVELS_OF_TWO;
    vec![(top, first_of_three - 1, 2), (first_of_three, levels - 1, 3)]
}

fn ring(machine: Configuration) -> Configuration {
    overlapped(machine.with_scheme(Scheme::Ring))
}

/// The machines of a budget, with the number of the step.
///
/// # Errors
/// [`ProcessorError::Configuration`].
fn machines(options: &Options) -> Result<Vec<NamedConfiguration>, ProcessorError> {
    let baseline = options.baseline(options.levels);
    let mut all = vec![named(BASELINE.to_owned(), baseline.clone())?];
    for kib in BUDGETS_KIB {
        for step in STEPS.iter().filter(|step| step.min_kib <= kib) {
            let machine = (step.change)(baseline.clone());
            // A budget that a step does not fit has no row of it.
            if let Some(fitted) = fit(&machine, kib << 10) {
                all.push(named(name(kib, step), fitted)?);
            }
        }
    }
    all.sort_by_key(|named| {
        let oram = &named.configuration.oram;
        (oram.scheme, oram.top_levels, oram.look_aside, oram.trusted_positions, oram.sizes.clone())
    });
    Ok(all)
}

fn name(kib: u64, step: &Step) -> String {
    format!("{kib} KiB: {}", step.name)
}

fn named(scheme: String, configuration: Configuration) -> Result<NamedConfiguration, ProcessorError> {
    NamedConfiguration::new(scheme, Machine::with_room(Configuration { pace: Pace::Free, ..configuration }))
}

/// The machine with at most a quarter of the budget for positions, and half of it for the PLB. The rest is for as many
/// levels of the tree top as it has room for. `None` if nothing fits.
fn fit(machine: &Configuration, budget: u64) -> Option<Configuration> {
    let bytes = |machine: &Configuration| OnChipBytes::of(machine).ok();
    let mut fitted = machine.clone();
    let block_bytes = 64 * machine.block_lines;
    fitted.oram.look_aside = u32::try_from(budget / 2 / block_bytes).ok().filter(|blocks| *blocks > 0)?;
    fitted.oram.trusted_positions = (0..32).rev().map(|log| 1 << log).find(|positions| {
        fitted.oram.trusted_positions = *positions;
        bytes(&fitted).is_some_and(|bytes| bytes.positions <= budget / 4)
    })?;
    let has_sizes = !machine.oram.sizes.is_empty();
    (1..machine.oram.levels - LEVELS_OF_TWO).rev().find_map(|top| {
        fitted.oram.top_levels = top;
        if has_sizes {
            fitted.oram.sizes = sizes_below(top, fitted.oram.levels);
        }
        let fitted = fitted.clone().with_fitting_subtrees();
        bytes(&fitted).filter(|bytes| bytes.total() <= budget).map(|_| fitted)
    })
}

/// Runs all machines over the programs, and shows the speeds.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn section(
    options: &Options,
    programs: &[Vec<Program>],
    progress: &dyn Progress,
) -> Result<(Section, Vec<Row>), ProcessorError> {
    let machines = machines(options)?;
    let rows = program_runs::run_all(options, programs, &machines, progress)?;
    let runs = RunSet::of(&rows, pace_name(Pace::Free));
    let header = [
        "machine",
        "speed over Baseline",
        "KiB on chip",
        "levels on chip",
        "KiB of PLB",
        "positions",
        "lines a path",
        "background evictions, %",
    ];
    let mut sheet = Sheet::new("budgets", "Oblivious machines within a budget of bytes on chip", header);
    let baseline = machines.iter().find(|named| named.scheme == BASELINE);
    let of_steps = BUDGETS_KIB.iter().flat_map(|kib| STEPS.iter().map(|step| name(*kib, step)));
    let in_order = of_steps.filter_map(|name| machines.iter().find(|named| named.scheme == name));
    for NamedConfiguration { scheme, configuration, path_blocks, on_chip } in
        baseline.into_iter().chain(in_order)
    {
        let oram = &configuration.oram;
        let positions = oram.parameters().map_or(0, |parameters| parameters.address_space().trusted());
        sheet.rows.push(vec![
            scheme.clone(),
            mean_speed(&runs, BASELINE, scheme),
            on_chip.div_ceil(1024).to_string(),
            oram.top_levels.to_string(),
            (u64::from(oram.look_aside) * configuration.block_lines / 16).to_string(),
            positions.to_string(),
            path_blocks.to_string(),
            background_share(&runs, scheme),
        ]);
    }
    let mut section = Section::new("budgets", "The best oblivious controller within a budget");
    section.add_table(sheet);
    section.add_text(
        "Paths start when they are needed. The remaps of a compressed PosMap's groups are left out: 32 accesses for \
         each 2^13 of a block, at most 0.4 % of the paths.",
    );
    Ok((section, rows))
}

/// Background evictions of all programs and seeds in per cent of their paths.
fn background_share(runs: &RunSet<'_>, scheme: &str) -> String {
    let of_scheme = || runs.rows.iter().filter(|row| row.scheme == scheme).map(|row| row.counts());
    let background: u64 = of_scheme().map(|counts| counts.background).sum();
    let paths: u64 = of_scheme().map(Counts::paths).sum();
    format!("{:.1}", 100.0 * background as f64 / paths.max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_machine_fits_its_budget_and_reads_every_path() {
        for levels in [20, 25] {
            let all = machines(&Options { levels, ..Options::standard() }).expect("sound machines");
            let within = |kib: u64| {
                let start = format!("{kib} KiB: ");
                all.iter().filter(move |named| named.scheme.starts_with(&start))
            };
            for kib in BUDGETS_KIB {
                // The stash of blocks of 128 bytes leaves too little of the smallest budget.
                let steps = if kib == BUDGETS_KIB[0] { 5 } else { STEPS.len() };
                assert!(within(kib).count() >= steps, "{levels} levels, {kib} KiB");
                for named in within(kib) {
                    assert!(named.on_chip <= kib << 10, "{}: {}", named.scheme, named.on_chip);
                    assert!(named.on_chip > kib << 8, "{}: {} of the budget", named.scheme, named.on_chip);
                    assert_eq!(named.configuration.oram.hits, TrustedHits::ReadThePath);
                }
            }
        }
    }
}
