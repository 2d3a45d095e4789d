//! The gateway's device. A flawed one caches reads, and skips the access when the same blocks are read again.

use ameles::vault::device::VaultDevice;
use ameles_gateway::{Device, DeviceError, Flow};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The contents of blocks read before, by block numbers.
type Cache = BTreeMap<Vec<u64>, Vec<Bytes>>;

/// A device that may cache reads.
#[derive(Clone)]
pub struct FlawedStore {
    inner: VaultDevice,
    cache: Option<Arc<Mutex<Cache>>>,
}

impl FlawedStore {
    pub fn new(inner: VaultDevice, flawed: bool) -> Self {
        FlawedStore { inner, cache: flawed.then(Arc::default) }
    }
}

impl Device for FlawedStore {
    ameles_gateway::forward_device!(self => self.inner, shape);
    ameles_gateway::forward_device!(self => self.inner, rows);

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let Some(cache) = &self.cache else { return self.inner.read(flow, blocks).await };
        let cached = cache.lock().expect("nobody panics with it").get(&blocks).cloned();
        if let Some(answers) = cached {
            return Ok(answers);
        }
        let answers = self.inner.read(flow, blocks.clone()).await?;
        cache.lock().expect("nobody panics with it").insert(blocks, answers.clone());
        Ok(answers)
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        if let Some(cache) = &self.cache {
            cache.lock().expect("nobody panics with it").clear();
        }
        self.inner.write(flow, writes).await
    }
}
