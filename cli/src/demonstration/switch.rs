//! The switch of a demonstration, which turns the ORAM on or off, and the figures since the last turn.

use crate::report::provider::Provider;
use ameles_gateway::page::{Demonstration, RequestCounters};
use ameles_store::Usage;
use ameles_vault::Vault;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The state of the switch, for readers of blocks.
#[derive(Clone, Debug)]
pub struct ObliviousFlag(Arc<AtomicBool>);

impl ObliviousFlag {
    /// Creates the flag with the ORAM on.
    pub fn on() -> Self {
        ObliviousFlag(Arc::new(AtomicBool::new(true)))
    }

    /// Returns true if the ORAM is on.
    pub fn is_on(&self) -> bool {
        self.0.load(Ordering::Acquire)
    }
}

/// Turns the ORAM on and off, and provides the figures to show. Clones share one switch.
#[derive(Clone)]
pub struct Switch {
    oblivious: ObliviousFlag,
    vault: Vault,
    vault_provider: Provider,
    bare_provider: Provider,
    counters: RequestCounters,
    inner: Arc<Mutex<SwitchInner>>,
}

#[derive(Clone, Copy, Default)]
struct SwitchInner {
    turns: u64,
    baseline: Baseline,
}

/// The sums from which figures count.
#[derive(Clone, Copy, Debug, Default)]
pub struct Baseline {
    /// The provider's requests until then.
    pub usage: Usage,
    /// The number of accesses of the vault until then.
    pub accesses: u64,
    /// The number of blocks read until then.
    pub read: u64,
    /// The number of blocks written until then.
    pub written: u64,
}

/// The current state of the switch.
pub struct SwitchState {
    /// The store that is read.
    pub provider: Provider,
    /// The baseline of its figures.
    pub baseline: Baseline,
    /// The position of the switch.
    pub position: Demonstration,
}

impl Switch {
    /// Creates a switch for `oblivious`, which must be on.
    pub fn new(
        oblivious: ObliviousFlag,
        vault: Vault,
        vault_provider: Provider,
        bare_provider: Provider,
        counters: RequestCounters,
    ) -> Self {
        let switch =
            Switch { oblivious, vault, vault_provider, bare_provider, counters, inner: Arc::default() };
        switch.reset();
        switch
    }

    /// Restarts the figures.
    pub fn reset(&self) {
        self.start_figures(&mut self.inner.lock().expect("no panic while locked"));
    }

    /// Sets the switch. If this changes it, the figures restart.
    pub fn set(&self, oblivious: bool) {
        let mut inner = self.inner.lock().expect("no panic while locked");
        if self.oblivious.0.swap(oblivious, Ordering::AcqRel) != oblivious {
            self.start_figures(&mut inner);
        }
    }

    /// Returns the current state.
    pub fn state(&self) -> SwitchState {
        // Locked, so that store, figures and position belong together.
        let inner = self.inner.lock().expect("no panic while locked");
        SwitchState {
            provider: self.provider().clone(),
            baseline: inner.baseline,
            position: Demonstration { oblivious: self.oblivious.is_on(), turned: inner.turns },
        }
    }

    fn provider(&self) -> &Provider {
        if self.oblivious.is_on() { &self.vault_provider } else { &self.bare_provider }
    }

    fn start_figures(&self, inner: &mut SwitchInner) {
        let (read, written) = self.counters.blocks();
        self.counters.forget_times();
        let (usage, accesses) = (self.provider().meter.usage(), self.vault.status().accesses);
        let baseline = Baseline { usage, accesses, read, written };
        *inner = SwitchInner { turns: inner.turns + 1, baseline };
    }
}
