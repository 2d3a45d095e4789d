//! The runs of the workloads: which schemes do which job, with which blocks.

use super::draw::StoreTiming;
use super::error::ThesisError;
use super::job::{Job, QUICK_STEPS};
use super::options::Options;
use super::published::Published;
use super::row::Row;
use super::run_result::RunResult;
use super::schemes::{self, BASELINE, SCHEMES, Scheme};
use super::seeds::{self, OffsetProgress};
use super::trial::{ORAM_BYTES, Trial};
use super::{figures, object_layer, table, workloads};
use crate::bench::Progress;
use crate::report::Section;
use crate::virtual_time::{LinkModel, ServerTime};
use std::collections::BTreeSet;
use std::time::Duration;

/// The sizes of a series with `quick`.
pub(super) const QUICK_SIZES: usize = 2;

/// The block sizes in KiB of a workload that is not in the thesis.
const OTHER_BLOCKS_KIB: [u64; 3] = [64, 256, 1024];

/// The runs of a workload.
struct WorkloadPlan {
    /// The workload's name on the command line.
    name: String,
    /// The schemes, each with its block size in KiB.
    runs: Vec<(&'static Scheme, Option<u64>)>,
    /// The sentences about the schemes that were left out though they were named.
    left_out: Vec<String>,
}

/// Runs the workloads, and returns their rows.
pub(super) fn run_workloads(
    options: &Options,
    progress: &dyn Progress,
    on_section: &mut dyn FnMut(Section),
) -> Result<Vec<Row>, ThesisError> {
    let (printed, plans) = (Published::tables(), plan(options)?);
    let all = plans.iter().map(|plan| plan.runs.len() as u64 * options.seeds).sum();
    let (mut of_seeds, mut before) = (vec![Vec::new(); options.seeds as usize], 0);
    for plan in &plans {
        let of = |rows: &[&Vec<Row>]| {
            let sections = rows.iter().map(|rows| table::workload_section(rows, &printed, &options.prices));
            seeds::merge_sections(&sections.collect::<Vec<_>>(), options.seed)
        };
        let offset_progress = OffsetProgress { progress, before, all };
        let run = |options: &Options, progress: &dyn Progress| {
            run_workload(plan, options, progress, |rows| progress.on_partial_report(&of(&[rows]).text()))
        };
        let new_rows = seeds::for_each_seed(options, &offset_progress, run, |rows| of(rows).text())?;
        before += plan.runs.len() as u64 * options.seeds;
        let mut section = of(&new_rows.iter().collect::<Vec<_>>());
        let workload_rows = new_rows.concat();
        figures::pictures(&workload_rows, &printed)
            .into_iter()
            .for_each(|picture| section.add_picture(picture));
        if workload_rows.iter().any(|row| row.result.is_short()) {
            section.add_text(table::SHORT_MEANS);
        }
        plan.left_out.iter().for_each(|line| section.add_text(line.clone()));
        on_section(section);
        of_seeds.iter_mut().zip(new_rows).for_each(|(all, mut rows)| all.append(&mut rows));
    }
    let sections: Vec<Section> =
        of_seeds.iter().filter_map(|rows| table::access_section(rows, &printed)).collect();
    if !sections.is_empty() {
        on_section(seeds::merge_sections(&sections, options.seed));
    }
    Ok(of_seeds.concat())
}

/// Returns the rows of a workload with one seed. `on_rows` receives the rows so far, after each.
fn run_workload(
    plan: &WorkloadPlan,
    options: &Options,
    progress: &dyn Progress,
    on_rows: impl Fn(&Vec<Row>),
) -> Result<Vec<Row>, ThesisError> {
    let (letter, job) = &workload_job(options, &plan.name)?;
    let baseline = run_with_bare_link(&SCHEMES[0], &workload_trial(options, letter, job, &SCHEMES[0], None))?;
    let (mut rows, all) = (Vec::new(), plan.runs.len() as u64);
    for (done, (scheme, block_kib)) in (0..).zip(&plan.runs) {
        let block = block_kib.map_or(String::new(), |kib| format!(", blocks of {kib} KiB"));
        progress.on_step(&format!("{letter}: {}{block}", scheme.name), done, all);
        let trial = workload_trial(options, letter, job, scheme, *block_kib);
        let uses_object_layer =
            scheme.uses_object_layer || (options.objects && scheme.can_use_object_layer());
        let recorded = uses_object_layer.then(|| object_layer::record_accesses(&trial)).transpose()?;
        let (result, bare) = run_with_bare_link(scheme, &Trial { recorded: recorded.as_ref(), ..trial })?;
        rows.push(Row {
            workload: letter.clone(),
            scheme: scheme.name,
            printed: scheme.printed,
            block_kib: *block_kib,
            result,
            baseline: baseline.0,
            bare_slowdown: bare.runtime.as_secs_f64() / baseline.1.runtime.as_secs_f64(),
            filling: options.filling,
            seed: options.seed,
        });
        on_rows(&rows);
    }
    Ok(rows)
}

/// The job of a workload, after the name that it has in tables; its first steps with `quick`.
pub(super) fn workload_job(options: &Options, name: &str) -> Result<(String, Job), ThesisError> {
    let (letter, workload) = workloads::read(name)?;
    let timing =
        StoreTiming { model: options.model(), application_time: options.application_time_of(&letter) };
    let mut job = Job::draw(&workload, &workloads::folders(), options.seed, &timing)?;
    if options.quick {
        job.truncate(QUICK_STEPS);
    }
    Ok((letter, job))
}

/// The trial of a scheme on a workload's job.
pub(super) fn workload_trial<'a>(
    options: &Options,
    letter: &str,
    job: &'a Job,
    scheme: &Scheme,
    block_kib: Option<u64>,
) -> Trial<'a> {
    Trial {
        application_time: options.application_time_of(letter),
        has_proxy_slots: scheme.has_proxy_slots,
        ..Trial::of(job, block_kib.unwrap_or(1) << 10, options)
    }
}

