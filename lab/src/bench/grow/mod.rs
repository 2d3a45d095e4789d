//! Measures the local costs of vaults of several sizes: do an access, and an opening after a crash, cost more in a
//! larger one?
//!
//! Each vault is brought to its steady state: every block is written once, then as many uniform accesses follow as
//! the stash can hold blocks. It is measured over at least two cycles of the pieces of its state, and over at least
//! the accesses between two shipped checkpoints. Then it is killed several times and opened again.
//!
//! The store is in memory. The trusted disk is real files, which are synced. The opened files are in the system's
//! cache. So the seconds of an opening are processor time. The bytes are those that a cold disk would have to read.

mod options;
mod resources;
mod vault_figures;

pub use options::GrowOptions;

use super::reference_figures::{ReferenceFigure, SIZES};
use super::report::{Bound, Grid, Report, TOLERANCE, bytes};
use super::sample::Sample;
use super::{BenchError, Progress};
use vault_figures::{OpeningCost, VaultFigures, Window};

/// Runs the bench. Not to be called from within an asynchronous runtime.
///
/// # Errors
/// [`BenchError`].
pub fn run(options: &GrowOptions, progress: &dyn Progress) -> Result<Report, BenchError> {
    if options.capacities.is_empty() || options.trusted_share == 0 || options.crashes == 0 {
        return Err(BenchError::Options("give at least one size, a share of it, and one crash".into()));
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(BenchError::failed)?;
    let block = options.vault.block_bytes;
    let mut report = Report::new(format!(
        "grow: vaults of {} blocks of {}, store in memory, trusted disk synced",
        options.capacities.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
        bytes(block.into())
    ));
    report.set("trusted", format!("one block in {}", options.trusted_share));
    report.set(
        "load",
        format!("batches of {}, half of them reads, uniform over all blocks", options.vault.batch),
    );
    let mut all_figures = Vec::new();
    for capacity in &options.capacities {
        let vault = options.vault_of(*capacity);
        match resources::missing_resources(&vault)? {
            Some(missing_resources) if options.skips_too_large => {
                report.notes.push(format!("{capacity} blocks are left out: {missing_resources}"));
            }
            _ => all_figures.push(runtime.block_on(VaultFigures::measure(&vault, options, progress))?),
        }
    }
    if all_figures.is_empty() {
        return Err(BenchError::Options(format!("no vault was measured: {}", report.notes.join("; "))));
    }
    report_rows(&mut report, &all_figures, options);
    let grid = grid(&all_figures);
    add_reference_row(&mut report, &grid, options)?;
    report.grid = Some(grid);
    Ok(report)
}

fn report_rows(report: &mut Report, all_figures: &[VaultFigures], options: &GrowOptions) {
    for figures in all_figures {
        let trusted = Some(figures.trusted);
        let of = |value: fn(&Window) -> f64| Sample::of(figures.windows.iter().map(value));
        let name = |what: &str| format!("{} blocks: {what}", figures.capacity);
        report.row(
            name("local bytes written"),
            "bytes/access",
            of(Window::written_per_access),
            None,
            trusted,
        );
        report.row(name("accesses"), "accesses/s", of(Window::rate), None, trusted);
        let seconds = |of: &[OpeningCost]| Sample::of(of.iter().map(|one| one.seconds));
        report.row(name("opening, full journal"), "s", seconds(&figures.full_journal), None, trusted);
        report.row(name("opening, empty journal"), "s", seconds(&figures.empty_journal), None, trusted);
    }
    let mut growth = |name: &str, figure: &dyn Fn(&VaultFigures) -> f64| {
        let spread = Sample::of(all_figures.iter().map(figure));
        let growth = Sample::once(spread.max / spread.min);
        report.row(name, "× cheapest", growth, options.goal_growth.map(Bound::AtMost), None);
    };
    growth("local bytes an access, costliest size", &VaultFigures::local_per_access);
    growth("bytes of the journal at a crash, costliest size", &|figures| {
        figures.median_opening(|one| one.journal as f64)
    });
    // In a small vault an opening is a few syncs of the disk: only the largest size with a reference has a goal.
    if let Some(largest) =
        all_figures.iter().find(|figures| figures.capacity == SIZES[2]).or(all_figures.last())
    {
        let ratios: Vec<f64> = largest.full_journal.iter().map(|one| one.cpu_ratio).collect();
        let name = format!("{} blocks: opening, full journal, processor", largest.capacity);
        let goal = options.goal_opening.map(Bound::AtMost);
        report.row(name, "× bare", Sample::of(&ratios), goal, Some(largest.trusted));
    }
}

/// Compares the lines of the table with the reference figures, and adds a row for the one that exceeds its reference
/// most.
fn add_reference_row(report: &mut Report, grid: &Grid, options: &GrowOptions) -> Result<(), BenchError> {
    let mut max = (String::new(), 0.0);
    for ReferenceFigure { figure, expected, unit, .. } in options.reference {
        let found = grid.lines.iter().find(|(line, _)| line.trim() == *figure);
        let (_, found) =
            found.ok_or_else(|| BenchError::Options(format!("there is no figure `{figure}` to compare")))?;
        for (at, expected) in SIZES.iter().zip(expected) {
            // A size that was not measured has no column.
            let column = grid.columns.iter().position(|column| *column == format!("{at} blocks"));
            let Some(share) = column.map(|column| found[column - 1] / (expected * unit)) else { continue };
            if share > max.1 {
                max = (format!("above the reference figures, at most: {figure}, {at} blocks"), share);
            }
        }
    }
    if !max.0.is_empty() {
        report.row(max.0, "× the reference", Sample::once(max.1), Some(Bound::AtMost(TOLERANCE)), None);
    }
    Ok(())
}

/// Every figure, a column for each size.
fn grid(all_figures: &[VaultFigures]) -> Grid {
    let names = all_figures.iter().map(|figures| format!("{} blocks", figures.capacity));
    let mut grid = Grid::new(&std::iter::once(String::new()).chain(names).collect::<Vec<_>>());
    let mut row = |name: &str, figure: &dyn Fn(&VaultFigures) -> f64| {
        grid.row(name.into(), &all_figures.iter().map(figure).collect::<Vec<_>>());
    };
    row("accesses measured", &|figures| figures.accesses() as f64);
    row("cycles of pieces", &|figures| figures.cycles);
    row("stash at rest, blocks, before", &|figures| figures.stash.0 as f64);
    row("  after", &|figures| figures.stash.1 as f64);
    row("local, bytes/access", &VaultFigures::local_per_access);
    row("  as a multiple of a block", &|figures| figures.local_per_access() / figures.block_bytes as f64);
    row("  written", &|figures| figures.mean(|window| window.database.written + window.places.written));
    row("    journal's records", &|figures| figures.mean(|window| window.journal));
    row("    payloads to their places", &|figures| figures.mean(|window| window.places.written));
    row("    deltas", &|figures| figures.mean(|window| window.checkpoints.deltas));
    row("    pieces", &|figures| figures.mean(|window| window.checkpoints.pieces));
    row("    replaced versions", &|figures| figures.mean(|window| window.checkpoints.garbage));
    row("    summaries", &|figures| figures.mean(|window| window.checkpoints.summaries));
    row("    the database's own", &|figures| figures.mean(Window::database_overhead));
    row("  read, by shipments", &|figures| figures.mean(|window| window.places.read));
    row("  read, the database's own", &|figures| figures.mean(|window| window.database.read));
    row("opening after kill -9, ms", &|figures| 1000.0 * figures.median_opening(|one| one.seconds));
    row("  bare: the same bytes read and opened, ms", &|figures| {
        1000.0 * figures.median_opening(|one| one.baseline_seconds)
    });
    row("  as a multiple of that", &|figures| {
        figures.median_opening(|one| one.seconds / one.baseline_seconds)
    });
    row("  the processor's time of both, as a multiple", &|figures| {
        figures.median_opening(|one| one.cpu_ratio)
    });
    row("  the journal", &|figures| 1000.0 * figures.median_opening(|one| one.parts.journal.as_secs_f64()));
    row("  the trusted state", &|figures| {
        1000.0 * figures.median_opening(|one| one.parts.state.as_secs_f64())
    });
    row("  the database's file", &|figures| 1000.0 * figures.median_opening(OpeningCost::file_seconds));
    row("  the store's list", &|figures| {
        1000.0 * figures.median_opening(|one| one.parts.store.as_secs_f64())
    });
    row("  read: the journal's records, KiB", &|figures| {
        figures.median_opening(|one| one.journal as f64) / 1024.0
    });
    row("  read: the database, all, KiB", &|figures| {
        figures.median_opening(|one| one.database as f64) / 1024.0
    });
    row("  read: the places, KiB", &|figures| figures.median_opening(|one| one.places as f64) / 1024.0);
    row("  read with an empty journal, KiB", &|figures| {
        figures.median_opening_without_journal(|one| one.read() as f64) / 1024.0
    });
    row("    over the trusted disk's size", &|figures| {
        figures.median_opening_without_journal(|one| one.read() as f64) / figures.disk_bytes as f64
    });
    row("trusted disk, KiB", &|figures| figures.disk_bytes as f64 / 1024.0);
    row("  as a multiple of the payload", &|figures| figures.disk_bytes as f64 / figures.payload());
    row("trusted memory, bytes/block", &|figures| figures.trusted.total() as f64 / figures.capacity as f64);
    row("  of them no stash", &|figures| {
        (figures.trusted.total() - figures.trusted.stash_and_top) as f64 / figures.capacity as f64
    });
    row("resident without the store, bytes/block", &|figures| {
        figures.resident_memory as f64 / figures.capacity as f64
    });
    row("stored, × payload", &|figures| figures.stored as f64 / figures.payload());
    grid
}
