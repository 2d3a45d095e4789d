//! Any scheme as a sub-ORAM: a block has an address of the scheme while it is in the partition.

use super::sub_oram::SubOram;
use crate::oram::{Access, Oram, OramError};
use crate::types::BlockId;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;
use core::cell::RefCell;

/// A sub-ORAM over a scheme. A block gets a free address of the scheme when it is put in, and frees it when it is
/// taken.
///
/// **Costs**: a take is one access. A put is always `max_put_blocks` accesses, dummies included, and all pending steps
/// of the scheme.
pub struct Addressed<O> {
    oram: O,
    max_put_blocks: usize,
    addresses: RefCell<Addresses>,
}

struct Addresses {
    of: BTreeMap<BlockId, BlockId>,
    free: Vec<BlockId>,
}

impl<O: Oram> Addressed<O> {
    /// An empty sub-ORAM over a scheme that was never used. A put has at most `max_put_blocks` blocks.
    pub fn new(oram: O, max_put_blocks: usize) -> Self {
        let free = (0..oram.capacity()).rev().map(BlockId).collect();
        Addressed { oram, max_put_blocks, addresses: RefCell::new(Addresses { of: BTreeMap::new(), free }) }
    }

    async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<O::Error>> {
        for batch in batch.chunks_mut(self.oram.max_batch()) {
            while self.oram.must_step() {
                self.oram.step().await?;
            }
            self.oram.access(batch).await?;
        }
        Ok(())
    }
}

impl<O: Oram> SubOram for Addressed<O> {
    type Error = O::Error;

    fn max_put_blocks(&self) -> usize {
        self.max_put_blocks
    }

    fn room(&self) -> usize {
        self.addresses.borrow().free.len()
    }

    /// The scheme bounds the blocks that it holds itself.
    fn waiting_blocks(&self) -> usize {
        0
    }

    async fn take(&self, block: Option<BlockId>, into: &mut [u8]) -> Result<(), OramError<O::Error>> {
        let address = block.map(|block| self.addresses.borrow_mut().of.remove(&block));
        let access = match address {
            Some(Some(address)) => Access::Read(address, into),
            Some(None) => return Err(OramError::Contradiction("a block is not in its partition")),
            None => Access::Dummy,
        };
        self.access(&mut [access]).await?;
        self.addresses.borrow_mut().free.extend(address.flatten());
        Ok(())
    }

    async fn put(&self, blocks: &[BlockId], from: &[u8]) -> Result<(), OramError<O::Error>> {
        let block_bytes = self.oram.block_bytes();
        let mut batch = Vec::with_capacity(self.max_put_blocks);
        {
            let Addresses { of, free } = &mut *self.addresses.borrow_mut();
            for (nth, block) in blocks.iter().enumerate() {
                let address = free.pop().ok_or(OramError::Contradiction("a partition is full"))?;
                of.insert(*block, address);
                batch.push(Access::Write(address, &from[nth * block_bytes..][..block_bytes]));
            }
        }
        batch.resize_with(self.max_put_blocks, || Access::Dummy);
        self.access(&mut batch).await?;
        while self.oram.pending_steps() > 0 {
            self.oram.step().await?;
        }
        Ok(())
    }

    /// 0, because the scheme counts its own buffers.
    fn take_buffer_blocks(&self) -> usize {
        0
    }

    fn put_buffer_blocks(&self) -> usize {
        0
    }

    /// The bytes of the addresses only. The scheme counts its own memory.
    fn trusted_bytes(&self) -> usize {
        let addresses = self.addresses.borrow();
        addresses.of.len() * size_of::<(BlockId, BlockId)>() + addresses.free.len() * size_of::<BlockId>()
    }
}