/// Runs a trial with its times, and over the bare link.
fn run_with_bare_link(scheme: &Scheme, trial: &Trial<'_>) -> Result<(RunResult, RunResult), ThesisError> {
    let model = LinkModel { server: ServerTime::default(), ..trial.model };
    let bare = Trial { model, application_time: Duration::ZERO, ..*trial };
    Ok(((scheme.run)(trial)?, (scheme.run)(&bare)?))
}

/// The plans of the selected workloads. Each job is drawn to check it.
fn plan(options: &Options) -> Result<Vec<WorkloadPlan>, ThesisError> {
    let (schemes, printed) = (selected_schemes(options)?, Published::tables());
    let plan = |name: String| {
        // A workload that cannot be drawn is refused before any is run.
        let (letter, _) = workload_job(options, &name)?;
        let mut sizes = printed.block_sizes_kib(&letter);
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
        Ok(WorkloadPlan { name, runs, left_out })
    };
    options.letters().into_iter().map(plan).collect()
}

/// The selected schemes.
fn selected_schemes(options: &Options) -> Result<Vec<&'static Scheme>, ThesisError> {
    if options.schemes.is_empty() {
        return Ok(schemes::all().take(SCHEMES.len()).collect());
    }
    let find = |name: &String| {
        schemes::by_name(name).ok_or_else(|| ThesisError::Unknown {
            what: "scheme",
            name: name.clone(),
            known: schemes::all().map(|scheme| scheme.name).collect::<Vec<_>>().join(", "),
        })
    };
    let mut named: Vec<&'static Scheme> = options.schemes.iter().map(find).collect::<Result<_, _>>()?;
    let mut seen = BTreeSet::new();
    named.retain(|scheme| seen.insert(scheme.name));
    if !named.iter().any(|scheme| scheme.name == BASELINE) {
        named.splice(0..0, schemes::by_name(BASELINE));
    }
    Ok(named)
}
