//! The names of all options, for error messages.

pub use super::file::DATA;
pub use super::key::{KEY_ENV, KEY_FILE, KEY_SOURCE};
pub use super::option_table::Name;
pub use super::options::{
    A, ADMIN, BLOCK_SIZE, CAPACITY, CIPHER, ENDPOINT, ETCD, ETCD_CA, ETCD_CERT, ETCD_KEY, EVICTION_SLICE,
    JOURNAL, LISTEN, LOG, LOG_FORMAT, MAX_BATCH, NETWORK_DISK, NO_SHIP, OBJECTIVE, PACE, PAD_BATCHES,
    PADDING, PRICES, REGION, REQUESTS, S, SCHEME, SHIP_AFTER, STORE, SWIFT, SWIFT_URL, TLS_CERT, TLS_KEY,
    TRANSFER_MEMORY, TREE_TOP, TREE_TOP_ON, Z,
};
pub use super::store_options::STORE_OPTION;
