//! The figures of `ameles status`, left in the trusted folder again and again, and the warnings among them.

use crate::config::Settings;
use crate::report::banner::VaultSummary;
use crate::report::status_file::{Objects, Report};
use crate::report::warnings::{Figures, Watch, free_bytes};
use crate::vault::open_vault::TellSuccessor;
use ameles_gateway::Gateway;
use ameles_store::{MeterReader, Usage};
use ameles_vault::Vault;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time from one to the next.
const EVERY: Duration = Duration::from_secs(2);

/// The sources of the figures.
pub(super) struct Status {
    pub(super) settings: Settings,
    pub(super) summary: VaultSummary,
    pub(super) vault: Vault,
    pub(super) gateway: Gateway,
    pub(super) meter: MeterReader,
    /// The requests to the store before this start.
    pub(super) earlier: Usage,
    pub(super) watch: Mutex<Watch>,
    /// Tells the figures of a successor, if there is one.
    pub(super) successor: Option<TellSuccessor>,
    /// False while the figures cannot be written.
    pub(super) is_left: AtomicBool,
}

impl Status {
    /// The present warnings, in sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        let free_bytes = free_bytes(&self.settings.data.trusted());
        let status = self.vault.status();
        let figures = Figures {
            free_bytes,
            stash_blocks: status.stash.at_rest,
            room: status.room,
            store: status.store,
        };
        self.watch.lock().expect("nobody panics with it").look(&figures)
    }

    /// Leaves the figures of this moment. Clients are served all the same when they cannot be written: it is said once when
    /// that begins, and once when it is over.
    pub(super) fn leave(&self) {
        let (status, usage) = (self.vault.status(), self.meter.usage());
        let report = Report::now(&self.summary, &status, &usage, &self.earlier, Some(objects(&self.gateway)))
            .with_warnings(self.warnings())
            .with_successor(self.successor.as_ref().map(|figures| figures()));
        let left = report.leave(&self.settings.data);
        let was_left = self.is_left.swap(left.is_ok(), Ordering::Relaxed);
        match left {
            Err(error) if was_left => tracing::warn!("{error:#}"),
            Ok(()) if !was_left => tracing::info!("the status can be written again"),
            _ => {}
        }
    }

    /// Leaves them again and again.
    pub(super) async fn leave_on(&self) {
        loop {
            tokio::time::sleep(EVERY).await;
            self.leave();
        }
    }
}

fn objects(gateway: &Gateway) -> Objects {
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
