//! The plans of a bench: the plan of the paper, the same plan with the fastest cipher, and the sweep.

use super::configuration::{Configuration, RATIOS, Setting};
use ameles_programs::PROGRAMS;
use ameles_seal::pages::PageCipher;

/// The numbers of resident pages of the sweep.
const SWEPT: [u64; 5] = [8, 15, 32, 64, 128];

/// The user's choices.
#[derive(Clone, Debug)]
pub struct Options {
    /// True if one short repetition is enough, with rough figures.
    pub quick: bool,
    /// True if the bench also measures with 8 to 128 resident pages.
    pub sweep: bool,
    /// The cipher that seals pages.
    pub cipher: PageCipher,
    /// The maximum number of pages that are resident.
    pub resident: u64,
    /// The number of rounds, which are repetitions of the whole measurement. The default is 7, or 1 with `quick`.
    pub rounds: Option<u64>,
    /// The number of faults that are measured in each run. The default is 5000, or 1000 with `quick`.
    pub faults: Option<u64>,
    /// The faults before the measured ones. The default is the number of measured faults.
    pub warm_up_faults: Option<u64>,
}

/// The measurements to make.
pub(super) struct Plan {
    pub(super) setting: Setting,
    pub(super) configurations: Vec<Configuration>,
    pub(super) rounds: u64,
    /// Further rounds, in which ciphers and copies are timed one by one. Timing takes time itself, so these rounds
    /// count for no other figure.
    pub(super) metered_rounds: u64,
}

impl Plan {
    /// The steps of the plan, without the whole runs.
    pub(super) fn steps(&self) -> u64 {
        (self.rounds + self.metered_rounds) * (PROGRAMS.len() * self.configurations.len()) as u64
    }
}

impl Options {
    fn setting(&self, cipher: PageCipher, resident: u64) -> Setting {
        let usual = if self.quick { 1000 } else { 5000 };
        Setting {
            cipher,
            resident,
            warm_up_faults: self.warm_up_faults.unwrap_or(usual),
            faults: self.faults.unwrap_or(usual),
        }
    }

    /// The plan of the paper.
    pub(super) fn plan(&self) -> Plan {
        Plan {
            setting: self.setting(self.cipher, self.resident),
            configurations: Configuration::all(&RATIOS),
            rounds: self.rounds.unwrap_or(if self.quick { 1 } else { 7 }),
            metered_rounds: if self.quick { 0 } else { 2 },
        }
    }

    /// The plan with the fastest cipher, if that is another one.
    pub(super) fn second_plan(&self) -> Option<Plan> {
        let fastest = PageCipher::Aegis256X2;
        (self.cipher != fastest && !self.quick).then(|| Plan {
            setting: self.setting(fastest, self.resident),
            rounds: self.fewer_rounds(),
            metered_rounds: 0,
            ..self.plan()
        })
    }

    /// The plans of the sweep; none without `sweep`.
    pub(super) fn sweep_plans(&self) -> Vec<Plan> {
        let plan = |resident| Plan {
            setting: self.setting(self.cipher, resident),
            configurations: Configuration::all(&RATIOS[..1]),
            rounds: self.fewer_rounds(),
            metered_rounds: 0,
        };
        SWEPT.into_iter().filter(|_| self.sweep).map(plan).collect()
    }

    fn fewer_rounds(&self) -> u64 {
        self.rounds.unwrap_or(if self.quick { 1 } else { 3 })
    }
}
