//! Figures out of the rounds: medians with quartiles, and geometric means over the programs.

use super::configuration::{Configuration, Setting};
use super::fault_times::FaultTimes;
use super::plan::Plan;
use super::rounds::Rounds;
use crate::bench::Sample;
use ameles_programs::PROGRAMS;

/// The median and the quartiles of several rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Spread {
    pub(super) median: f64,
    pub(super) lower_quartile: f64,
    pub(super) upper_quartile: f64,
}

impl Spread {
    fn of(measured: &[f64]) -> Self {
        Spread {
            median: Sample::of(measured).median,
            lower_quartile: Sample::quantile(measured, 0.25),
            upper_quartile: Sample::quantile(measured, 0.75),
        }
    }

    /// The geometric means of medians, of lower and of upper quartiles.
    fn geometric_mean<'a>(of: impl Iterator<Item = &'a Spread> + Clone) -> Self {
        let mean =
            |figure: fn(&Spread) -> f64| Sample::geometric_mean(&of.clone().map(figure).collect::<Vec<_>>());
        Spread {
            median: mean(|spread| spread.median),
            lower_quartile: mean(|spread| spread.lower_quartile),
            upper_quartile: mean(|spread| spread.upper_quartile),
        }
    }
}

/// The parts of the time of a fault, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Parts {
    /// The time from fault to fault, without the second process.
    pub(super) all: f64,
    /// The time in ciphers, in the program's own process.
    pub(super) crypto: f64,
    /// The copies of sealed pages, in the program's own process.
    pub(super) copying: f64,
    /// The moves of pages in and out of the program's sight.
    pub(super) moving: f64,
    /// The time to get into the fault path and back, and to wait for off-line work.
    pub(super) trap: f64,
    /// The program's own computation.
    pub(super) program: f64,
    /// The work between the faults, in the program's own process; its ciphers and copies count above too.
    pub(super) off_line: f64,
    /// The number of ciphers and copies of the second process.
    pub(super) second_process: f64,
}

impl Parts {
    fn of(metered: &[FaultTimes], own_micros: f64) -> Self {
        let median = |part: &dyn Fn(&FaultTimes) -> f64| Sample::of(metered.iter().map(part)).median;
        Parts {
            all: median(&|one| one.micros(one.elapsed)),
            crypto: median(&|one| one.micros(one.crypto)),
            copying: median(&|one| one.micros(one.copying)),
            moving: median(&|one| one.micros(one.moving)),
            trap: median(&|one| one.micros(one.elapsed.saturating_sub(one.in_faults)) - own_micros).max(0.0),
            program: own_micros,
            off_line: median(&|one| one.micros(one.off_line)),
            second_process: median(&|one| one.micros(one.second_process)),
        }
    }
}

/// A program in one configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    /// The slowdown against plain of the same round.
    pub(super) slowdown: Spread,
    /// The time from fault to fault, in microseconds.
    pub(super) micros: Spread,
    /// The time in the fault path, in microseconds a fault: the median.
    pub(super) in_faults_micros: f64,
    pub(super) threads: u64,
    /// The number of measured faults in each round, over all runs of the program.
    pub(super) faults: u64,
    pub(super) parts: Option<Parts>,
}

/// The figures of one configuration.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) configuration: Configuration,
    /// The programs' figures, in the order of [`PROGRAMS`].
    pub(super) programs: Vec<Figure>,
    /// The geometric means over the programs.
    pub(super) slowdown: Spread,
    pub(super) micros: Spread,
}

/// The figures of all configurations in one setting.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) setting: Setting,
    pub(super) rounds: u64,
    pub(super) lines: Vec<Line>,
}

/// The figures of the parts of a fault.
pub(super) struct Metered {
    pub(super) rounds: Rounds,
    /// The own computation of each program between two faults.
    pub(super) own_micros: Vec<f64>,
}

impl Figures {
    /// # Panics
    /// If plain was not measured, or nothing was.
    pub(super) fn of(plan: &Plan, rounds: &Rounds, metered: Option<&Metered>) -> Self {
        let plain = plan.configurations.iter().position(|one| *one == Configuration::PLAIN);
        let plain = plain.expect("everything is compared with plain");
        let figure = |program: usize, nth: usize| {
            let (these, plain) = (&rounds[program][nth], &rounds[program][plain]);
            let of = |part: fn(&FaultTimes) -> f64| these.iter().map(part).collect::<Vec<_>>();
            let ratios = these
                .iter()
                .zip(plain)
                .map(|(one, plain)| one.micros(one.elapsed) / plain.micros(plain.elapsed));
            Figure {
                slowdown: Spread::of(&ratios.collect::<Vec<_>>()),
                micros: Spread::of(&of(|one| one.micros(one.elapsed))),
                in_faults_micros: Sample::of(of(|one| one.micros(one.in_faults))).median,
                threads: these[0].threads,
                faults: these[0].faults,
                parts: metered
                    .map(|metered| Parts::of(&metered.rounds[program][nth], metered.own_micros[program])),
            }
        };
        let lines = plan.configurations.iter().enumerate().map(|(nth, configuration)| {
            let programs: Vec<Figure> = (0..PROGRAMS.len()).map(|program| figure(program, nth)).collect();
            Line {
                configuration: *configuration,
                slowdown: Spread::geometric_mean(programs.iter().map(|figure| &figure.slowdown)),
                micros: Spread::geometric_mean(programs.iter().map(|figure| &figure.micros)),
                programs,
            }
        });
        Figures { setting: plan.setting, rounds: plan.rounds, lines: lines.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_pager::scheme::Scheme;
    use ameles_seal::pages::PageCipher;
    use std::time::Duration;

    /// A round with this many microseconds per fault.
    fn duration(micros: u64) -> FaultTimes {
        FaultTimes {
            faults: 1000,
            elapsed: Duration::from_millis(micros),
            threads: 1,
            ..FaultTimes::default()
        }
    }

    #[test]
    fn a_slowdown_is_that_of_each_round_against_plain_of_the_same() {
        let path = Configuration::new(Scheme::Path, None);
        let setting =
            Setting { cipher: PageCipher::default(), resident: 15, warm_up_faults: 0, faults: 1000 };
        let plan =
            Plan { setting, configurations: vec![Configuration::PLAIN, path], rounds: 3, metered_rounds: 0 };
        // The machine gets slower and slower; path takes twice as long as plain, and once three times as long.
        let plain = vec![duration(10), duration(20), duration(40)];
        let twice = vec![duration(20), duration(40), duration(120)];
        let rounds = vec![vec![plain, twice]; PROGRAMS.len()];
        let figures = Figures::of(&plan, &rounds, None);
        let line = &figures.lines[1];
        assert_eq!(
            line.programs[0].slowdown,
            Spread { median: 2.0, lower_quartile: 2.0, upper_quartile: 3.0 }
        );
        assert_eq!(line.programs[0].micros.median, 40.0);
        assert!((line.slowdown.median - 2.0).abs() < 1e-9);
        assert!((line.micros.median - 40.0).abs() < 1e-9);
    }

    #[test]
    fn a_mean_of_ratios_is_geometric() {
        let one = |median| Spread { median, lower_quartile: median / 2.0, upper_quartile: median * 2.0 };
        let mean = Spread::geometric_mean([one(1.0), one(4.0)].iter());
        assert!((mean.median - 2.0).abs() < 1e-9, "{mean:?}");
        assert!((mean.lower_quartile - 1.0).abs() < 1e-9, "{mean:?}");
        assert!((mean.upper_quartile - 4.0).abs() < 1e-9, "{mean:?}");
    }
}
