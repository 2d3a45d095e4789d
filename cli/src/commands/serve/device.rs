//! The served device: a vault, and in a demonstration a bare store as well. Blocks are written to both and read from
//! the one that the switch selects.

use crate::demonstration::{BareStore, ObliviousFlag};
use crate::vault::device::VaultDevice;
use ameles_gateway::{Device, DeviceError, Flow};
use bytes::Bytes;
use std::sync::Arc;

/// The served device, see the module. Only the vault has rows: they show in neither store.
#[derive(Clone)]
pub(super) struct ServedDevice {
    vault: VaultDevice,
    bare: Option<(Arc<BareStore>, ObliviousFlag)>,
}

impl ServedDevice {
    pub(super) fn new(vault: VaultDevice) -> Self {
        ServedDevice { vault, bare: None }
    }

    /// Creates a device of a vault and a bare store, which must both be empty and of the same shape.
    pub(super) fn with_bare_store(vault: VaultDevice, bare: BareStore, oblivious: ObliviousFlag) -> Self {
        ServedDevice { vault, bare: Some((Arc::new(bare), oblivious)) }
    }
}

impl Device for ServedDevice {
    ameles_gateway::forward_device!(self => self.vault, shape);
    ameles_gateway::forward_device!(self => self.vault, rows);

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        match &self.bare {
            Some((bare, oblivious)) if !oblivious.is_on() => bare.read(blocks).await,
            _ => self.vault.read(flow, blocks).await,
        }
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        let Some((bare, _)) = &self.bare else { return self.vault.write(flow, writes).await };
        // Both writes run to their end: after an error, no block may change later.
        let (vault, bare) = tokio::join!(self.vault.write(flow, writes.clone()), bare.write(writes));
        vault.and(bare)
    }
}
