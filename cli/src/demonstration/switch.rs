//! The switch of a demonstration: whether the ORAM is on, and which figures belong to how it stands.

use crate::report::provider::Provider;
use ameles_gateway::page::{Demonstration, RequestCounters};
use ameles_store::Usage;
use ameles_vault::Vault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// Tells whether the ORAM is on, for those who read.
#[derive(Clone, Debug)]
pub struct ObliviousFlag(Arc<AtomicBool>);

impl ObliviousFlag {
    /// The switch, turned on.
    pub fn on() -> Self {
        ObliviousFlag(Arc::new(AtomicBool::new(true)))
    }

    /// Tells whether it is.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Turns the ORAM off and on, and tells what is to be shown. Clones are the same switch.
#[derive(Clone)]
pub struct Switch {
    oblivious: ObliviousFlag,
    vault: Vault,
    vault_provider: Provider,
    bare_provider: Provider,
    counters: RequestCounters,
    turned: Arc<Mutex<SwitchInner>>,
}

#[derive(Clone, Copy, Default)]
struct SwitchInner {
    times: u64,
    since: Baseline,
}

/// Sums at the moment from which figures count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline {
    /// The provider's requests until then.
    pub usage: Usage,
    /// Accesses of the vault.
    pub accesses: u64,
    /// Blocks that had been read.
    pub read: u64,
    /// Blocks that had been written.
    pub written: u64,
}

/// The view of the page at the moment.
pub struct SwitchState {
    /// The store that is read.
    pub provider: Provider,
    /// The moment that its figures count from.
    pub since: Baseline,
    /// The position of the switch.
    pub stands: Demonstration,
}

impl Switch {
    /// A switch of `oblivious`, which is on.
    pub fn new(
        oblivious: ObliviousFlag,
        vault: Vault,
        vault_provider: Provider,
        bare_provider: Provider,
        counters: RequestCounters,
    ) -> Self {
        let switch =
            Switch { oblivious, vault, vault_provider, bare_provider, counters, turned: Arc::default() };
        switch.reset();
        switch
    }

    /// Lets the figures begin now.
    pub fn reset(&self) {
        self.begin(&mut self.turned.lock().expect("nobody panics with it"));
    }

    /// Turns it, and lets the figures begin anew unless it stands so already.
    pub fn set(&self, oblivious: bool) {
        let mut turned = self.turned.lock().expect("nobody panics with it");
        if self.oblivious.0.swap(oblivious, Ordering::AcqRel) != oblivious {
            self.begin(&mut turned);
        }
    }

    /// The view to show now.
    pub fn shown(&self) -> SwitchState {
        // Held, so that store, figures and stand are of one moment.
        let turned = self.turned.lock().expect("nobody panics with it");
        SwitchState {
            provider: self.provider().clone(),
            since: turned.since,
            stands: Demonstration { oblivious: self.oblivious.is_on(), turned: turned.times },
        }
    }

    fn provider(&self) -> &Provider {
        if self.oblivious.is_on() { &self.vault_provider } else { &self.bare_provider }
    }

    fn begin(&self, turned: &mut SwitchInner) {
        let (read, written) = self.counters.blocks();
        self.counters.forget_times();
        let (usage, accesses) = (self.provider().meter.usage(), self.vault.status().accesses);
        let since = Baseline { usage, accesses, read, written };
        *turned = SwitchInner { times: turned.times + 1, since };
    }
}
