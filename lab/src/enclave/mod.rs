//! Measures the cost of each paging scheme in the enclave, by instructions, for `ameles enclave bench`. The paper's
//! six programs run under every scheme for the same number of faults. A slowdown is relative to plain encrypted
//! paging.
//!
//! The bench does not know how a machine is started: a [`Machine`] runs a [`Task`] and returns its [`FaultCost`].
//! Instruction counts are the same in every run, so machines may run in parallel. The wall clock is measured in
//! separate runs, one at a time.

mod bench;
mod configuration;
mod csv;
mod error;
mod fault_cost;
mod figures;
mod machine;
mod pictures;
mod plan;
mod table;

pub use configuration::Configuration;
pub use error::EnclaveError;
pub use fault_cost::FaultCost;
pub use machine::{Clock, Machine, Refusal, RunOutcome, Setting, Task, Window};
pub use plan::Options;

use crate::bench::Progress;
use crate::paging::{self, Picture};
use bench::Bench;
use figures::{Figures, PagingBaseline};
use plan::Plan;
use std::io::{self, Write};

/// The figures of all plans, as far as they were measured.
pub struct Report {
    figures: Figures,
    sweeps: [Vec<Figures>; 2],
    paging_baseline: PagingBaseline,
    sweep_result: Result<(), EnclaveError>,
}

/// Measures all plans. Each table is reported as soon as it is complete, with the slowdowns of `ameles page bench` if
/// there are any.
///
/// # Errors
/// A machine cannot be started; a program fails or has too few faults. An error in a sweep is in the report.
pub fn run(
    options: &Options,
    machine: &dyn Machine,
    page_bench: Option<&paging::Report>,
    progress: &dyn Progress,
) -> Result<Report, EnclaveError> {
    let (paper, sweeps) = (options.plan(), options.sweep_plans());
    let all = [&paper].into_iter().chain(sweeps.iter().flatten()).map(Plan::steps).sum();
    let bench = Bench::new(machine, options.machines, progress, all);
    let paging_baseline = PagingBaseline::of(page_bench);
    let found = |table: String| progress.on_figure(&table);

    let figures = bench.figures(&paper)?;
    table::paper_tables(&figures, &paging_baseline).into_iter().for_each(found);
    found(table::instructions_a_fault(&figures));
    found(table::shares(&figures));
    found(table::plain_fault(&figures));
    table::hand_over(&figures).map(found);
    table::wall_clock(&figures).map(found);
    let mut report = Report { figures, sweeps: Default::default(), paging_baseline, sweep_result: Ok(()) };
    report.sweep_result = sweep(&bench, &sweeps, &mut report.sweeps);
    let [resident, memory] = &report.sweeps;
    table::sweep_of_resident_pages(resident).map(found);
    table::sweep_of_memory(memory).map(found);
    Ok(report)
}

/// Measures the sweeps, up to the first error.
fn sweep(
    bench: &Bench<'_>,
    plans: &[Vec<Plan>; 2],
    into: &mut [Vec<Figures>; 2],
) -> Result<(), EnclaveError> {
    for (plans, into) in plans.iter().zip(into) {
        for plan in plans {
            into.push(bench.figures(plan)?);
        }
    }
    Ok(())
}

impl Report {
    /// Draws the paper's Figures 2, 5 and 6 from these figures.
    pub fn pictures(&self) -> Vec<Picture> {
        pictures::paper_pictures(&self.figures)
    }

    /// Writes all figures as comma-separated values.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_csv(&self, into: &mut impl Write) -> io::Result<()> {
        csv::write(
            into,
            [&self.figures].into_iter().chain(self.sweeps.iter().flatten()),
            &self.paging_baseline,
        )
    }

    /// Tells how the sweeps ended. The figures include those that were measured before an error.
    ///
    /// # Errors
    /// The errors of [`run`], in a sweep.
    pub fn sweep_result(self) -> Result<(), EnclaveError> {
        self.sweep_result
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::Silent;
    use ameles_seal::pages::PageCipher;

    /// A machine that does not start with more than 32 resident pages.
    struct SmallMachine;

    impl Machine for SmallMachine {
        fn run(&self, task: &Task, _: Clock) -> Result<RunOutcome, Refusal> {
            if task.setting.resident > 32 {
                return Err("unknown machine".into());
            }
            Ok(RunOutcome::Counted(FaultCost {
                faults: task.window.faults,
                total: 7,
                ..FaultCost::default()
            }))
        }
    }

    #[test]
    fn a_sweep_that_ends_early_leaves_what_was_measured() {
        let options = Options {
            quick: true,
            sweep: true,
            cipher: PageCipher::default(),
            resident: 15,
            untrusted_bytes: None,
            schemes: Vec::new(),
            left_out: vec!["picosat"],
            faults: None,
            warm_up_faults: None,
            rounds: 0,
            machines: 1,
        };
        let report = run(&options, &SmallMachine, None, &Silent).unwrap();
        let resident: Vec<_> = report.sweeps[0].iter().map(|figures| figures.setting.resident).collect();
        assert_eq!(resident, [8, 15, 32]);
        let mut csv = Vec::new();
        report.write_csv(&mut csv).unwrap();
        // A program that cannot be run here is nowhere.
        assert!(!String::from_utf8_lossy(&csv).contains("picosat"));
        assert!(String::from_utf8(csv).unwrap().contains("recommender"));
        assert!(matches!(report.sweep_result(), Err(EnclaveError::Run { .. })));
    }
}
