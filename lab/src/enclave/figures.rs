//! Figures out of the runs: slowdowns against plain, and geometric means over the programs.

use super::configuration::Configuration;
use super::fault_cost::FaultCost;
use super::machine::{Setting, Window};
use super::plan::Plan;
use crate::bench::Sample;
use crate::paging;
use ameles_pager::scheme::Scheme;

/// The counts of a program in a configuration.
#[derive(Clone, Copy, Debug)]
pub(super) enum Measurement {
    Counted(FaultCost),
    /// The program does not fit.
    TooLarge,
}

impl Measurement {
    /// The counts of two runs together.
    pub(super) fn combine(self, other: Measurement) -> Measurement {
        match (self, other) {
            (Measurement::Counted(one), Measurement::Counted(other)) => Measurement::Counted(one + other),
            _ => Measurement::TooLarge,
        }
    }

    pub(super) fn counted(&self) -> Option<&FaultCost> {
        match self {
            Measurement::Counted(counted) => Some(counted),
            Measurement::TooLarge => None,
        }
    }
}

/// The figures of a program in one configuration.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figure {
    pub(super) counted: FaultCost,
    /// The slowdown against plain, by the critical path.
    pub(super) slowdown: f64,
    /// The slowdown by the instructions of all harts.
    pub(super) total_slowdown: f64,
    /// The slowdown by the wall clock, if it was measured.
    pub(super) wall_clock_slowdown: Option<f64>,
    /// The number of milliseconds from fault to fault by the wall clock: the median over the rounds.
    pub(super) millis: Option<f64>,
}

/// The figures of one configuration.
#[derive(Clone, Debug)]
pub(super) struct Line {
    pub(super) configuration: Configuration,
    /// The figures of the programs, or `None` for a program that does not fit under this scheme or under plain paging.
    pub(super) programs: Vec<Option<Figure>>,
}

impl Line {
    /// The geometric mean over the programs, if all have the figure.
    pub(super) fn mean(&self, of: impl Fn(&Figure) -> Option<f64>) -> Option<f64> {
        let values: Option<Vec<f64>> =
            self.programs.iter().map(|figure| figure.as_ref().and_then(&of)).collect();
        values.map(|values| Sample::geometric_mean(&values))
    }

    /// The geometric mean of the slowdowns.
    pub(super) fn slowdown(&self) -> Option<f64> {
        self.mean(|figure| Some(figure.slowdown))
    }
}

/// The figures of all configurations in one setting.
#[derive(Clone, Debug)]
pub(super) struct Figures {
    pub(super) setting: Setting,
    pub(super) window: Window,
    pub(super) rounds: u64,
    /// The names of the programs.
    pub(super) programs: Vec<&'static str>,
    pub(super) lines: Vec<Line>,
}

impl Figures {
    /// Returns the lines of a figure of the paper: first the schemes shown for comparison, then the figure's own.
    /// Returns nothing if none of its own was measured.
    pub(super) fn lines_of(&self, paging_baseline: &[Scheme], own: &[Scheme]) -> Vec<&Line> {
        let of = |scheme: &Scheme| {
            let scheme = *scheme;
            self.lines.iter().filter(move |line| line.configuration.scheme == scheme)
        };
        if own.iter().flat_map(of).next().is_none() {
            return Vec::new();
        }
        paging_baseline.iter().chain(own).flat_map(of).collect()
    }

