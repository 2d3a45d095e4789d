//! The figures of a running vault for the owner's page, and the file of the page's link.

use crate::config::folders::DataFolder;
use crate::demonstration::{Baseline, Switch};
use crate::report::million_accesses::{self, MillionAccesses};
use crate::report::provider::Provider;
use crate::report::recovery_point::{Recovery, journal_line};
use crate::runtime::atomic_file::replace;
use crate::vault::prices;
use ameles_gateway::catalogue::UnixMillis;
use ameles_gateway::page::{Costs, Figures, PageUpdate, PriceSource, RequestCounters, Row, StoreView};
use ameles_store::{AccessCountsRow, Prices, Usage};
use ameles_vault::{Status, Vault};
use anyhow::{Context, Result};
use std::path::PathBuf;

/// The prices of the page.
pub struct PagePrices {
    prices: Prices,
    by_default: bool,
}

impl PagePrices {
    /// Returns the requested prices, or the default ones.
    pub fn or_default(asked: Option<Prices>) -> Self {
        let by_default = asked.is_none();
        PagePrices { prices: asked.unwrap_or_else(prices::default_prices), by_default }
    }

    fn of(&self) -> PriceSource {
        let Prices { provider, as_of, .. } = &self.prices;
        PriceSource { provider: provider.clone(), as_of: as_of.clone(), by_default: self.by_default }
    }
}

/// The sources of the page.
pub struct Sources {
    /// The vault.
    pub vault: Vault,
    /// The requests to the store.
    pub provider: Provider,
    /// The requests of the applications.
    pub counters: RequestCounters,
    /// The provider's prices.
    pub prices: PagePrices,
    /// The switch of a demonstration, which selects the store that the page shows.
    pub switch: Option<Switch>,
    /// Returns the current warnings.
    pub warnings: Box<dyn Fn() -> Vec<String> + Send + Sync>,
}

impl Sources {
    /// The counters and figures of this moment.
    pub fn read(&self) -> PageUpdate {
        let state = self.switch.as_ref().map(Switch::state);
        let since = state.as_ref().map_or_else(Baseline::default, |state| state.baseline);
        let provider = state.as_ref().map_or(&self.provider, |state| &state.provider);
        let (status, usage) = (self.vault.status(), provider.meter.usage().since(&since.usage));
        let block_bytes = self.vault.block_bytes() as u64;
        let (read, written) = self.counters.blocks();
        let (read, written) = (read - since.read, written - since.written);
        let dollars = |usage: &Usage| self.prices.prices.bill(usage).spent();
        let bare = Usage {
            slot_reads: read,
            bucket_writes: written,
            bytes_down: read * block_bytes,
            bytes_up: written * block_bytes,
            ..Usage::default()
        };
        PageUpdate {
            time: UnixMillis::now().0,
            requests: self.counters.cells(),
            store: StoreView {
                whole: row(provider.access_counts.whole()),
                levels: provider.access_counts.levels().into_iter().map(row).collect(),
            },
            figures: Figures {
                asked_bytes: (read + written) * block_bytes,
                accesses: status.accesses - since.accesses,
                requests: usage.requests(),
                bytes_up: usage.bytes_up,
                bytes_down: usage.bytes_down,
                stored_bytes: usage.stored_bytes,
                stash: status.stash.blocks,
                stash_peak: status.stash.peak,
                trusted_bytes: status.trusted_bytes,
                latency_p50: self.counters.latency(0.5),
                latency_p99: self.counters.latency(0.99),
                dollars: dollars(&usage),
            },
            baseline: Costs {
                requests: bare.requests(),
                bytes: bare.bytes_up + bare.bytes_down,
                dollars: dollars(&bare),
            },
            stated_per_byte: self.vault.header().parameters.scheme.bytes_per_byte(),
            recovery: self.recovery(&status),
            prices: self.prices.of(),
            demonstration: state.as_ref().map(|state| state.position),
            warnings: (self.warnings)(),
        }
    }
}

impl Sources {
    /// The place of the journal, the recovery point, and the price of accesses, as `ameles status` shows them.
    fn recovery(&self, status: &Status) -> Vec<(String, String)> {
        let parameters = &self.vault.header().parameters;
        let mut lines = Recovery::of(status, parameters).lines();
        lines.insert(0, journal_line(parameters.journal));
        lines.push(million_accesses::line(&MillionAccesses::of(parameters, Some(&self.prices.prices))));
        lines.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }
}

fn row(counts: AccessCountsRow) -> Row {
    Row { buckets: counts.buckets, reads: counts.reads, writes: counts.writes }
}

/// Writes the page's link to a file that only the vault's owner can read, for a `serve` without a terminal.
///
/// # Errors
/// The trusted folder cannot be written.
pub fn write_link(data: &DataFolder, link: &str) -> Result<PathBuf> {
    let path = data.trusted().join("page-link");
    replace(&path, format!("{link}\n").as_bytes())
        .with_context(|| {
            format!(
                "{} cannot be written, so the link to the owner's page is shown only at a terminal; free some space on its disk, \
                 or make the folder writable",
                path.display()
            )
        })?;
    Ok(path)
}
