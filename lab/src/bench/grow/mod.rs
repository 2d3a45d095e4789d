//! The local costs of vaults of several sizes: whether an access, and an opening after a crash, cost more in a larger one.
//!
//! Each vault is brought to its steady state: every block is written once, then as many uniform accesses follow as the
//! stash may hold blocks. It is measured over at least two cycles of the pieces in which its state is written, and over
//! as many accesses as lie between two shipped checkpoints. Then it is killed several times and opened again.
//!
//! The store is memory, the trusted disk real files, synced. The opened files are in the system's cache: the seconds of
//! an opening are those of the processor, and the bytes say what a cold disk would have to read.

mod life;
mod options;
mod room;

pub use options::GrowOptions;

use super::book::{BookLine, SIZES};
use super::report::{Bound, Grid, Report, SLACK, bytes};
use super::sample::Sample;
use super::{BenchError, Progress};
use life::{Life, Opened, Window};

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
    let mut lives = Vec::new();
    for capacity in &options.capacities {
        let vault = options.vault_of(*capacity);
        match room::lacking(&vault)? {
            Some(lacking) if options.leaves_out => {
                report.notes.push(format!("{capacity} blocks are left out: {lacking}"));
            }
            _ => lives.push(runtime.block_on(Life::measure(&vault, options, progress))?),
        }
    }
    if lives.is_empty() {
        return Err(BenchError::Options(format!("no vault was measured: {}", report.notes.join("; "))));
    }
    report_rows(&mut report, &lives, options);
    let grid = grid(&lives);
    hold(&mut report, &grid, options)?;
    report.grid = Some(grid);
    Ok(report)
}

fn report_rows(report: &mut Report, lives: &[Life], options: &GrowOptions) {
    for life in lives {
        let trusted = Some(life.trusted);
        let of = |value: fn(&Window) -> f64| Sample::of(&life.windows.iter().map(value).collect::<Vec<_>>());
        let name = |what: &str| format!("{} blocks: {what}", life.capacity);
        report.row(
            name("local bytes written"),
            "bytes/access",
            of(Window::written_per_access),
            None,
            trusted,
        );
        report.row(name("accesses"), "accesses/s", of(Window::rate), None, trusted);
        let seconds = |of: &[Opened]| Sample::of(&of.iter().map(|one| one.seconds).collect::<Vec<_>>());
        report.row(name("opening, full journal"), "s", seconds(&life.with_journal), None, trusted);
        report.row(name("opening, empty journal"), "s", seconds(&life.without), None, trusted);
    }
    let mut growth = |name: &str, figure: &dyn Fn(&Life) -> f64| {
        let spread = Sample::of(&lives.iter().map(figure).collect::<Vec<_>>());
        let growth = Sample::once(spread.max / spread.min);
        report.row(name, "× cheapest", growth, options.asked_growth.map(Bound::AtMost), None);
    };
    growth("local bytes an access, costliest size", &Life::local_per_access);
    growth("bytes of the journal at a crash, costliest size", &|life| life.opened(|one| one.journal as f64));
    // In a small vault an opening is a few syncs of the disk: the largest that the book has is held.
    if let Some(largest) = lives.iter().find(|life| life.capacity == SIZES[2]).or(lives.last()) {
        let ratios: Vec<f64> = largest.with_journal.iter().map(|one| one.work).collect();
        let name = format!("{} blocks: opening, full journal, processor", largest.capacity);
        let asked = options.asked_opening.map(Bound::AtMost);
        report.row(name, "× bare", Sample::of(&ratios), asked, Some(largest.trusted));
    }
}

/// Holds the lines of the table to what the book says of them: tells of the one that is above it the most.
fn hold(report: &mut Report, grid: &Grid, options: &GrowOptions) -> Result<(), BenchError> {
    let mut max = (String::new(), 0.0);
    for BookLine { figure, said, unit, .. } in options.book {
        let found = grid.lines.iter().find(|(line, _)| line.trim() == *figure);
        let (_, found) =
            found.ok_or_else(|| BenchError::Options(format!("there is no figure `{figure}` to hold")))?;
        for (at, said) in SIZES.iter().zip(said) {
            // A size that was not measured has no column.
            let column = grid.columns.iter().position(|column| *column == format!("{at} blocks"));
            let Some(share) = column.map(|column| found[column - 1] / (said * unit)) else { continue };
            if share > max.1 {
                max = (format!("above the book's figures, at most: {figure}, {at} blocks"), share);
            }
        }
    }
    if !max.0.is_empty() {
        report.row(max.0, "× the book's", Sample::once(max.1), Some(Bound::AtMost(SLACK)), None);
    }
    Ok(())
}

