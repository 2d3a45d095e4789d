//! The messages to the page: counters that only grow, and figures of the present.

use super::request_counters::RequestCells;
use super::row::Row;
use serde::Serialize;

/// Everything that the page shows, at one time.
#[derive(Clone, Debug, Serialize)]
pub struct PageUpdate {
    /// The number of milliseconds since the Unix epoch.
    pub time: u64,
    /// The requests of the applications.
    pub requests: RequestCells,
    /// The view of the provider: the slots touched in the store.
    pub store: StoreView,
    /// The sums and gauges.
    pub figures: Figures,
    /// The costs of the same blocks without an ORAM: one request of a block's bytes each.
    pub baseline: Costs,
    /// The number of bytes that accesses move for each byte of a block, as stated when the vault is opened.
    pub stated_per_byte: f64,
    /// Lines of a name and a sentence about the loss of this machine, and what protects from it.
    pub recovery: Vec<(String, String)>,
    /// The prices behind the dollars.
    pub prices: PriceSource,
    /// The state of a demonstration vault.
    pub demonstration: Option<Demonstration>,
    /// The warnings that need action, a sentence each.
    pub warnings: Vec<String>,
}

/// The source of the prices.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PriceSource {
    /// The provider and its class of storage.
    pub provider: String,
    /// The month of the public price list.
    pub as_of: String,
    /// True if these prices are an example that nobody requested, to show the order of magnitude.
    pub by_default: bool,
}

/// The slots that were touched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoreView {
    /// The whole store in one row.
    pub whole: Row,
    /// A row for each level of the tree, the root first.
    pub levels: Vec<Row>,
}

/// Gauges, and sums since the vault was opened or the ORAM of a demonstration was switched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// The number of bytes of the requested blocks.
    pub asked_bytes: u64,
    /// The number of accesses, dummies included.
    pub accesses: u64,
    /// The number of requests to the store.
    pub requests: u64,
    /// The number of bytes sent to the store.
    pub bytes_up: u64,
    /// The bytes that were received from the store.
    pub bytes_down: u64,
    /// The number of bytes stored there now.
    pub stored_bytes: u64,
    /// The number of blocks in the stash.
    pub stash: u64,
    /// The largest number of blocks in the stash so far.
    pub stash_peak: u64,
    /// The number of bytes of trusted memory.
    pub trusted_bytes: u64,
    /// The median time of the last batches in milliseconds, if there were any.
    pub latency_p50: Option<f64>,
    /// The 99th percentile of the same.
    pub latency_p99: Option<f64>,
    /// US dollars for requests and traffic.
    pub dollars: f64,
}

/// The costs of some requests.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Costs {
    /// The number of requests.
    pub requests: u64,
    /// The bytes in both directions.
    pub bytes: u64,
    /// US dollars.
    pub dollars: f64,
}

/// The state of a demonstration vault.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Demonstration {
    /// True if the ORAM is on.
    pub oblivious: bool,
    /// The number of times that the ORAM was switched. When it grows, the counters of the store and the figures are of
    /// another store, or start from zero.
    pub turned: u64,
}
