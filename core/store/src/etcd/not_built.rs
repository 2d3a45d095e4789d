//! The place of the client in a program without it.

use super::{EtcdAddress, EtcdError, EtcdTls};
use crate::blobs::{Blob, BlobError, Blobs};
use std::convert::Infallible;

/// Blobs in etcd. This build has none.
#[derive(Debug)]
pub struct Etcd(Infallible);

impl Etcd {
    /// Refuses, because this program was built without etcd.
    ///
    /// # Errors
    /// [`EtcdError::NotBuilt`].
    #[allow(clippy::unused_async, reason = "the client's function waits")]
    pub async fn open(_address: &EtcdAddress, _tls: EtcdTls) -> Result<Self, EtcdError> {
        Err(EtcdError::NotBuilt)
    }
}

impl Blobs for Etcd {
    async fn put(&self, _name: &str, _bytes: &[u8]) -> Result<(), BlobError> {
        match self.0 {}
    }

    async fn put_if_absent(&self, _name: &str, _bytes: &[u8]) -> Result<bool, BlobError> {
        match self.0 {}
    }

    async fn get(&self, _name: &str, _max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        match self.0 {}
    }

    async fn list(&self, _prefix: &str) -> Result<Vec<Blob>, BlobError> {
        match self.0 {}
    }

    async fn remove(&self, _name: &str) -> Result<(), BlobError> {
        match self.0 {}
    }
}
