//! The settings of the bench.

use crate::bench::BenchError;
use crate::bench::link;
use crate::bench::report::bytes;
use crate::bench::service::VaultOptions;
use ameles_store::LinkSpeed;
use std::time::Duration;

/// The settings of the bench.
#[derive(Clone, Debug)]
pub struct GatewayOptions {
    /// The vault. It is written to wholly before anything is measured.
    pub vault: VaultOptions,
    /// The link.
    pub speed: LinkSpeed,
    /// The sizes of objects in bytes.
    pub sizes: Vec<usize>,
    /// The numbers of clients at a time. Each client sends one request after the other.
    pub clients: Vec<usize>,
    /// The time in which clients begin requests, for each figure.
    pub time: Duration,
    /// The fewest requests of a figure, all clients together; each client has at least one.
    pub requests: usize,
    /// The number of bytes that one figure may move at most in objects that are there at once: more clients get what
    /// others got.
    pub max_bytes: u64,
    /// The bound on a lone get of the largest object, in multiples of the bare time.
    pub goal_get: Option<f64>,
    /// The bound on gets of 64 KiB by the most clients, in parts of a sixteenth of the link.
    pub goal_share: Option<f64>,
}

impl GatewayOptions {
    /// A vault of 20480 blocks of 64 KiB as `ameles serve` makes it, behind 23.6 ms and 510 Mbit/s each way.
    pub fn standard() -> Self {
        let capacity = 20_480;
        GatewayOptions {
            vault: VaultOptions {
                capacity,
                trusted_blocks: capacity / 16,
                filled: capacity,
                ..VaultOptions::standard()
            },
            speed: link::SPEED,
            sizes: vec![4 << 10, 64 << 10, 1 << 20, 16 << 20],
            clients: vec![1, 16, 64],
            time: Duration::from_secs(5),
            requests: 12,
            max_bytes: 128 << 20,
            goal_get: Some(8.0),
            goal_share: Some(0.6),
        }
    }

    /// Checks that the options can be measured.
    pub(super) fn check(&self) -> Result<(), BenchError> {
        let is_empty = self.sizes.is_empty() || self.clients.is_empty() || self.clients.contains(&0);
        if is_empty || self.sizes.contains(&0) || self.time.is_zero() {
            return Err(BenchError::Options("give at least one size, one client and some time".into()));
        }
        let (max, clients) = (self.sizes.iter().max(), self.clients.iter().max());
        let (max, clients) = (*max.unwrap_or(&0) as u64, *clients.unwrap_or(&0) as u64);
        let needed = max * clients + self.max_bytes;
        let available = self.vault.capacity * u64::from(self.vault.block_bytes);
        if needed > available {
            let (needed, available) = (bytes(needed), bytes(available));
            return Err(BenchError::Options(format!(
                "puts under way and objects take up to {needed}, and the vault has {available}"
            )));
        }
        Ok(())
    }
}
