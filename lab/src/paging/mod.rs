//! The cost of each paging scheme, behind `ameles page bench`: six programs are paged by every scheme for the same
//! number of faults, in interleaved rounds. A slowdown is that against plain paging in the same round.
//!
//! The bench does not know how a program is paged: a [`Pager`] starts it, and returns its [`FaultTimes`] cost.

pub(crate) mod colours;
pub(crate) mod configuration;
pub(crate) mod csv;
mod error;
mod fault_times;
mod figures;
mod pager;
pub(crate) mod paper;
pub(crate) mod pictures;
mod plan;
mod programs;
mod rounds;
mod step_counter;
mod table;
mod whole_runs;

pub use configuration::Configuration;
pub use error::{PagedRun, PagingError};
pub use fault_times::FaultTimes;
pub use pager::{Pager, Paging, Refusal, RunEnd, Window};
pub use pictures::Picture;
pub use plan::Options;
pub use programs::Programs;

use crate::bench::Progress;
use ameles_programs::PROGRAMS;
use figures::{Figures, Metered};
use plan::Plan;
use rounds::Bench;
use std::io::{self, Write};
use step_counter::StepCounter;

/// The figures of all plans.
pub struct Report {
    figures: Figures,
    second: Option<Figures>,
    sweep: Vec<Figures>,
}

/// Measures all plans. Each table is reported as soon as it is complete.
///
/// # Errors
/// A program cannot be run, fails, or has too few faults.
pub fn run(
    options: &Options,
    programs: &Programs,
    pager: &dyn Pager,
    progress: &dyn Progress,
) -> Result<Report, PagingError> {
    let (paper, second, sweep) = (options.plan(), options.second_plan(), options.sweep_plans());
    let plans = [&paper].into_iter().chain(&second).chain(&sweep);
    let whole: u64 = if paper.metered_rounds > 0 { PROGRAMS.iter().map(whole_runs::steps).sum() } else { 0 };
    let steps = StepCounter::new(progress, plans.map(Plan::steps).sum::<u64>() + whole);
    let bench = Bench { programs, pager, steps: &steps };
    let found = |table: String| progress.on_figure(&table);

    let figures = bench.figures(&paper)?;
    found(table::slowdowns(&figures));
    found(table::micros_a_fault(&figures));
    table::shares(&figures).map(found);
    let second = second.as_ref().map(|plan| bench.figures(plan)).transpose()?;
    second.as_ref().map(table::slowdowns).map(found);
    let sweep = sweep.iter().map(|plan| bench.figures(plan)).collect::<Result<Vec<_>, _>>()?;
    if !sweep.is_empty() {
        found(table::sweep(&sweep));
    }
    Ok(Report { figures, second, sweep })
}

impl Bench<'_> {
    fn figures(&self, plan: &Plan) -> Result<Figures, PagingError> {
        let rounds = self.measure(plan)?;
        let metered = (plan.metered_rounds > 0).then(|| self.metered(plan)).transpose()?;
        Ok(Figures::of(plan, &rounds, metered.as_ref()))
    }

    /// Measures the parts of a fault, in separate rounds, and the programs' own computation.
    fn metered(&self, plan: &Plan) -> Result<Metered, PagingError> {
        let own_micros: Result<Vec<f64>, PagingError> =
            PROGRAMS.iter().map(|program| whole_runs::own_micros(self, program, &plan.setting)).collect();
        Ok(Metered { rounds: self.meter(plan)?, own_micros: own_micros? })
    }
}

impl Report {
    /// The mean slowdown of each configuration in the paper's setting.
    pub(crate) fn slowdowns(&self) -> impl Iterator<Item = (Configuration, f64)> {
        self.figures.lines.iter().map(|line| (line.configuration, line.slowdown.median))
    }

    /// Draws the paper's Figures 2, 5 and 6 from these figures, and the sweep if there was one.
    pub fn pictures(&self) -> impl Iterator<Item = Picture> {
        pictures::paper_pictures(&self.figures).into_iter().chain(pictures::sweep_picture(&self.sweep))
    }

    /// Writes all figures as comma-separated values.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(into, [&self.figures].into_iter().chain(&self.second).chain(&self.sweep))
    }
}
