//! The schedule of steps: several run at the same time, so that one computes while another waits for a server or a
//! browser.

use crate::budget;
use crate::measure::{self, processor_time, run_measured};
use crate::record::{self, Kind, Line};
use crate::step::Step;
use crate::steps::Effort;
use crate::tool::command;
use anyhow::{Context, Result, bail};
use std::ffi::OsString;
use std::fs::{self, File};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread;
use std::time::{Duration, Instant};
use wait4::ResUse;

/// The maximal number of steps that run at the same time, on two processors: some wait for a server, a browser or one
/// long compilation.
const MAX_RUNNING: usize = 3;

/// The result of a step.
struct StepResult {
    step: Step,
    /// The reason of a failure.
    failure: Option<String>,
    elapsed: Duration,
    processor_time: Duration,
}

/// A run of several steps.
pub struct Run {
    folder: PathBuf,
    effort: Effort,
    record: PathBuf,
    /// The program that runs a step.
    program: PathBuf,
    /// The variables that make the steps measure their commands.
    variables: Vec<(&'static str, OsString)>,
}

impl Run {
    /// Creates the folder for logs and the record, and calibrates.
    pub fn new(folder: PathBuf, effort: Effort) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("creating {}", folder.display()))?;
        let record = folder.join(record::FILE_NAME);
        if record.exists() {
            fs::remove_file(&record).with_context(|| format!("removing {}", record.display()))?;
        }
        let (program, variables) = (measure::copy(&folder, "step")?, measure::install(&folder, &record)?);
        budget::calibrate(&program, &record)?;
        Ok(Run { folder, effort, record, program, variables })
    }

    /// Runs the steps until all have passed or one has failed, then prints the time of each.
    ///
    /// Each step is a process of its own. Its output is printed when it ends.
    pub fn run_all(self, steps: &[Step]) -> Result<()> {
        let (sender, receiver) = channel();
        let run = Arc::new(self);
        let (stop_sender, stop) = channel();
        let calibrated_run = run.clone();
        let calibrations = thread::spawn(move || {
            budget::calibrate_until(&calibrated_run.program, &calibrated_run.record, &stop)
        });
        let (mut waiting, mut results, mut running) = (steps.to_vec(), Vec::<StepResult>::new(), Vec::new());
        loop {
            let has_failed = results.iter().any(|result| result.failure.is_some());
            let can_start =
                |step: &Step| !has_failed && is_ready(*step, steps, &results) && has_room(*step, &running);
            if let Some(nth) = waiting.iter().position(can_start) {
                let step = waiting.remove(nth);
                println!("==> {} begins: {}", step.name(), step.promise());
                run.add_line(Kind::Begin, step, Duration::ZERO)?;
                run.clone().start(step, sender.clone());
                running.push(step);
                continue;
            }
            if running.is_empty() {
                break;
            }
            let result: StepResult = receiver.recv()?;
            running.retain(|step| *step != result.step);
            run.print(&result, results.len() + 1, steps.len())?;
            run.add_line(Kind::Step, result.step, result.processor_time)?;
            results.push(result);
        }
        drop(stop_sender);
        calibrations.join().expect("no panic")?;
        summary(&results)
    }

    /// Adds a line about a step to the record.
    fn add_line(&self, kind: Kind, step: Step, processor_time: Duration) -> Result<()> {
        record::add(&self.record, &Line { kind, name: step.name().into(), processor_time })
    }

    fn start(self: Arc<Self>, step: Step, sender: Sender<StepResult>) {
        thread::spawn(move || {
            let start = Instant::now();
            let (failure, processor_time) = match self.run_as_process(step) {
                Ok(usage) if usage.status.success() => (None, processor_time(&usage)),
                Ok(usage) => (Some(usage.status.to_string()), processor_time(&usage)),
                Err(error) => (Some(format!("{error:#}")), Duration::ZERO),
            };
            // After an error the receiver is gone.
            let _ = sender.send(StepResult { step, failure, elapsed: start.elapsed(), processor_time });
        });
    }

    /// Runs a step as a process of its own.
    fn run_as_process(&self, step: Step) -> Result<ResUse> {
        let path = self.log_path(step);
        let log = File::create(&path).with_context(|| format!("creating {}", path.display()))?;
        let mut process = command(&self.program);
        process.args(["step", step.name()]).args(self.effort.flags());
        process.envs(self.variables.iter().cloned());
        run_measured(process.stderr(log.try_clone()?).stdout(log))
    }

    fn log_path(&self, step: Step) -> PathBuf {
        self.folder.join(step.name()).with_extension("log")
    }

    fn print(&self, result: &StepResult, number: usize, total: usize) -> Result<()> {
        let StepResult { step, failure, elapsed, .. } = result;
        println!(
            "\n==> {} ({number} of {total}, {:.1} s): {}",
            step.name(),
            elapsed.as_secs_f64(),
            step.promise()
        );
        std::io::copy(&mut File::open(self.log_path(*step))?, &mut std::io::stdout())?;
        if let Some(failure) = failure {
            println!(
                "step `{0}` failed ({failure}); `cargo xtask test --only {0}` runs it alone",
                step.name()
            );
        }
        Ok(())
    }
}

/// Returns true if every chosen predecessor of a step has ended.
fn is_ready(step: Step, chosen: &[Step], results: &[StepResult]) -> bool {
    let has_ended = |before: &Step| results.iter().any(|result| result.step == *before);
    step.predecessors().iter().filter(|before| chosen.contains(before)).all(has_ended)
}

/// Returns true if a step may run at the same time as the running ones.
fn has_room(step: Step, running: &[Step]) -> bool {
    running.is_empty()
        || (running.len() < MAX_RUNNING
            && !step.is_exclusive()
            && !running.iter().any(|other| other.is_exclusive()))
}

fn summary(results: &[StepResult]) -> Result<()> {
    println!("\n{:<13} {:>9} {:>11}", "step", "seconds", "processor");
    for StepResult { step, elapsed, processor_time, .. } in results {
        println!("{:<13} {:>9.1} {:>11.1}", step.name(), elapsed.as_secs_f64(), processor_time.as_secs_f64());
    }
    let failed: Vec<&str> =
        results.iter().filter(|result| result.failure.is_some()).map(|result| result.step.name()).collect();
    println!("steps: {} passed, {} failed", results.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}
