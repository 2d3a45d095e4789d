//! The figures and warnings of `ameles status`, written to the trusted folder repeatedly.

use crate::config::Settings;
use crate::report::banner::VaultSummary;
use crate::report::status_file::{Continued, Objects, Report};
use crate::report::warnings::{Figures, WarningMonitor, free_bytes};
use crate::vault::open_vault::SuccessorReader;
use ameles_gateway::Gateway;
use ameles_store::MeterReader;
use ameles_vault::Vault;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The time between two writes.
const INTERVAL: Duration = Duration::from_secs(2);

/// The sources of the figures.
pub(super) struct Status {
    pub(super) settings: Settings,
    pub(super) summary: VaultSummary,
    pub(super) vault: Vault,
    pub(super) gateway: Gateway,
    pub(super) meter: MeterReader,
    /// The figures from before this start.
    pub(super) earlier: Continued,
    pub(super) watch: Mutex<WarningMonitor>,
    /// Reads the figures of a successor, if there is one.
    pub(super) successor: Option<SuccessorReader>,
    /// False while the figures cannot be written.
    pub(super) is_writable: AtomicBool,
}

impl Status {
    /// Returns the current warnings as sentences.
    pub(super) fn warnings(&self) -> Vec<String> {
        let free_bytes = free_bytes(&self.settings.data.trusted());
        let status = self.vault.status();
        let figures = Figures {
            free_bytes,
            stash_blocks: status.stash.at_rest,
            reserve: status.reserve,
            store: status.store,
        };
        self.watch.lock().expect("no panic while locked").check(&figures)
    }

    /// Writes the current figures. If that fails, clients are still served; the failure is logged once when it begins,
    /// and once when it ends.
    pub(super) fn write(&self) {
        let (status, usage) = (self.vault.status(), self.meter.usage());
        let report = Report::now(&self.summary, &status, &usage, &self.earlier, Some(objects(&self.gateway)))
            .with_warnings(self.warnings())
            .with_successor(self.successor.as_ref().map(|figures| figures()));
        let written = report.write(&self.settings.data);
        let was_writable = self.is_writable.swap(written.is_ok(), Ordering::Relaxed);
        match written {
            Err(error) if was_writable => tracing::warn!("{error:#}"),
            Ok(()) if !was_writable => tracing::info!("the status file can be written again"),
            _ => {}
        }
    }

    /// Writes the figures repeatedly.
    pub(super) async fn write_repeatedly(&self) {
        loop {
            tokio::time::sleep(INTERVAL).await;
            self.write();
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
