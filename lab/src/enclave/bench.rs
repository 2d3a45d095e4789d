//! The runs of a plan: those that count instructions run in parallel, those by the wall clock one at a time.

use super::error::EnclaveError;
use super::fault_cost::FaultCost;
use super::figures::{Figures, Measurement};
use super::machine::{Clock, Machine, RunOutcome, Task, Window};
use super::plan::Plan;
use crate::bench::Progress;
use ameles_programs::Program;
use std::cell::Cell as Count;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::thread;

/// The machines of the bench, and its progress.
pub(super) struct Bench<'a> {
    machine: &'a dyn Machine,
    machines: usize,
    progress: &'a dyn Progress,
    done: Count<u64>,
    all: u64,
}

/// The runs of one program in one configuration.
type Group = Vec<Task>;

impl<'a> Bench<'a> {
    pub(super) fn new(
        machine: &'a dyn Machine,
        machines: usize,
        progress: &'a dyn Progress,
        all: u64,
    ) -> Self {
        Bench { machine, machines: machines.max(1), progress, done: Count::new(0), all }
    }

    /// Counts the instructions, and then measures the wall clock.
    ///
    /// # Errors
    /// A machine cannot be started; a program fails or has too few faults.
    pub(super) fn figures(&self, plan: &Plan) -> Result<Figures, EnclaveError> {
        let counted = self.count_in_parallel(&groups(plan, plan.window))?;
        let groups = groups(plan, plan.timed_window());
        let mut timed = vec![Vec::new(); groups.len()];
        for round in 0..plan.rounds as usize {
            // Each round begins with another one: no configuration always runs after the same.
            for nth in (0..groups.len()).map(|nth| (nth + round) % groups.len()) {
                if let Measurement::Counted(found) = self.time_alone(&groups[nth])? {
                    timed[nth].push(found.per_fault(found.nanos));
                }
            }
        }
        Ok(Figures::of(plan, &counted, &timed))
    }

    /// Counts all groups on several machines at a time.
    fn count_in_parallel(&self, groups: &[Group]) -> Result<Vec<Measurement>, EnclaveError> {
        let tasks: Vec<(usize, &Task)> = groups
            .iter()
            .enumerate()
            .flat_map(|(nth, group)| group.iter().map(move |task| (nth, task)))
            .collect();
        let (next, machine) = (AtomicUsize::new(0), self.machine);
        let mut cells: Vec<Option<Measurement>> = groups.iter().map(|_| None).collect();
        thread::scope(|scope| {
            let (send, receive) = mpsc::channel();
            for _ in 0..self.machines.min(tasks.len()) {
                let (send, next, tasks) = (send.clone(), &next, &tasks);
                scope.spawn(move || {
                    while let Some((nth, task)) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                        // After an error the receiver is gone.
                        if send.send((*nth, *task, run(machine, task, Clock::Instructions))).is_err() {
                            break;
                        }
                    }
                });
            }
            drop(send);
            for (nth, task, cell) in receive {
                self.report_step(task);
                let cell = cell?;
                cells[nth] = Some(match cells[nth].take() {
                    Some(before) => before.combine(cell),
                    None => cell,
                });
            }
            Ok(())
        })?;
        Ok(cells.into_iter().flatten().collect())
    }

    /// Runs a group by the wall clock, while nothing else runs.
    fn time_alone(&self, group: &Group) -> Result<Measurement, EnclaveError> {
        let mut sum: Option<Measurement> = None;
        for task in group {
            let cell = run(self.machine, task, Clock::Wall)?;
            sum = Some(match sum {
                Some(before) => before.combine(cell),
                None => cell,
            });
            self.report_step(task);
        }
        Ok(sum.unwrap_or(Measurement::Counted(FaultCost::default())))
    }

    fn report_step(&self, task: &Task) {
        self.done.set(self.done.get() + 1);
        self.progress.on_step(
            &format!("{}: {}", task.run.name, task.configuration),
            self.done.get(),
            self.all,
        );
    }
}

/// All groups: configuration by configuration, program by program.
fn groups(plan: &Plan, window: Window) -> Vec<Group> {
    let pairs = plan
        .configurations
        .iter()
        .flat_map(|configuration| plan.programs.iter().map(move |program| (*configuration, *program)));
    let group = |(configuration, program): (_, &'static Program)| {
        let task = |run| Task { run, configuration, setting: plan.setting, window };
        program.runs.iter().map(task).collect()
    };
    pairs.map(group).collect()
}

