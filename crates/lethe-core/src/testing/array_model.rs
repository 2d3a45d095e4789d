//! A plain array, which every scheme must be indistinguishable from to its user.

use super::executor::finish_now;
use crate::oram::{Access, Oram};
use crate::words::BlockId;
use alloc::vec;
use alloc::vec::Vec;

/// One access of a batch, with what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a block and compares it.
    Read(BlockId),
    /// Fills a block with bytes that follow from this seed.
    Write(BlockId, u8),
    /// A dummy access.
    Dummy,
}

/// What an ORAM's blocks should hold.
#[derive(Clone, Debug)]
pub struct ArrayModel {
    block_bytes: usize,
    blocks: Vec<Vec<u8>>,
}

impl ArrayModel {
    /// Blocks of zeros.
    pub fn new(capacity: u64, block_bytes: usize) -> Self {
        ArrayModel { block_bytes, blocks: vec![vec![0; block_bytes]; capacity as usize] }
    }

    /// What is written for a seed: bytes that differ along the block.
    pub fn payload(&self, seed: u8) -> Vec<u8> {
        (0..self.block_bytes).map(|at| seed.wrapping_add((at as u8).wrapping_mul(31))).collect()
    }

    /// Runs a batch on the array and on the ORAM, and compares what was read.
    ///
    /// # Panics
    /// If the ORAM fails or reads anything else than the array.
    pub async fn batch<O: Oram>(&mut self, oram: &O, operations: &[Operation]) {
        let mut buffers: Vec<Vec<u8>> = operations
            .iter()
            .map(|operation| match operation {
                Operation::Write(_, seed) => self.payload(*seed),
                _ => vec![0xa5; self.block_bytes],
            })
            .collect();
        let mut batch: Vec<Access<'_>> = operations
            .iter()
            .zip(&mut buffers)
            .map(|(operation, buffer)| match operation {
                Operation::Read(block) => Access::Read(*block, buffer),
                Operation::Write(block, _) => Access::Write(*block, buffer),
                Operation::Dummy => Access::Dummy,
            })
            .collect();
        if let Err(error) = oram.access(&mut batch).await {
            panic!("{operations:?} failed: {error}");
        }
        for (operation, buffer) in operations.iter().zip(buffers) {
            match operation {
                Operation::Read(block) => {
                    assert_eq!(buffer, self.blocks[block.0 as usize], "{block} read wrong in {operations:?}");
                }
                Operation::Write(block, _) => self.blocks[block.0 as usize] = buffer,
                Operation::Dummy => {}
            }
        }
    }

    /// Reads every block, one access each, and compares it.
    ///
    /// # Panics
    /// As [`batch`](Self::batch).
    pub async fn read_all<O: Oram>(&mut self, oram: &O) {
        for block in 0..oram.capacity() {
            self.batch(oram, &[Operation::Read(BlockId(block))]).await;
            settle(oram).await;
        }
    }
}

/// Does what the ORAM owes until it owes nothing.
///
/// # Panics
/// If the ORAM fails.
pub async fn settle<O: Oram>(oram: &O) {
    while oram.owed() > 0 {
        if let Err(error) = oram.idle().await {
            panic!("idle failed: {error}");
        }
    }
}

/// Runs batches on an ORAM over an always-ready store and on a plain array, then reads every block. After each batch
/// the ORAM does all that it owes if `eager`, else only what it must.
///
/// # Panics
/// If the ORAM fails, answers anything else than the array, or makes an emergency eviction.
pub fn exercise<O: Oram>(oram: &O, batches: &[Vec<Operation>], eager: bool) {
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    finish_now(async {
        for batch in batches {
            while oram.must_idle() {
                oram.idle().await.expect("idle works");
            }
            model.batch(oram, batch).await;
            if eager {
                settle(oram).await;
            }
        }
        model.read_all(oram).await;
    });
    assert_eq!(oram.emergencies(), 0, "an eviction outside of the public schedule");
}
