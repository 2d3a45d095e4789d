//! The gateway's device, which may be broken on purpose: then it remembers what it has read, and spares the accesses
//! when the same is asked for again.

use ameles::vault::device::VaultDevice;
use ameles_gateway::{Device, DeviceError, Flow};
use bytes::Bytes;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

/// The earlier contents of blocks, by their numbers.
type Remembered = BTreeMap<Vec<u64>, Vec<Bytes>>;

/// See the module.
#[derive(Clone)]
pub struct FlawedStore {
    inner: VaultDevice,
    remembered: Option<Arc<Mutex<Remembered>>>,
}

impl FlawedStore {
    pub fn new(inner: VaultDevice, flawed: bool) -> Self {
        FlawedStore { inner, remembered: flawed.then(Arc::default) }
    }
}

impl Device for FlawedStore {
    ameles_gateway::forward_device!(self => self.inner, shape);
    ameles_gateway::forward_device!(self => self.inner, rows);

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        let Some(remembered) = &self.remembered else { return self.inner.read(flow, blocks).await };
        let known = remembered.lock().expect("nobody panics with it").get(&blocks).cloned();
        if let Some(answers) = known {
            return Ok(answers);
        }
        let answers = self.inner.read(flow, blocks.clone()).await?;
        remembered.lock().expect("nobody panics with it").insert(blocks, answers.clone());
        Ok(answers)
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        if let Some(remembered) = &self.remembered {
            remembered.lock().expect("nobody panics with it").clear();
        }
        self.inner.write(flow, writes).await
    }
}
