//! The figures of `lethe status`, left in the trusted folder again and again, and the warnings among them.

use super::device::ServedGateway;
use crate::config::Settings;
use crate::report::banner::VaultSummary;
use crate::report::left::{Objects, Report};
use crate::report::warnings::{Figures, Watch, free_bytes};
use crate::vault::opened::TellSuccessor;
use anyhow::Result;
use lethe_store::{MeterReader, Usage};
use lethe_vault::Vault;
use std::sync::Mutex;
use std::time::Duration;

/// The time from one to the next.
const EVERY: Duration = Duration::from_secs(2);

/// The sources of the figures.
pub(super) struct Status {
    pub(super) settings: Settings,
    pub(super) summary: VaultSummary,
    pub(super) vault: Vault,
    pub(super) gateway: ServedGateway,
    pub(super) meter: MeterReader,
    /// The requests to the store before this start.
    pub(super) earlier: Usage,
    pub(super) watch: Mutex<Watch>,
    /// Tells the figures of a successor, if there is one.
    pub(super) successor: Option<TellSuccessor>,
}

impl Status {
    /// The present warnings, in sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        let free_bytes = free_bytes(&self.settings.data.trusted());
        let figures = Figures { free_bytes, stash_blocks: self.vault.status().stash.at_rest };
        self.watch.lock().expect("nobody panics with it").look(&figures)
    }

    /// Leaves the figures of this moment.
    ///
    /// # Errors
    /// The trusted folder cannot be written.
    pub(super) fn leave(&self) -> Result<()> {
        let (status, usage) = (self.vault.status(), self.meter.usage());
        Report::now(&self.summary, &status, &usage, &self.earlier, Some(objects(&self.gateway)))
            .with_warnings(self.warnings())
            .with_successor(self.successor.as_ref().map(|figures| figures()))
            .leave(&self.settings.data)
    }

    /// Leaves them again and again.
    pub(super) async fn leave_on(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            if let Err(error) = self.leave() {
                tracing::warn!(%error, "the status could not be left");
            }
        }
    }
}

fn objects(gateway: &ServedGateway) -> Objects {
    let usage = gateway.usage();
    Objects {
        buckets: usage.containers,
        objects: usage.objects,
        bytes: usage.bytes,
        free_blocks: usage.free_blocks,
        blocks: usage.blocks,
        packed_blocks: usage.packed.blocks,
        packed_bytes: usage.packed.live_bytes,
        waiting_bytes: usage.packed.waiting_bytes,
    }
}