/// Every figure, a column for each size.
fn grid(lives: &[Life]) -> Grid {
    let names = lives.iter().map(|life| format!("{} blocks", life.capacity));
    let mut grid = Grid::new(&std::iter::once(String::new()).chain(names).collect::<Vec<_>>());
    let mut row = |name: &str, figure: &dyn Fn(&Life) -> f64| {
        grid.row(name.into(), &lives.iter().map(figure).collect::<Vec<_>>());
    };
    row("accesses measured", &|life| life.accesses() as f64);
    row("cycles of pieces", &|life| life.cycles);
    row("stash at rest, blocks, before", &|life| life.stash.0 as f64);
    row("  after", &|life| life.stash.1 as f64);
    row("local, bytes/access", &Life::local_per_access);
    row("  as a multiple of a block", &|life| life.local_per_access() / life.block_bytes as f64);
    row("  written", &|life| life.mean(|window| window.database.written + window.places.written));
    row("    journal's records", &|life| life.mean(|window| window.journal));
    row("    payloads to their places", &|life| life.mean(|window| window.places.written));
    row("    deltas", &|life| life.mean(|window| window.checkpoints.deltas));
    row("    pieces", &|life| life.mean(|window| window.checkpoints.pieces));
    row("    replaced versions", &|life| life.mean(|window| window.checkpoints.garbage));
    row("    summaries", &|life| life.mean(|window| window.checkpoints.summaries));
    row("    the database's own", &|life| life.mean(Window::own));
    row("  read, by shipments", &|life| life.mean(|window| window.places.read));
    row("  read, the database's own", &|life| life.mean(|window| window.database.read));
    row("opening after kill -9, ms", &|life| 1000.0 * life.opened(|one| one.seconds));
    row("  bare: the same bytes read and opened, ms", &|life| 1000.0 * life.opened(|one| one.bare));
    row("  as a multiple of that", &|life| life.opened(|one| one.seconds / one.bare));
    row("  the processor's time of both, as a multiple", &|life| life.opened(|one| one.work));
    row("  the journal", &|life| 1000.0 * life.opened(|one| one.parts.journal.as_secs_f64()));
    row("  the trusted state", &|life| 1000.0 * life.opened(|one| one.parts.state.as_secs_f64()));
    row("  the database's file", &|life| 1000.0 * life.opened(Opened::of_the_file));
    row("  the store's list", &|life| 1000.0 * life.opened(|one| one.parts.store.as_secs_f64()));
    row("  read: the journal's records, KiB", &|life| life.opened(|one| one.journal as f64) / 1024.0);
    row("  read: the database, all, KiB", &|life| life.opened(|one| one.database as f64) / 1024.0);
    row("  read: the places, KiB", &|life| life.opened(|one| one.places as f64) / 1024.0);
    row("  read with an empty journal, KiB", &|life| life.opened_without(|one| one.read() as f64) / 1024.0);
    row("    over the trusted disk's size", &|life| {
        life.opened_without(|one| one.read() as f64) / life.disk_bytes as f64
    });
    row("trusted disk, KiB", &|life| life.disk_bytes as f64 / 1024.0);
    row("  as a multiple of the payload", &|life| life.disk_bytes as f64 / life.payload());
    row("trusted memory, bytes/block", &|life| life.trusted.total() as f64 / life.capacity as f64);
    row("  of them no stash", &|life| {
        (life.trusted.total() - life.trusted.stash_and_top) as f64 / life.capacity as f64
    });
    row("resident beside the store, bytes/block", &|life| life.resident as f64 / life.capacity as f64);
    row("stored, × payload", &|life| life.stored as f64 / life.payload());
    grid
}
