//! The runs of the workloads: which schemes do which job, with which blocks.

use super::draw::Pace;
use super::error::ThesisError;
use super::job::{Job, QUICK_STEPS};
use super::options::Options;
use super::printed::Printed;
use super::ran::Ran;
use super::row::Row;
use super::schemes::{self, BASELINE, SCHEMES, Scheme};
use super::seeds::{self, Stretch};
use super::trial::{ORAM_BYTES, Trial};
use super::{figures, objects, table, workloads};
use crate::bench::Progress;
use crate::report::Section;
use crate::virtual_time::{LinkModel, ServerTime};
use std::collections::BTreeSet;
use std::time::Duration;

/// The sizes of a series with `quick`.
pub(super) const QUICK_SIZES: usize = 2;

/// The block sizes in KiB of a workload that is not the thesis's.
const OTHER_BLOCKS_KIB: [u64; 3] = [64, 256, 1024];

/// The runs of a workload.
struct Runs {
    /// Its name on the command line.
    name: String,
    /// The schemes, each with its block size in KiB.
    runs: Vec<(&'static Scheme, Option<u64>)>,
    /// Sentences about the schemes that were left out though they were named.
    left_out: Vec<String>,
}

/// Runs the workloads, and returns their rows.
pub(super) fn workloads(
    options: &Options,
    progress: &dyn Progress,
    found: &mut dyn FnMut(Section),
) -> Result<Vec<Row>, ThesisError> {
    let (printed, plans) = (Printed::tables(), plan(options)?);
    let all = plans.iter().map(|plan| plan.runs.len() as u64 * options.seeds).sum();
    let (mut of_seeds, mut before) = (vec![Vec::new(); options.seeds as usize], 0);
    for plan in &plans {
        let of = |rows: &[&Vec<Row>]| {
            let sections = rows.iter().map(|rows| table::of_workload(rows, &printed, &options.prices));
            seeds::merged(&sections.collect::<Vec<_>>(), options.seed)
        };
        let stretch = Stretch { progress, before, all };
        let run = |options: &Options, progress: &dyn Progress| {
            rows_of(plan, options, progress, |rows| progress.so_far(&of(&[rows]).text()))
        };
        let found_rows = seeds::each(options, &stretch, run, |rows| of(rows).text())?;
        before += plan.runs.len() as u64 * options.seeds;
        let mut section = of(&found_rows.iter().collect::<Vec<_>>());
        let of_workload = found_rows.concat();
        figures::of_workload(&of_workload, &printed).into_iter().for_each(|picture| section.draw(picture));
        if of_workload.iter().any(|row| row.ran.is_short()) {
            section.say(table::SHORT_MEANS);
        }
        plan.left_out.iter().for_each(|line| section.say(line.clone()));
        found(section);
        of_seeds.iter_mut().zip(found_rows).for_each(|(all, mut rows)| all.append(&mut rows));
    }
    let sections: Vec<Section> =
        of_seeds.iter().filter_map(|rows| table::each_access(rows, &printed)).collect();
    if !sections.is_empty() {
        found(seeds::merged(&sections, options.seed));
    }
    Ok(of_seeds.concat())
}

/// The rows of a workload with one seed. `seen` is told of those that there are, after each.
fn rows_of(
    plan: &Runs,
    options: &Options,
    progress: &dyn Progress,
    seen: impl Fn(&Vec<Row>),
) -> Result<Vec<Row>, ThesisError> {
    let (letter, job) = &job_of(options, &plan.name)?;
    let baseline = twice(&SCHEMES[0], &trial_of(options, letter, job, &SCHEMES[0], None))?;
    let (mut rows, all) = (Vec::new(), plan.runs.len() as u64);
    for (done, (scheme, block_kib)) in (0..).zip(&plan.runs) {
        let block = block_kib.map_or(String::new(), |kib| format!(", blocks of {kib} KiB"));
        progress.at(&format!("{letter}: {}{block}", scheme.name), done, all);
        let trial = trial_of(options, letter, job, scheme, *block_kib);
        let layered = scheme.under_objects || (options.objects && scheme.can_be_layered());
        let recorded = layered.then(|| objects::recorded(&trial)).transpose()?;
        let (ran, bare) = twice(scheme, &Trial { objects: recorded.as_ref(), ..trial })?;
        rows.push(Row {
            workload: letter.clone(),
            scheme: scheme.name,
            printed: scheme.printed,
            block_kib: *block_kib,
            ran,
            baseline: baseline.0,
            bare_slowdown: bare.runtime.as_secs_f64() / baseline.1.runtime.as_secs_f64(),
            filling: options.filling,
            seed: options.seed,
        });
        seen(&rows);
    }
    Ok(rows)
}

/// The job of a workload, after the name that it has in tables; its first steps with `quick`.
pub(super) fn job_of(options: &Options, name: &str) -> Result<(String, Job), ThesisError> {
    let (letter, workload) = workloads::read(name)?;
    let pace = Pace { model: options.model(), operation: options.operation_of(&letter) };
    let mut job = Job::draw(&workload, &workloads::folders(), options.seed, &pace)?;
    if options.quick {
        job.truncate(QUICK_STEPS);
    }
    Ok((letter, job))
}

/// The trial of a scheme on a workload's job.
pub(super) fn trial_of<'a>(
    options: &Options,
    letter: &str,
    job: &'a Job,
    scheme: &Scheme,
    block_kib: Option<u64>,
) -> Trial<'a> {
    Trial {
        job,
        oram_bytes: ORAM_BYTES,
        block_bytes: block_kib.unwrap_or(1) << 10,
        model: options.model(),
        operation: options.operation_of(letter),
        once: false,
        seed: options.seed,
        as_proxy: scheme.as_proxy,
        objects: None,
    }
}

