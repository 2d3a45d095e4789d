//! The workloads in real time. The same job runs through real HTTP and a real S3 server on loopback, behind the link of
//! the thesis, with real sealed bytes. The same job in virtual time is shown for comparison.

mod client;
mod cpu_time;
mod emulated_link;
mod real_and_virtual;
mod run;
mod server;
mod table;

use super::error::ThesisError;
use super::job::{Job, QUICK_STEPS};
use super::options::Options;
use super::trial::Trial;
use super::workload_runs::workload_job;
use super::{object_layer, plain, ring_variants, schemes};
use crate::bench::Progress;
use crate::report::Section;
use ameles_vault::SchemeParameters;
use real_and_virtual::RealAndVirtual;
use std::collections::BTreeMap;
use tokio::runtime::Runtime;

/// The schemes that are run in real time.
const SCHEMES: [&str; 5] = ["none", "blocks", "ring", "path", "serve"];
/// The default bytes of a block.
const BLOCK_BYTES: u64 = 1 << 20;
/// The number of bytes of the smallest ORAM that is chosen.
const MIN_ORAM: u64 = 64 << 20;

/// The maximum number of bytes that a run stores, for each byte of its ORAM: in the store with old versions, and on the
/// trusted disk.
const ROOM: u64 = 6;

/// Runs the workloads that are named, or A, and returns a section for each.
pub(super) fn sections(
    options: &Options,
    progress: &dyn Progress,
    on_section: &mut dyn FnMut(Section),
) -> Result<(), ThesisError> {
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build();
    let runtime = runtime.map_err(ThesisError::real_time)?;
    let named = if options.workloads.is_empty() { vec!["A".to_owned()] } else { options.workloads.clone() };
    for letter in &named {
        let (letter, mut job) = workload_job(options, letter)?;
        if options.oram_bytes.is_none() {
            job.truncate(QUICK_STEPS);
        }
        let job = without_unused(&job);
        let trial = trial(options, &job);
        check_room(trial.oram_bytes)?;
        let schemes = selected_schemes(options)?;
        let mut all = Vec::new();
        for (done, scheme) in schemes.iter().enumerate() {
            progress.on_step(&format!("{letter}: {scheme}, real time"), done as u64, schemes.len() as u64);
            all.push(run_both(&runtime, scheme, &trial, options)?);
            let mut so_far = table::workload_section(&letter, &trial, &all);
            so_far.add_text(format!("Interrupted. Not run: {}.", schemes[all.len()..].join(", ")));
            progress.on_partial_report(&so_far.text());
        }
        on_section(table::workload_section(&letter, &trial, &all));
    }
    Ok(())
}

/// Checks that the temporary folder has room for an ORAM and its store.
fn check_room(oram_bytes: u64) -> Result<(), ThesisError> {
    let folder = tempfile::env::temp_dir();
    let about = rustix::fs::statvfs(&folder).map_err(ThesisError::real_time)?;
    let (free, needed) = (about.f_bavail.saturating_mul(about.f_frsize), oram_bytes.saturating_mul(ROOM));
    if needed > free {
        let folder = folder.display();
        let why = format!(
            "an ORAM of {} MiB needs about {} MiB in {folder}, where {} MiB are free: give a smaller --oram, or another TMPDIR",
            oram_bytes >> 20,
            needed >> 20,
            free >> 20
        );
        return Err(ThesisError::RealTime(why.into()));
    }
    Ok(())
}

fn trial<'a>(options: &Options, job: &'a Job) -> Trial<'a> {
    let block_bytes = options.block_bytes.first().copied().unwrap_or(BLOCK_BYTES);
    let needed: u64 = job.sizes.iter().map(|size| size.next_multiple_of(block_bytes)).sum();
    // A gateway keeps a replaced object until the new one is complete.
    let oram_bytes = options.oram_bytes.unwrap_or((2 * needed).next_power_of_two().max(MIN_ORAM));
    Trial { oram_bytes, is_single_run: true, ..Trial::of(job, block_bytes, options) }
}

/// The selected schemes, after the baseline.
fn selected_schemes(options: &Options) -> Result<Vec<&'static str>, ThesisError> {
    let find = |name: &String| {
        let unknown = || {
            let known = format!("{} in real time", SCHEMES.join(", "));
            ThesisError::Unknown { what: "scheme", name: name.clone(), known }
        };
        SCHEMES.into_iter().find(|scheme| scheme.eq_ignore_ascii_case(name)).ok_or_else(unknown)
    };
    let named: Vec<&str> = options.schemes.iter().map(find).collect::<Result<_, _>>()?;
    let is_wanted = |scheme: &&str| named.is_empty() || *scheme == SCHEMES[0] || named.contains(scheme);
    // The whole gateway needs a device, which the caller provides.
    let can = |scheme: &&str| *scheme != "serve" || options.device.is_some();
    Ok(SCHEMES.into_iter().filter(is_wanted).filter(can).collect())
}

/// Runs a scheme in real time and in virtual time.
fn run_both(
    runtime: &Runtime,
    scheme: &'static str,
    trial: &Trial<'_>,
    options: &Options,
) -> Result<RealAndVirtual, ThesisError> {
    let proxy_trial = Trial { has_proxy_slots: true, ..*trial };
    let ring = || SchemeParameters::Ring(ring_variants::parameters_for_bill(trial));
    let real = runtime.block_on(async {
        match (scheme, options.device) {
            ("none", _) => run::plain(trial, false).await,
            ("blocks", _) => run::plain(&proxy_trial, true).await,
            ("path", _) => {
                run::vault(trial, SchemeParameters::Path(schemes::quarter_path_parameters(trial)?)).await
            }
            ("serve", Some(device)) => run::serve(trial, ring(), device).await,
            _ => run::vault(trial, ring()).await,
        }
    })?;
    let simulated = match scheme {
        "none" => plain::whole_objects(trial)?,
        "blocks" => plain::sequential_blocks(&proxy_trial)?,
        "path" => schemes::planned_path(trial)?,
        "serve" => object_layer::gateway_over_ring(trial)?,
        _ => ring_variants::planned_ring(trial)?,
    };
    Ok(RealAndVirtual { scheme, real, simulated })
}

/// Returns the job without the objects that it does not touch, one step after the other.
fn without_unused(job: &Job) -> Job {
    let (mut numbers, mut sizes, mut steps) = (BTreeMap::new(), Vec::new(), job.steps.clone());
    for step in &mut steps {
        let next = sizes.len();
        let number = *numbers.entry(step.object).or_insert(next);
        if number == next {
            sizes.push(job.sizes[step.object]);
        }
        (step.object, step.is_concurrent) = (number, false);
    }
    // Time is measured from the first step on.
    Job { sizes, steps, ..Job::default() }
}

#[cfg(test)]
mod tests;
