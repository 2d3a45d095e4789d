//! All runs, in parallel, each in a copy of a tree that is drawn once.

use super::error::ProcessorError;
use super::figures;
use super::options::{Options, Part};
use super::preset::Start;
use super::programs::Program;
use super::row::Row;
use super::schemes::{NamedConfiguration, configuration_error, pace_name};
use crate::bench::Progress;
use ameles_simulator::machine::Machine;
use ameles_simulator::tree::filled::{FilledTree, TreeCopy};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc;
use std::thread;

/// Runs every configuration over every program, whose misses are given for each seed.
///
/// # Errors
/// [`ProcessorError`].
pub(super) fn run_all(
    options: &Options,
    programs: &[Vec<Program>],
    configurations: &[NamedConfiguration],
    progress: &dyn Progress,
) -> Result<Vec<Row>, ProcessorError> {
    let all = programs.iter().flatten().map(misses).sum::<u64>() * configurations.len() as u64;
    let done = AtomicU64::new(0);
    let (mut rows, mut used, copies) = (Vec::new(), None::<FilledTree>, Mutex::default());
    let of_one_tree = |one: &NamedConfiguration, other: &NamedConfiguration| {
        one.configuration.oram.has_tree_of(&other.configuration.oram)
    };
    for (options, programs) in options.by_seed().zip(programs) {
        for group in configurations.chunk_by(of_one_tree) {
            let schemes = group.iter().map(|named| named.scheme.as_str()).collect::<BTreeSet<_>>();
            let schemes = schemes.into_iter().collect::<Vec<_>>().join(", ");
            let of = format!("of {schemes}, as {}, seed {}", options.preset, options.seed());
            progress.on_step(&format!("drawing the tree {of}"), done.load(Relaxed), all);
            let oram = &group[0].configuration.oram;
            let (contents, seed) = (options.start_of(Part::Figures).contents(), options.seed());
            let tree = match used.take() {
                Some(used) => used.draw_over(oram, contents, seed),
                None => FilledTree::draw(oram, contents, seed),
            };
            let tree = tree
                .map_err(|source| configuration_error(&group[0].scheme, &group[0].configuration, source))?;
            let jobs: Vec<(&NamedConfiguration, &Program)> =
                group.iter().flat_map(|named| programs.iter().map(move |program| (named, program))).collect();
            rows.append(&mut run_in_parallel(&options, (&tree, &copies), &jobs, |program| {
                let done = done.fetch_add(misses(program), Relaxed) + misses(program);
                progress.on_step(&format!("runs {of}"), done, all);
            })?);
            used = Some(tree);
        }
    }
    Ok(rows)
}

/// The misses that a run of a program takes, and one, for its beginning takes time as well.
fn misses(program: &Program) -> u64 {
    program.misses.len() as u64 + 1
}

/// Runs jobs on several threads; their rows come in the order of the jobs. Each thread takes a copy of the tree, in the
/// memory of one that is left if there is any, and leaves it there.
fn run_in_parallel(
    options: &Options,
    (tree, copies): (&FilledTree, &Mutex<Vec<TreeCopy>>),
    jobs: &[(&NamedConfiguration, &Program)],
    on_done: impl Fn(&Program),
) -> Result<Vec<Row>, ProcessorError> {
    let next = Mutex::new(0..jobs.len());
    let (finished, results) = mpsc::channel();
    thread::scope(|scope| {
        for _ in 0..options.threads.clamp(1, jobs.len().max(1)) {
            let (finished, next) = (finished.clone(), &next);
            scope.spawn(move || {
                let used = copies.lock().ok().and_then(|mut copies| copies.pop());
                let mut copy = used.map_or_else(|| tree.copy(), |used| tree.copy_over(used));
                while let Some(nth) = next.lock().ok().and_then(|mut next| next.next()) {
                    let (named, program) = jobs[nth];
                    let (row, left) = match run_one(options, copy, named, program) {
                        Ok((row, left)) => (Ok(row), Some(left)),
                        Err(error) => (Err(error), None),
                    };
                    if finished.send((nth, row)).is_err() {
                        return;
                    }
                    // An error ends the other runs, too.
                    let Some(left) = left else { return };
                    copy = left;
                    copy.reset(tree);
                }
                if let Ok(mut copies) = copies.lock() {
                    copies.push(copy);
                }
            });
        }
        drop(finished);
        let mut rows: Vec<Option<Row>> = jobs.iter().map(|_| None).collect();
        for (nth, row) in results {
            rows[nth] = Some(row?);
            on_done(jobs[nth].1);
        }
        Ok(rows.into_iter().flatten().collect())
    })
}

/// Runs a program in a copy of a tree, and returns the copy as the run leaves it.
fn run_one(
    options: &Options,
    copy: TreeCopy,
    named: &NamedConfiguration,
    program: &Program,
) -> Result<(Row, TreeCopy), ProcessorError> {
    let NamedConfiguration { scheme, configuration, path_blocks, on_chip } = named;
    let mut machine = Machine::over(configuration.clone(), copy, options.seed())
        .map_err(|source| configuration_error(scheme, configuration, source))?;
    let failed = |source| ProcessorError::Run {
        program: program.name.clone(),
        scheme: scheme.clone(),
        source: Box::new(source),
    };
    let misses = (program.misses.len() as u64).saturating_sub(program.warm_up);
    let ends = figures::window_ends(misses, options.misses as u64);
    let mut run = || {
        let trace = program.misses.iter().copied();
        machine.run_with_checkpoints(trace, program.warm_up, &ends, |_| ()).map_err(failed)
    };
    if options.start_of(Part::Figures) == Start::Own {
        run()?;
    }
    let outcome = run()?;
    let row = Row {
        preset: options.preset,
        seed: options.seed(),
        program: program.name.clone(),
        scheme: scheme.clone(),
        pace: pace_name(configuration.pace),
        path_blocks: *path_blocks,
        on_chip: *on_chip,
        top_levels: configuration.oram.top_levels,
        outcome,
        stash_blocks: machine.stash_blocks(),
    };
    Ok((row, machine.into_tree()))
}
