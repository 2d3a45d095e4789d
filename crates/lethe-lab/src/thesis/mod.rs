//! The workloads of a thesis, "Oblivious RAM in practice" (2019), in virtual time: every scheme does the same reads
//! and writes of objects over the thesis's link, and its figures stand beside those that the thesis prints.
//!
//! The thesis ran its workloads once, on objects that it had drawn; here they are drawn anew, so that totals
//! differ. Bytes and requests for each access of a block can be compared.

mod csv;
mod drive;
mod error;
mod git;
mod job;
mod options;
mod partitions;
mod plain;
mod printed;
mod ran;
mod rings;
mod row;
mod schemes;
mod section;
mod table;
mod trial;
mod workloads;

pub use error::ThesisError;
pub use job::{Job, ObjectPart, Step};
pub use options::{CountFilling, Options, Part};
pub use printed::{Line, Printed};
pub use ran::{Filling, Ran};
pub use row::Row;
pub use section::{Picture, Piece, Section, Sheet};

use crate::bench::Progress;
use crate::virtual_time::LinkModel;
use schemes::{BASELINE, NAMED_ONLY, SCHEMES, Scheme};
use std::io::{self, Write};
use trial::Trial;

/// The steps of a job with `quick`.
const QUICK_STEPS: usize = 30;

/// The block sizes in KiB of a workload that is not the thesis's.
const OTHER_BLOCKS_KIB: [u64; 3] = [64, 256, 1024];

/// The figures of all runs.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    /// The rows of the workloads, workload by workload.
    pub rows: Vec<Row>,
    /// The sections, in the order in which they were told.
    pub sections: Vec<Section>,
}

/// The runs of a workload.
struct Runs {
    letter: String,
    job: Job,
    /// The schemes, each with its block size in KiB.
    runs: Vec<(&'static Scheme, Option<u64>)>,
}

/// Runs the parts that were asked for. Each section is told as soon as it is found.
///
/// # Errors
/// [`ThesisError`].
pub fn run(options: &Options, progress: &dyn Progress) -> Result<Report, ThesisError> {
    let mut report = Report { rows: Vec::new(), sections: Vec::new() };
    for part in options.parts() {
        let mut found = |section: Section| {
            progress.found(&section.text());
            report.sections.push(section);
        };
        match part {
            Part::Workloads => report.rows = run_workloads(options, progress, &mut found)?,
            Part::Git => found(git::run(options, progress)?),
        }
    }
    Ok(report)
}

/// Runs the workloads, and returns their rows.
fn run_workloads(
    options: &Options,
    progress: &dyn Progress,
    found: &mut dyn FnMut(Section),
) -> Result<Vec<Row>, ThesisError> {
    let (printed, plans) = (Printed::tables(), plan(options)?);
    let all = plans.iter().map(|plan| plan.runs.len() as u64).sum();
    let (mut rows, mut done) = (Vec::new(), 0);
    for Runs { letter, job, runs } in &plans {
        let trial = |scheme: &Scheme, block_kib: Option<u64>| Trial {
            job,
            oram_bytes: trial::ORAM_BYTES,
            block_bytes: block_kib.unwrap_or(1) << 10,
            model: LinkModel {
                speed: options.link,
                server: options.server,
                in_flight: drive::How::TOGETHER.in_flight,
            },
            seed: options.seed,
            as_proxy: scheme.as_proxy,
        };
        let baseline = (SCHEMES[0].run)(&trial(&SCHEMES[0], None))?;
        let before = rows.len();
        for (scheme, block_kib) in runs {
            let block = block_kib.map_or(String::new(), |kib| format!(", blocks of {kib} KiB"));
            progress.at(&format!("{letter}: {}{block}", scheme.name), done, all);
            let ran = (scheme.run)(&trial(scheme, *block_kib))?;
            rows.push(Row {
                workload: letter.clone(),
                scheme: scheme.name,
                printed: scheme.printed,
                block_kib: *block_kib,
                ran,
                baseline,
                filling: options.filling,
            });
            done += 1;
        }
        found(table::of_workload(&rows[before..], &printed));
    }
    if let Some(section) = table::each_access(&rows, &printed) {
        found(section);
    }
    Ok(rows)
}

/// The runs that were asked for, with the jobs drawn.
fn plan(options: &Options) -> Result<Vec<Runs>, ThesisError> {
    let letters = workloads::WORKLOADS.map(|(letter, _)| letter.to_owned());
    let letters = if options.workloads.is_empty() { letters.to_vec() } else { options.workloads.clone() };
    let (schemes, folders, printed) = (chosen(options)?, workloads::folders(), Printed::tables());
    let plan = |letter: String| {
        let (letter, workload) = workloads::read(&letter)?;
        let mut job = Job::draw(&workload, &folders, options.seed)?;
        let mut sizes = printed.blocks_kib(&letter);
        if sizes.is_empty() {
            sizes = OTHER_BLOCKS_KIB.into();
        }
        if options.quick {
            job.truncate(QUICK_STEPS);
            sizes.drain(..sizes.len() - 1);
        }
        if !options.block_bytes.is_empty() {
            sizes = options.block_bytes.iter().map(|bytes| bytes >> 10).collect();
        }
        let of_scheme = |scheme: &'static Scheme| {
            let sizes =
                if scheme.has_blocks { sizes.iter().copied().map(Some).collect() } else { vec![None] };
            let fits = |kib: &Option<u64>| {
                kib.is_none_or(|kib| trial::ORAM_BYTES / (kib << 10) <= scheme.most_blocks)
            };
            sizes.into_iter().filter(fits).map(|kib| (scheme, kib)).collect::<Vec<_>>()
        };
        Ok(Runs { letter, job, runs: schemes.iter().copied().flat_map(of_scheme).collect() })
    };
    letters.into_iter().map(plan).collect()
}

/// The schemes that were asked for.
fn chosen(options: &Options) -> Result<Vec<&'static Scheme>, ThesisError> {
    static ALL: ([Scheme; SCHEMES.len()], [Scheme; NAMED_ONLY.len()]) = (SCHEMES, NAMED_ONLY);
    if let Some(bytes) = options.block_bytes.iter().find(|bytes| !is_a_block(**bytes)) {
        let known = "a multiple of 1 KiB from 4 KiB to 16 MiB".to_owned();
        return Err(ThesisError::Unknown { what: "block", name: bytes.to_string(), known });
    }
    if options.schemes.is_empty() {
        return Ok(ALL.0.iter().collect());
    }
    let find = |name: &String| {
        let found = ALL.0.iter().chain(&ALL.1).find(|scheme| scheme.name.eq_ignore_ascii_case(name));
        found.ok_or_else(|| ThesisError::Unknown {
            what: "scheme",
            name: name.clone(),
            known: ALL.0.iter().chain(&ALL.1).map(|scheme| scheme.name).collect::<Vec<_>>().join(", "),
        })
    };
    let mut named: Vec<&'static Scheme> = options.schemes.iter().map(find).collect::<Result<_, _>>()?;
    if !named.iter().any(|scheme| scheme.name == BASELINE) {
        named.insert(0, &ALL.0[0]);
    }
    Ok(named)
}

fn is_a_block(bytes: u64) -> bool {
    bytes.is_multiple_of(1 << 10) && (4 << 10..=16 << 20).contains(&bytes)
}

impl Report {
    /// Writes all figures as comma-separated values, with those that the thesis prints.
    ///
    /// # Errors
    /// The writer's.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(into, &self.rows, &Printed::tables())
    }
}

#[cfg(test)]
mod predicted;
#[cfg(test)]
mod tests;
