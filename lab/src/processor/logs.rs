//! The run logs that IR-ORAM's authors published with their simulator, as numbers.

use serde::Deserialize;

const LOGS: &str = include_str!("../../papers/iroram-authors.toml");

/// The logs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Logs {
    #[serde(rename = "run")]
    pub(super) runs: Vec<LoggedRun>,
}

/// The logs of a scheme, next to Baseline's under the same rate.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedRun {
    /// The beginning of the names of its files.
    pub(super) name: String,
    /// The scheme.
    pub(super) is: String,
    /// The runs with which it is compared.
    pub(super) over: String,
    /// The number of blocks of a path in memory, in one direction.
    pub(super) blocks_a_path: u64,
    /// The mean of Baseline's cycles over its own, as in the paper.
    pub(super) mean_speedup: f64,
    /// Background evictions as a share of all paths.
    pub(super) mean_evictions: f64,
    /// PosMap paths as a share of Baseline's.
    pub(super) mean_posmap: f64,
    pub(super) programs: Vec<LoggedProgram>,
}

/// A program of a run.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LoggedProgram {
    pub(super) name: String,
    /// Baseline's cycles over its own.
    pub(super) speedup: f64,
    pub(super) evictions: f64,
    pub(super) posmap: f64,
    /// The records of the trace that it ran, over those that Baseline ran: runs end with a number of accesses.
    #[serde(default = "equal_work")]
    work: f64,
}

fn equal_work() -> f64 {
    1.0
}

impl LoggedProgram {
    /// The speed over Baseline's, for equal work.
    pub(super) fn speed(&self) -> f64 {
        self.speedup * self.work
    }
}

/// The runs of the logs, and the schemes of the lab that repeat them.
const SCHEMES: [(&str, &str); 5] = [
    ("stl-nt", "ir-alloc"),
    ("stt-nt", "ir-stash"),
    ("vol1", "ir-stash-alloc"),
    ("rho", "rho"),
    ("wb", "ir-dwb"),
];

impl Logs {
    /// The logs of the repository.
    pub(super) fn published() -> Self {
        toml::from_str(LOGS).expect("the file of the repository is sound")
    }

    /// Each run with the scheme that repeats it.
    pub(super) fn by_scheme(&self) -> impl Iterator<Item = (&'static str, &LoggedRun)> {
        SCHEMES.iter().filter_map(|(name, scheme)| {
            self.runs.iter().find(|run| run.name == *name).map(|run| (*scheme, run))
        })
    }
}

impl LoggedRun {
    /// The mean speed over Baseline's, for equal work.
    pub(super) fn mean_speed(&self) -> f64 {
        self.programs.iter().map(LoggedProgram::speed).sum::<f64>() / self.programs.len() as f64
    }

    /// The programs for which one of the lab is a substitute, by the first three letters of their names.
    pub(super) fn replaced_by(&self, stands_for: &str) -> Vec<&LoggedProgram> {
        let names: Vec<&str> = stands_for.split(' ').filter(|name| !name.is_empty()).collect();
        self.programs
            .iter()
            .filter(|program| names.iter().any(|name| program.name.starts_with(name)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_means_of_the_logs_are_those_of_their_programs() {
        for run in Logs::published().runs {
            let count = run.programs.len() as f64;
            let mean = |of: fn(&LoggedProgram) -> f64| run.programs.iter().map(of).sum::<f64>() / count;
            for (found, stated) in [
                (mean(|program| program.speedup), run.mean_speedup),
                (mean(|program| program.evictions), run.mean_evictions),
                (mean(|program| program.posmap), run.mean_posmap),
            ] {
                assert!((found - stated).abs() < 0.011, "{}: {found} and {stated}", run.name);
            }
            assert!(run.blocks_a_path > 30 && !run.is.is_empty() && !run.over.is_empty());
        }
    }

    #[test]
    fn rho_is_faster_for_equal_work_than_by_its_cycles() {
        let logs = Logs::published();
        let mean = |name: &str| {
            let run = logs.runs.iter().find(|run| run.name == name).unwrap();
            run.mean_speed()
        };
        assert!((mean("rho") - 1.43).abs() < 0.01 && (mean("wb") - 1.09).abs() < 0.01);
        assert!((mean("stl-nt") - 1.379).abs() < 0.01, "its runs end where Baseline's do");
    }

    #[test]
    fn every_scheme_of_the_logs_is_one_of_the_lab() {
        let logs = Logs::published();
        assert_eq!(logs.by_scheme().count(), SCHEMES.len());
        let known = crate::processor::names();
        assert!(logs.by_scheme().all(|(scheme, _)| known.split(", ").any(|name| name == scheme)));
    }
}
