//! The losses of machines in a lifecycle, as public facts.

use super::lifecycle::{PublicFacts, Tempo};
use super::machines::Successor;
use super::{ALWAYS_QUIET, WARM_UP};
use crate::support::rng::TestRng;
use ameles_vault::JournalPlace;

/// The event after a gateway is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Losses {
    /// No machine is lost: the gateway is started again.
    Never,
    /// Some machines are lost, and the vault is restored. Its journal is in this place.
    Restored(JournalPlace),
    /// All machines are lost, and the vault is restored each time.
    AlwaysRestored(JournalPlace),
    /// Most machines are lost, and a standby takes over.
    TakenOver,
}

impl Losses {
    /// Returns whether the vault announces in the store.
    pub fn announces(self) -> bool {
        match self {
            Losses::Never => false,
            Losses::Restored(journal) | Losses::AlwaysRestored(journal) => journal.announces(),
            Losses::TakenOver => true,
        }
    }

    /// Adds the losses to the public facts of a lifecycle. Its first batches come before them: a lost vault needs a
    /// checkpoint in the store.
    pub fn add_to(self, public: &mut PublicFacts) {
        let (journal, successor, percent, max_requests) = match self {
            Losses::Never => return,
            // A restore makes some hundred requests, and a quarter of them are killed.
            Losses::Restored(journal) => (journal, Successor::Restore, 60, 400),
            Losses::AlwaysRestored(journal) => (journal, Successor::Restore, 100, 400),
            Losses::TakenOver => (JournalPlace::Standby, Successor::Standby, 70, 120),
        };
        public.parameters.journal = journal;
        public.quiet = ALWAYS_QUIET;
        if public.warm_up == 0 {
            (public.warm_up, public.records_warm_up) = (WARM_UP, true);
        }
        if successor == Successor::Standby {
            public.tempo = Tempo::FAST;
        }
        let mut rng = TestRng::of(!public.seed << 1);
        for (dies_after, next) in &mut public.deaths {
            *dies_after = rng.within(1..=max_requests);
            *next = if rng.percent(percent) { successor } else { Successor::Restart };
        }
    }
}
