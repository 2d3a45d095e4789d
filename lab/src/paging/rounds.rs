//! Interleaved rounds: in each of them every program runs once in every configuration, plain among them. So any other
//! load of the machine slows all of them.

use super::configuration::{Configuration, Setting};
use super::error::{PagedRun, PagingError};
use super::fault_times::FaultTimes;
use super::pager::{Pager, RunEnd, Window};
use super::plan::Plan;
use super::programs::Programs;
use super::step_counter::StepCounter;
use ameles_programs::{PROGRAMS, Program, Run};

/// The measurements: for each program, for each configuration, one of each round.
pub(super) type Rounds = Vec<Vec<Vec<FaultTimes>>>;

/// The programs and the pager of the bench.
pub(super) struct Bench<'a> {
    pub(super) programs: &'a Programs,
    pub(super) pager: &'a dyn Pager,
    pub(super) steps: &'a StepCounter<'a>,
}

impl Bench<'_> {
    /// Runs the rounds that count.
    ///
    /// # Errors
    /// A run cannot be started, fails, or has too few faults.
    pub(super) fn measure(&self, plan: &Plan) -> Result<Rounds, PagingError> {
        self.take_turns(plan, plan.rounds, false)
    }

    /// Takes the metered rounds.
    ///
    /// # Errors
    /// The errors of [`measure`](Self::measure).
    pub(super) fn meter(&self, plan: &Plan) -> Result<Rounds, PagingError> {
        self.take_turns(plan, plan.metered_rounds, true)
    }

    fn take_turns(&self, plan: &Plan, rounds: u64, metered: bool) -> Result<Rounds, PagingError> {
        let count = plan.configurations.len();
        let mut measured: Rounds = PROGRAMS.iter().map(|_| vec![Vec::new(); count]).collect();
        for round in 0..rounds as usize {
            for (program, measured) in PROGRAMS.iter().zip(&mut measured) {
                // Each round begins with another one: no configuration always runs after the same.
                for turn in (0..count).map(|turn| (turn + round) % count) {
                    let configuration = plan.configurations[turn];
                    self.steps.begin(&format!("{}: {configuration}", program.name));
                    measured[turn].push(self.program(program, configuration, &plan.setting, metered)?);
                    self.steps.end();
                }
            }
        }
        Ok(measured)
    }

    /// Runs all runs of a program for the faults of the setting.
    fn program(
        &self,
        program: &Program,
        configuration: Configuration,
        setting: &Setting,
        metered: bool,
    ) -> Result<FaultTimes, PagingError> {
        let each = program.runs.iter().map(|run| self.run_once(run, configuration, setting, metered));
        each.reduce(|sum, next| Ok(sum? + next?)).unwrap_or_else(|| Ok(FaultTimes::default()))
    }

    fn run_once(
        &self,
        run: &Run,
        configuration: Configuration,
        setting: &Setting,
        metered: bool,
    ) -> Result<FaultTimes, PagingError> {
        let Setting { warm_up_faults, faults, resident, cipher } = *setting;
        let (command, window) = (self.programs.command(run), Window { warm_up_faults, faults, metered });
        let ended = self.pager.run_paged(command, setting.paging(configuration), Some(window));
        let RunEnd { status, measured } = ended.map_err(PagingError::Run)?;
        let paged = PagedRun { run: run.name, configuration, cipher, resident };
        let measured = measured.ok_or(PagingError::NoWindow { paged, status })?;
        if measured.faults != faults {
            return Err(PagingError::FewFaults {
                paged,
                status,
                found: measured.faults,
                faults,
                warm_up_faults,
            });
        }
        if !status.success() {
            return Err(PagingError::FailedInWindow { paged, status });
        }
        Ok(measured)
    }
}