fn run(machine: &dyn Machine, task: &Task, clock: Clock) -> Result<Measurement, EnclaveError> {
    let Task { run, configuration, window, setting } = *task;
    let run = run.name;
    let outcome =
        machine.run(task, clock).map_err(|source| EnclaveError::Run { run, configuration, source })?;
    match outcome {
        RunOutcome::TooLarge(_) if setting.small => Ok(Measurement::TooLarge),
        RunOutcome::TooLarge(reason) => Err(EnclaveError::TooLarge { run, configuration, reason }),
        RunOutcome::Counted(counted) => Ok(Measurement::Counted(counted)),
        RunOutcome::Ended => {
            Err(EnclaveError::FewFaults { run, configuration, last: window.warm_up_faults + window.faults })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::configuration::Configuration;
    use super::super::machine::{Refusal, Setting};
    use super::*;
    use crate::bench::Silent;
    use ameles_pager::scheme::Scheme;
    use ameles_programs::PROGRAMS;
    use ameles_seal::pages::PageCipher;

    /// A machine under which each fault takes 10 instructions, and 30 if it is not a plain one.
    struct FixedCostMachine {
        /// The last fault of a program.
        last: u64,
        /// The least memory that a program fits into, in bytes.
        min: u64,
    }

    impl Machine for FixedCostMachine {
        fn run(&self, task: &Task, clock: Clock) -> Result<RunOutcome, Refusal> {
            if task.setting.untrusted_bytes < self.min {
                return Ok(RunOutcome::TooLarge("it is too large".into()));
            }
            let faults = task.window.faults;
            if task.window.warm_up_faults + faults > self.last {
                return Ok(RunOutcome::Ended);
            }
            let per_fault = if task.configuration == Configuration::PLAIN { 10 } else { 30 };
            let (total, nanos) = match clock {
                Clock::Instructions => (per_fault * faults, 0),
                Clock::Wall => (0, 2 * per_fault * faults),
            };
            Ok(RunOutcome::Counted(FaultCost { faults, total, nanos, ..FaultCost::default() }))
        }
    }

    fn plan(small: bool) -> Plan {
        Plan {
            setting: Setting { cipher: PageCipher::default(), resident: 15, untrusted_bytes: 1000, small },
            window: Window { warm_up_faults: 5, faults: 7 },
            programs: PROGRAMS.iter().collect(),
            configurations: vec![
                Configuration::PLAIN,
                Configuration { scheme: Scheme::Opam, k: None, harts: 1 },
            ],
            rounds: 3,
        }
    }

    fn figures(machine: &FixedCostMachine, small: bool) -> Result<Figures, EnclaveError> {
        Bench::new(machine, 3, &Silent, 0).figures(&plan(small))
    }

    #[test]
    fn each_program_is_counted_and_timed_in_each_configuration_whatever_machine_ends_first() {
        let figures = figures(&FixedCostMachine { last: 100, min: 0 }, false).unwrap();
        for (line, slowdown) in figures.lines.iter().zip([1.0, 3.0]) {
            for (figure, program) in line.programs.iter().zip(&PROGRAMS) {
                let figure = figure.unwrap();
                assert_eq!(figure.counted.faults, 7 * program.runs.len() as u64);
                assert_eq!((figure.slowdown, figure.wall_clock_slowdown), (slowdown, Some(slowdown)));
                assert!((figure.millis.unwrap() - 20e-6 * slowdown).abs() < 1e-12);
            }
        }
    }

    #[test]
    fn a_program_that_ends_within_its_window_is_an_error() {
        let error = figures(&FixedCostMachine { last: 9, min: 0 }, false).unwrap_err();
        assert!(matches!(error, EnclaveError::FewFaults { last: 12, .. }), "{error}");
    }

    #[test]
    fn a_program_that_does_not_fit_is_an_error_but_in_the_sweep() {
        let machine = FixedCostMachine { last: 100, min: 1001 };
        assert!(matches!(figures(&machine, false), Err(EnclaveError::TooLarge { .. })));
        let swept = figures(&machine, true).unwrap();
        assert!(swept.lines.iter().all(|line| line.slowdown().is_none()));
    }
}