/// Runs a trial with its times, and over the bare link.
fn twice(scheme: &Scheme, trial: &Trial<'_>) -> Result<(Ran, Ran), ThesisError> {
    let model = LinkModel { server: ServerTime::default(), ..trial.model };
    let bare = Trial { model, operation: Duration::ZERO, ..*trial };
    Ok(((scheme.run)(trial)?, (scheme.run)(&bare)?))
}

/// The runs that were asked for, with the jobs drawn.
fn plan(options: &Options) -> Result<Vec<Runs>, ThesisError> {
    let (schemes, printed) = (chosen(options)?, Printed::tables());
    let plan = |name: String| {
        // A workload that cannot be drawn is refused before any is run.
        let (letter, _) = job_of(options, &name)?;
        let mut sizes = printed.blocks_kib(&letter);
        if sizes.is_empty() {
            sizes = OTHER_BLOCKS_KIB.into();
        }
        if options.quick {
            sizes.drain(..sizes.len() - 1);
        }
        if !options.block_bytes.is_empty() {
            sizes = options.block_bytes.iter().map(|bytes| bytes >> 10).collect();
        }
        let of_scheme = |scheme: &'static Scheme| {
            let sizes =
                if scheme.has_blocks { sizes.iter().copied().map(Some).collect() } else { vec![None] };
            let fits =
                |kib: &Option<u64>| kib.is_none_or(|kib| ORAM_BYTES / (kib << 10) <= scheme.max_blocks);
            sizes.into_iter().filter(fits).map(|kib| (scheme, kib)).collect::<Vec<_>>()
        };
        let runs: Vec<_> = schemes.iter().copied().flat_map(of_scheme).collect();
        let is_left_out = |scheme: &&&Scheme| !runs.iter().any(|(run, _)| run.name == scheme.name);
        let left_out = schemes.iter().filter(is_left_out).filter(|_| !options.schemes.is_empty());
        let left_out = left_out.map(|scheme| {
            let Scheme { name, max_blocks, .. } = scheme;
            format!(
                "{name} is left out: it is run with at most {max_blocks} blocks. Choose a larger --block."
            )
        });
        let left_out = left_out.collect();
        Ok(Runs { name, runs, left_out })
    };
    options.letters().into_iter().map(plan).collect()
}

/// The schemes that were asked for.
fn chosen(options: &Options) -> Result<Vec<&'static Scheme>, ThesisError> {
    if options.schemes.is_empty() {
        return Ok(schemes::all().take(SCHEMES.len()).collect());
    }
    let find = |name: &String| {
        schemes::named(name).ok_or_else(|| ThesisError::Unknown {
            what: "scheme",
            name: name.clone(),
            known: schemes::all().map(|scheme| scheme.name).collect::<Vec<_>>().join(", "),
        })
    };
    let mut named: Vec<&'static Scheme> = options.schemes.iter().map(find).collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    named.retain(|scheme| seen.insert(scheme.name));
    if !named.iter().any(|scheme| scheme.name == BASELINE) {
        named.splice(0..0, schemes::named(BASELINE));
    }
    Ok(named)
}
