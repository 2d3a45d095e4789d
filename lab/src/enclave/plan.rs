//! The plans of a bench: the plan of the paper, and the sweeps.

use super::configuration::Configuration;
use super::machine::{Setting, Window};
use crate::paging::configuration::UNTRUSTED_BYTES;
use ameles_pager::scheme::Scheme;
use ameles_programs::{PROGRAMS, Program};
use ameles_seal::pages::PageCipher;

/// The program of the sweeps. The sweep of memory uses its small size, which fits into little memory.
const SWEPT_PROGRAM: &str = "random_writes";
/// The numbers of resident pages of the sweep.
const SWEPT_RESIDENT: [u32; 5] = [8, 15, 32, 64, 128];
/// The sizes of untrusted memory of the sweep, in MiB.
const SWEPT_MEBIBYTES: [u64; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];
/// The maximum of faults of a run of the sweep: Path ORAM's faults are expensive where memory is large.
const SWEPT_FAULTS: u64 = 100;

/// The maximum of faults of a run by the wall clock, and before them: such runs are sequential.
const TIMED: Window = Window { warm_up_faults: 200, faults: 100 };

/// The user's choices.
#[derive(Clone, Debug)]
pub struct Options {
    /// True for a short window in little memory, with rough figures.
    pub quick: bool,
    /// True if it counts with 8 to 128 resident pages, and with 1 to 256 MiB of untrusted memory, too.
    pub sweep: bool,
    /// The cipher that seals pages.
    pub cipher: PageCipher,
    /// The number of pages that are resident.
    pub resident: u32,
    /// Untrusted memory in bytes. The default is 64 MiB, or 16 MiB with `quick`.
    pub untrusted_bytes: Option<u64>,
    /// The schemes to compare with plain; all if it is empty.
    pub schemes: Vec<Scheme>,
    /// The names of programs that cannot be run here.
    pub left_out: Vec<&'static str>,
    /// The number of faults that are counted in each run. The default is 500, or 40 with `quick`.
    pub faults: Option<u64>,
    /// The number of faults before the counted ones. The default is 1500, or 40 with `quick`: the programs have created
    /// their data by then.
    pub warm_up_faults: Option<u64>,
    /// The number of rounds by the wall clock: 0 for none.
    pub rounds: u64,
    /// The number of machines that count at the same time: at least 1.
    pub machines: usize,
}

/// The runs to make.
pub(super) struct Plan {
    pub(super) setting: Setting,
    pub(super) window: Window,
    pub(super) programs: Vec<&'static Program>,
    pub(super) configurations: Vec<Configuration>,
    /// The number of rounds by the wall clock.
    pub(super) rounds: u64,
}

impl Plan {
    /// The window of the runs by the wall clock.
    pub(super) fn timed_window(&self) -> Window {
        Window {
            warm_up_faults: self.window.warm_up_faults.min(TIMED.warm_up_faults),
            faults: self.window.faults.min(TIMED.faults),
        }
    }

    /// The number of runs.
    pub(super) fn steps(&self) -> u64 {
        let runs: usize = self.programs.iter().map(|program| program.runs.len()).sum();
        (runs * self.configurations.len()) as u64 * (1 + self.rounds)
    }
}

impl Options {
    fn setting(&self) -> Setting {
        let usual = if self.quick { UNTRUSTED_BYTES / 4 } else { UNTRUSTED_BYTES };
        let untrusted_bytes = self.untrusted_bytes.unwrap_or(usual);
        Setting { cipher: self.cipher, resident: self.resident, untrusted_bytes, small: false }
    }

    /// The configurations of the selected schemes.
    fn selected(&self, mut configurations: Vec<Configuration>) -> Vec<Configuration> {
        configurations.retain(|one| {
            *one == Configuration::PLAIN || self.schemes.is_empty() || self.schemes.contains(&one.scheme)
        });
        configurations
    }

    fn window(&self) -> Window {
        let (warm_up_faults, faults) = if self.quick { (40, 40) } else { (1500, 500) };
        Window {
            warm_up_faults: self.warm_up_faults.unwrap_or(warm_up_faults),
            faults: self.faults.unwrap_or(faults),
        }
    }

    /// The programs that are not left out.
    fn programs(&self) -> impl Iterator<Item = &'static Program> {
        PROGRAMS.iter().filter(|program| !self.left_out.contains(&program.name))
    }

    /// The plan of the paper.
    pub(super) fn plan(&self) -> Plan {
        Plan {
            setting: self.setting(),
            window: self.window(),
            programs: self.programs().collect(),
            configurations: self.selected(Configuration::paper_configurations()),
            rounds: self.rounds,
        }
    }

    /// The plans of the sweeps, by resident pages and by untrusted memory; none without `sweep`.
    pub(super) fn sweep_plans(&self) -> [Vec<Plan>; 2] {
        if !self.sweep || self.left_out.contains(&SWEPT_PROGRAM) {
            return [const { Vec::new() }; 2];
        }
        let setting = self.setting();
        let resident = SWEPT_RESIDENT.into_iter().map(|resident| Setting { resident, ..setting });
        let small = Setting { small: true, ..setting };
        let memory = SWEPT_MEBIBYTES.into_iter().map(|mib| Setting { untrusted_bytes: mib << 20, ..small });
        let plan = |setting| self.swept_plan(setting);
        [resident.map(plan).collect(), memory.map(plan).collect()]
    }

    fn swept_plan(&self, setting: Setting) -> Plan {
        let Window { warm_up_faults, faults } = self.window();
        Plan {
            setting,
            window: Window {
                warm_up_faults: warm_up_faults.min(SWEPT_FAULTS),
                faults: faults.min(SWEPT_FAULTS),
            },
            programs: self.programs().filter(|program| program.name == SWEPT_PROGRAM).collect(),
            configurations: self.selected(Configuration::sweep_configurations()),
            rounds: 0,
        }
    }
}