    /// Figures of cells that come configuration by configuration, and of the nanoseconds a fault of the same.
    ///
    /// # Panics
    /// If plain does not come first.
    pub(super) fn of(plan: &Plan, cells: &[Measurement], nanos: &[Vec<f64>]) -> Self {
        assert_eq!(plan.configurations[0], Configuration::PLAIN, "everything is compared with plain");
        let programs = plan.programs.len();
        let median = |nth: usize| (!nanos[nth].is_empty()).then(|| Sample::of(&nanos[nth]).median);
        let figure = |line: usize, program: usize| {
            let nth = line * programs + program;
            let (counted, plain) = (cells[nth].counted()?, cells[program].counted()?);
            let scheme = plan.configurations[line].scheme;
            Some(Figure {
                counted: *counted,
                slowdown: counted.critical_path(scheme) as f64 / plain.total as f64,
                total_slowdown: counted.total as f64 / plain.total as f64,
                wall_clock_slowdown: median(nth).zip(median(program)).map(|(this, plain)| this / plain),
                millis: median(nth).map(|nanos| nanos / 1e6),
            })
        };
        let line = |(line, configuration): (usize, &Configuration)| Line {
            configuration: *configuration,
            programs: (0..programs).map(|program| figure(line, program)).collect(),
        };
        Figures {
            setting: plan.setting,
            window: plan.window,
            rounds: plan.rounds,
            programs: plan.programs.iter().map(|program| program.name).collect(),
            lines: plan.configurations.iter().enumerate().map(line).collect(),
        }
    }
}

/// The slowdowns of `ameles page bench`.
pub(super) struct PagingBaseline(Vec<(paging::Configuration, f64)>);

impl PagingBaseline {
    pub(super) fn of(report: Option<&paging::Report>) -> Self {
        PagingBaseline(report.map_or_else(Vec::new, |report| report.slowdowns().collect()))
    }

    /// The mean slowdown of the same scheme and K.
    pub(super) fn slowdown(&self, configuration: Configuration) -> Option<f64> {
        let paging_configuration = configuration.paging_configuration();
        self.0.iter().find(|(known, _)| *known == paging_configuration).map(|(_, slowdown)| *slowdown)
    }

    pub(super) fn is_measured(&self) -> bool {
        !self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_pager::scheme::Scheme;
    use ameles_programs::PROGRAMS;
    use ameles_seal::pages::PageCipher;

    fn plan(configurations: Vec<Configuration>) -> Plan {
        Plan {
            setting: Setting { cipher: PageCipher::default(), resident: 15, untrusted_bytes: 0, small: true },
            window: Window { warm_up_faults: 0, faults: 1 },
            programs: PROGRAMS[..2].iter().collect(),
            configurations,
            rounds: 0,
        }
    }

    #[test]
    fn a_slowdown_is_against_plain_of_the_same_program_and_means_are_geometric() {
        let eager = Configuration { scheme: Scheme::Eager, k: Some(3), harts: 1 };
        let plan = plan(vec![Configuration::PLAIN, eager]);
        let counted =
            |total, hidden| Measurement::Counted(FaultCost { total, hidden, ..FaultCost::default() });
        let cells = vec![counted(100, 7), counted(10, 0), counted(300, 100), counted(90, 10)];
        let figures = Figures::of(&plan, &cells, &[vec![], vec![], vec![], vec![]]);
        let line = &figures.lines[1];
        let slowdowns: Vec<f64> = line.programs.iter().flatten().map(|figure| figure.slowdown).collect();
        assert_eq!(slowdowns, [2.0, 8.0]);
        assert_eq!(line.programs[0].unwrap().total_slowdown, 3.0);
        assert!((line.slowdown().unwrap() - 4.0).abs() < 1e-9);
        assert_eq!(line.mean(|figure| figure.wall_clock_slowdown), None);
    }

    #[test]
    fn a_program_that_does_not_fit_has_no_figure_nor_has_the_mean() {
        let plan = plan(vec![Configuration::PLAIN]);
        let one = FaultCost { total: 1, ..FaultCost::default() };
        let cells = vec![Measurement::Counted(one), Measurement::Counted(one).combine(Measurement::TooLarge)];
        let figures = Figures::of(&plan, &cells, &[vec![], vec![]]);
        assert!(figures.lines[0].programs[0].is_some() && figures.lines[0].programs[1].is_none());
        assert_eq!(figures.lines[0].slowdown(), None);
    }
}
