//! Steps side by side: a step that waits, for a server or a browser, leaves the processors to one that computes.

use crate::budget;
use crate::measure::{self, processor, used_by};
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

/// Steps that run at a time, on two processors: some of them wait, for a server, a browser or one long compilation.
const LANES: usize = 3;

/// A step that has ended.
struct Ended {
    step: Step,
    /// The reason, if it failed.
    failure: Option<String>,
    wall: Duration,
    processor: Duration,
}

/// A run of several steps.
pub struct Run {
    folder: PathBuf,
    effort: Effort,
    record: PathBuf,
    /// The program that runs a step.
    program: PathBuf,
    /// Variables with which the steps measure what they run.
    measuring: Vec<(&'static str, OsString)>,
}

impl Run {
    /// A run whose logs and record lie in a folder, which is made.
    pub fn new(folder: PathBuf, effort: Effort) -> Result<Self> {
        fs::create_dir_all(&folder).with_context(|| format!("making {}", folder.display()))?;
        let record = folder.join(record::NEWEST);
        if record.exists() {
            fs::remove_file(&record).with_context(|| format!("removing {}", record.display()))?;
        }
        let (program, measuring) = (measure::copy(&folder, "step")?, measure::install(&folder, &record)?);
        budget::calibrate(&program, &record)?;
        Ok(Run { folder, effort, record, program, measuring })
    }

    /// Runs the steps until all have passed or one has failed, and says what each took.
    ///
    /// Each is a process of its own, whose output is shown when it has ended.
    pub fn all(self, steps: &[Step]) -> Result<()> {
        let (sender, receiver) = channel();
        let run = Arc::new(self);
        let (goes_on, until) = channel();
        let calibrating = run.clone();
        let calibrations = thread::spawn(move || {
            budget::keep_calibrating(&calibrating.program, &calibrating.record, &until)
        });
        let (mut waiting, mut ended, mut running) = (steps.to_vec(), Vec::<Ended>::new(), Vec::new());
        loop {
            let has_failed = ended.iter().any(|end| end.failure.is_some());
            let may_begin =
                |step: &Step| !has_failed && is_ready(*step, steps, &ended) && has_room(*step, &running);
            if let Some(nth) = waiting.iter().position(may_begin) {
                let step = waiting.remove(nth);
                println!("==> {} begins: {}", step.name(), step.promise());
                run.note(Kind::Begin, step, Duration::ZERO)?;
                run.clone().begin(step, sender.clone());
                running.push(step);
                continue;
            }
            if running.is_empty() {
                break;
            }
            let end: Ended = receiver.recv()?;
            running.retain(|step| *step != end.step);
            run.show(&end, ended.len() + 1, steps.len())?;
            run.note(Kind::Step, end.step, end.processor)?;
            ended.push(end);
        }
        drop(goes_on);
        calibrations.join().expect("no panic")?;
        summary(&ended)
    }

    /// Adds a line about a step to the record.
    fn note(&self, kind: Kind, step: Step, processor: Duration) -> Result<()> {
        record::add(&self.record, &Line { kind, name: step.name().into(), processor })
    }

    fn begin(self: Arc<Self>, step: Step, sender: Sender<Ended>) {
        thread::spawn(move || {
            let start = Instant::now();
            let (failure, processor) = match self.alone(step) {
                Ok(used) if used.status.success() => (None, processor(&used)),
                Ok(used) => (Some(used.status.to_string()), processor(&used)),
                Err(error) => (Some(format!("{error:#}")), Duration::ZERO),
            };
            // Nobody listens any more after an error of the other end.
            let _ = sender.send(Ended { step, failure, wall: start.elapsed(), processor });
        });
    }

    /// Runs a step as a process of its own.
    fn alone(&self, step: Step) -> Result<ResUse> {
        let log = self.log_of(step);
        let log = File::create(&log).with_context(|| format!("making {}", log.display()))?;
        let mut process = command(&self.program);
        process.args(["step", step.name()]).args(self.effort.flags());
        process.envs(self.measuring.iter().cloned());
        used_by(process.stderr(log.try_clone()?).stdout(log))
    }

    fn log_of(&self, step: Step) -> PathBuf {
        self.folder.join(step.name()).with_extension("log")
    }

    fn show(&self, end: &Ended, number: usize, of: usize) -> Result<()> {
        let Ended { step, failure, wall, .. } = end;
        println!("\n==> {} ({number} of {of}, {:.1} s): {}", step.name(), wall.as_secs_f64(), step.promise());
        std::io::copy(&mut File::open(self.log_of(*step))?, &mut std::io::stdout())?;
        if let Some(failure) = failure {
            println!(
                "step `{0}` failed ({failure}); `cargo xtask test --only {0}` runs it alone",
                step.name()
            );
        }
        Ok(())
    }
}

/// Tells whether all that comes before a step and is run at all has ended.
fn is_ready(step: Step, chosen: &[Step], ended: &[Ended]) -> bool {
    let has_ended = |before: &Step| ended.iter().any(|end| end.step == *before);
    step.after().iter().filter(|before| chosen.contains(before)).all(has_ended)
}

/// Tells whether a step may run beside those that do.
fn has_room(step: Step, running: &[Step]) -> bool {
    running.is_empty()
        || (running.len() < LANES && !step.is_alone() && !running.iter().any(|beside| beside.is_alone()))
}

fn summary(ended: &[Ended]) -> Result<()> {
    println!("\n{:<13} {:>9} {:>11}", "step", "seconds", "processor");
    for Ended { step, wall, processor, .. } in ended {
        println!("{:<13} {:>9.1} {:>11.1}", step.name(), wall.as_secs_f64(), processor.as_secs_f64());
    }
    let failed: Vec<&str> =
        ended.iter().filter(|end| end.failure.is_some()).map(|end| end.step.name()).collect();
    println!("steps: {} passed, {} failed", ended.len() - failed.len(), failed.len());
    if failed.is_empty() { Ok(()) } else { bail!("failed: {}", failed.join(", ")) }
}
