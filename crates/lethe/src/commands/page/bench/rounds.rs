//! Interleaved rounds: in each of them every program runs once in every configuration, plain among them. So any other
//! load of the machine slows all of them.

use super::configurations::{Configuration, Setting};
use super::measure::{self, Measured};
use super::programs::Programs;
use anyhow::Result;
use indicatif::ProgressBar;
use lethe_programs::PROGRAMS;

/// The measurements to make.
pub(super) struct Plan {
    pub(super) setting: Setting,
    pub(super) configurations: Vec<Configuration>,
    pub(super) rounds: u64,
    /// Further rounds, in which ciphers and copies are timed one by one. That takes time itself: they count for nothing
    /// else.
    pub(super) metered_rounds: u64,
}

/// The measurements: for each program, for each configuration, one of each round.
pub(super) type Rounds = Vec<Vec<Vec<Measured>>>;

impl Plan {
    /// Steps of a progress bar.
    pub(super) fn steps(&self) -> u64 {
        (self.rounds + self.metered_rounds) * (PROGRAMS.len() * self.configurations.len()) as u64
    }

    /// The rounds that count.
    ///
    /// # Errors
    /// As [`measure::program`].
    pub(super) fn measure(&self, programs: &Programs, bar: &ProgressBar) -> Result<Rounds> {
        self.take_turns(programs, self.rounds, false, bar)
    }

    /// The metered rounds.
    ///
    /// # Errors
    /// As [`measure::program`].
    pub(super) fn meter(&self, programs: &Programs, bar: &ProgressBar) -> Result<Rounds> {
        self.take_turns(programs, self.metered_rounds, true, bar)
    }

    fn take_turns(
        &self,
        programs: &Programs,
        rounds: u64,
        metered: bool,
        bar: &ProgressBar,
    ) -> Result<Rounds> {
        let count = self.configurations.len();
        let mut measured: Rounds = PROGRAMS.iter().map(|_| vec![Vec::new(); count]).collect();
        for round in 0..rounds as usize {
            for (program, measured) in PROGRAMS.iter().zip(&mut measured) {
                // Each round begins with another one: no configuration always runs after the same.
                for turn in (0..count).map(|turn| (turn + round) % count) {
                    let configuration = self.configurations[turn];
                    bar.set_message(format!("{}: {configuration}", program.name));
                    let one = measure::program(programs, program, configuration, &self.setting, metered)?;
                    measured[turn].push(one);
                    bar.inc(1);
                }
            }
        }
        Ok(measured)
    }
}
