//! The device that is served: a vault, and in a demonstration a bare store beside it. Blocks are written to both, and
//! read from the one that is switched on.

use crate::demonstration::{BareStore, ObliviousFlag};
use crate::vault::device::VaultDevice;
use ameles_gateway::{Device, DeviceError, Flow};
use bytes::Bytes;
use std::sync::Arc;

/// See the module. Rows are the vault's alone: they show in neither store.
#[derive(Clone)]
pub(super) struct ServedDevice {
    vault: VaultDevice,
    bare: Option<(Arc<BareStore>, ObliviousFlag)>,
}

impl ServedDevice {
    pub(super) fn new(vault: VaultDevice) -> Self {
        ServedDevice { vault, bare: None }
    }

    /// Both must be empty, and of one shape.
    pub(super) fn beside(vault: VaultDevice, bare: BareStore, oblivious: ObliviousFlag) -> Self {
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
        // Both to their end: after an error nothing may be replaced later on.
        let (vault, bare) = tokio::join!(self.vault.write(flow, writes.clone()), bare.write(writes));
        vault.and(bare)
    }
}
