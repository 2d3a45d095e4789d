//! The untrusted side of Ameles: stores of sealed buckets, and wrappers around them.
//!
//! Three traits make up the untrusted side. [`Untrusted`](ameles_core::store::Untrusted) holds buckets in versions,
//! [`Blobs`] holds named objects next to them (a header, epochs, checkpoints), and [`Inventory`] lists what
//! is there. Nothing here knows a key, and every byte that comes back may be forged.
//!
//! Stores: [`DenseMemory`] (fast, one version per bucket), [`VersionedMemory`] (all versions, can be tampered
//! with), [`Objects`] (files, S3, GCS, Azure), [`Etcd`] (blobs only).
//!
//! Wrappers implement all three traits over an inner store, so they stack in any order. A wrapper sees the calls to the
//! wrapper or store **below** it. A [`Recorder`] under a [`Retry`] sees each attempt; above it, it sees each call once.

mod access_counts;
mod blobs;
mod etcd;
mod faults;
mod forward;
mod link;
mod memory;
mod meter;
mod objects;
mod provider;
mod recorder;
mod requests;
mod retry;
mod routed;
mod tls;

pub use access_counts::{AccessCounts, AccessCountsRow, CountedStore, MAX_CELLS};
pub use blobs::{Blob, BlobError, Blobs, Inventory, check_name};
pub use etcd::{BadEtcdAddress, Etcd, EtcdAddress, EtcdError, EtcdTls};
pub use faults::{FaultCounts, FaultRates, FaultSwitch, Faults, InjectedFault};
pub use link::{BitsPerSecond, Link, LinkSpeed};
pub use memory::{DenseMemory, Snapshot, VersionedMemory};
pub use meter::{Bill, Meter, MeterReader, PriceError, PriceTable, Prices, Usage};
pub use objects::{Objects, OpenError, OpenOptions, Versioning, folder_of, object_name};
pub use provider::{Provider, ProviderControl, ProviderCounts, ProviderLimits, ProviderRefusal};
pub use recorder::{Event, Recorder, Request, Trace};
pub use requests::{RangeRequest, range_requests};
pub use retry::{Retry, RetryPolicy};
pub use routed::Routed;
pub use tls::install_tls_provider;
