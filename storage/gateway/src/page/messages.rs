//! The messages to the page: counters that only grow, and figures of the moment.

use super::request_counters::RequestCells;
use super::row::Row;
use serde::Serialize;

/// Everything that the page shows, at one moment.
#[derive(Clone, Debug, Serialize)]
pub struct PageUpdate {
    /// Milliseconds since the Unix epoch.
    pub time: u64,
    /// The requests of the applications.
    pub requests: RequestCells,
    /// The view of the provider.
    pub store: StoreView,
    /// Sums and gauges.
    pub figures: Figures,
    /// The costs of the same blocks without an ORAM: a request each, of a block's bytes.
    pub baseline: Costs,
    /// Bytes that accesses move for each byte of a block, as it is stated when the vault is opened.
    pub stated_per_byte: f64,
    /// The prices from which the dollars were computed.
    pub prices: PriceSource,
    /// Of a demonstration vault, how it stands.
    pub demonstration: Option<Demonstration>,
    /// The things to do something about, a sentence each.
    pub warnings: Vec<String>,
}

/// The provider and the class of the prices.
#[derive(Clone, Debug, Default, Serialize)]
pub struct PriceSource {
    /// The provider and its class of storage.
    pub provider: String,
    /// The month in which a public price list showed them.
    pub as_of: String,
    /// True if these prices are an example that was not asked for, to have an order of magnitude.
    pub by_default: bool,
}

/// Slots that were touched.
#[derive(Clone, Debug, Default, Serialize)]
pub struct StoreView {
    /// The whole store in one row.
    pub whole: Row,
    /// A row for each level of the tree, the root's first.
    pub levels: Vec<Row>,
}

/// Sums since the vault was opened, or since the ORAM of a demonstration was switched; and gauges.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Figures {
    /// Bytes of the blocks that were asked for.
    pub asked_bytes: u64,
    /// Accesses, dummies included.
    pub accesses: u64,
    /// Requests to the store.
    pub requests: u64,
    /// Bytes sent to the store.
    pub bytes_up: u64,
    /// Bytes received from it.
    pub bytes_down: u64,
    /// Bytes stored there now.
    pub stored_bytes: u64,
    /// Blocks in the stash.
    pub stash: u64,
    /// The most that there were.
    pub stash_peak: u64,
    /// Bytes of trusted memory.
    pub trusted_bytes: u64,
    /// Milliseconds within which half of the batches of the last minutes were served, if there were any.
    pub latency_p50: Option<f64>,
    /// The same for 99 of 100.
    pub latency_p99: Option<f64>,
    /// US dollars for requests and traffic.
    pub dollars: f64,
}

/// The costs of some requests.
#[derive(Clone, Copy, Debug, Default, Serialize)]
pub struct Costs {
    /// Requests.
    pub requests: u64,
    /// Bytes both ways.
    pub bytes: u64,
    /// US dollars.
    pub dollars: f64,
}

/// The state of a demonstration vault.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Demonstration {
    /// True if the ORAM is on.
    pub oblivious: bool,
    /// The number of times that it was switched. When this grows, the seen counters and the figures are of another
    /// store, or begin anew.
    pub turned: u64,
}
