//! Blobs in etcd, for the journal of a vault.
//!
//! Each blob has two keys, which change in one transaction: its bytes, and its size, so that a list moves no bytes. Reads
//! are linearizable. The client needs the feature `etcd`; without it, [`Etcd::open`] refuses.

mod address;
#[cfg(feature = "etcd")]
mod client;
#[cfg(not(feature = "etcd"))]
mod not_built;

pub use address::{BadEtcdAddress, EtcdAddress};
#[cfg(feature = "etcd")]
pub use client::Etcd;
#[cfg(not(feature = "etcd"))]
pub use not_built::Etcd;

use std::fmt;

/// The certificates of the way to etcd, in PEM.
#[derive(Clone, Default)]
pub struct EtcdTls {
    /// The certificate of the authority that has signed those of the servers. Without it, those of the system count.
    pub ca: Option<Vec<u8>>,
    /// The client's certificate with its chain, and its key.
    pub identity: Option<(Vec<u8>, Vec<u8>)>,
}

impl fmt::Debug for EtcdTls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("EtcdTls").finish_non_exhaustive()
    }
}

/// The reason why etcd cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum EtcdError {
    /// This program was built without its client.
    #[error("this program was built without etcd: build it with `--features etcd`, or use a release package")]
    NotBuilt,
    /// Certificates were given for a way without TLS.
    #[error("the certificates need an address that starts with https://")]
    TlsWithoutHttps,
    /// The client refused the address or the certificates.
    #[error("etcd cannot be used: {0}")]
    Refused(Box<dyn std::error::Error + Send + Sync>),
}
