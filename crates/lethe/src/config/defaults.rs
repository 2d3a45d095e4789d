//! What holds when neither the file nor a flag says otherwise.

use crate::size::Size;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

pub(super) const CONFIG_FILE: &str = "lethe.toml";
pub(super) const DATA: &str = "lethe-data";
pub(super) const CAPACITY: Size = Size(1 << 30);
pub(super) const BLOCK: Size = Size(64 << 10);
pub(super) const KEY_VARIABLE: &str = "LETHE_KEY";
pub(super) const PASSPHRASE_VARIABLE: &str = "LETHE_PASSPHRASE";
pub(super) const LOG_LEVEL: &str = "info";

/// Loopback only: whoever reaches the endpoint sees names and contents.
pub(super) const LISTEN: SocketAddr = loopback(9317);
pub(super) const ADMIN: SocketAddr = loopback(9318);
pub(super) const SWIFT: SocketAddr = loopback(9319);

/// More at work than there are cores only wait for each other; these many keep a slow link busy.
pub(super) const REQUESTS: u32 = 128;
pub(super) const MOST_REQUESTS: u32 = 65536;
/// What 85 transfers of a default vault hold, three batches of 1 MiB each.
pub(super) const TRANSFER_MEMORY: Size = Size(256 << 20);

/// Below, a slot is mostly overhead; above, one access takes seconds on an ordinary link.
pub(super) const LEAST_BLOCK: Size = Size(64);
pub(super) const MOST_BLOCK: Size = Size(16 << 20);

/// 2^31 blocks do not fit the position map's entries any more.
pub(super) const TOO_MANY_BLOCKS: u64 = 1 << 31;
/// The schemes serve no larger batch.
pub(super) const MOST_BATCH: u32 = 1024;
/// Path ORAM's largest bucket.
pub(super) const MOST_PATH_Z: u32 = 64;
/// Ring ORAM's buckets grow with Z, S and A; beyond this, one eviction moves gigabytes.
pub(super) const MOST_SLOTS: u32 = 1024;

const fn loopback(port: u16) -> SocketAddr {
    SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), port)
}
