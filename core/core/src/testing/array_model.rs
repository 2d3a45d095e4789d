//! A plain array, which every scheme must be indistinguishable from to its user.

use super::executor::finish_now;
use crate::oram::{Access, Oram, OramError};
use crate::types::BlockId;
use alloc::vec;
use alloc::vec::Vec;

/// An access of a batch, with the seed of what is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads a block and compares it.
    Read(BlockId),
    /// Fills a block with bytes that follow from this seed.
    Write(BlockId, u8),
    /// A dummy access.
    Dummy,
}

/// The contents that an ORAM's blocks should have.
#[derive(Clone, Debug)]
pub struct ArrayModel {
    block_bytes: usize,
    blocks: Vec<Vec<u8>>,
}

impl ArrayModel {
    /// A model of blocks of zeros.
    pub fn new(capacity: u64, block_bytes: usize) -> Self {
        ArrayModel { block_bytes, blocks: vec![vec![0; block_bytes]; capacity as usize] }
    }

    /// The bytes that are written for a seed: they differ along the block.
    pub fn payload(&self, seed: u8) -> Vec<u8> {
        (0..self.block_bytes).map(|at| seed.wrapping_add((at as u8).wrapping_mul(31))).collect()
    }

    /// The bytes of a block.
    pub fn contents(&self, block: BlockId) -> Vec<u8> {
        self.blocks[block.0 as usize].clone()
    }

    /// Applies a batch to the array now, and returns the batch to run on the ORAM at any time. Accesses take effect in
    /// the order in which they begin.
    pub fn prepare(&mut self, operations: &[Operation]) -> Prepared {
        let expected = operations.iter().map(|operation| match *operation {
            Operation::Read(block) => self.blocks[block.0 as usize].clone(),
            Operation::Write(block, seed) => {
                let payload = self.payload(seed);
                self.blocks[block.0 as usize].clone_from(&payload);
                payload
            }
            Operation::Dummy => Vec::new(),
        });
        Prepared { expected: expected.collect(), operations: operations.to_vec() }
    }

    /// Runs a batch on the array and on the ORAM, and compares what was read.
    ///
    /// # Panics
    /// If the ORAM fails or reads anything else than the array.
    pub async fn batch<O: Oram>(&mut self, oram: &O, operations: &[Operation]) {
        self.prepare(operations).run(oram).await;
    }

    /// Reads every block, one access each, and compares it.
    ///
    /// # Panics
    /// As [`batch`](Self::batch).
    pub async fn read_all<O: Oram>(&mut self, oram: &O) {
        settle(oram).await;
        for block in 0..oram.capacity() {
            self.batch(oram, &[Operation::Read(BlockId(block))]).await;
            settle(oram).await;
        }
    }
}

/// A batch that the array has seen and the ORAM has not.
#[derive(Clone, Debug)]
pub struct Prepared {
    operations: Vec<Operation>,
    /// The bytes that are read, or that are written.
    expected: Vec<Vec<u8>>,
}

impl Prepared {
    /// Runs the batch on the ORAM and compares what was read.
    ///
    /// # Panics
    /// If the ORAM fails or reads anything else than the array.
    pub async fn run<O: Oram>(self, oram: &O) {
        if let Err(error) = self.try_run(oram).await {
            panic!("{:?} failed: {error}", self.operations);
        }
    }

    /// Runs the batch on the ORAM and compares what was read, unless the ORAM refuses or fails.
    ///
    /// # Errors
    /// The ORAM's.
    ///
    /// # Panics
    /// If the ORAM reads anything else than the array.
    pub async fn try_run<O: Oram>(&self, oram: &O) -> Result<(), OramError<O::Error>> {
        let mut buffers: Vec<Vec<u8>> = vec![vec![0xa5; oram.block_bytes()]; self.operations.len()];
        let mut batch: Vec<Access<'_>> = self
            .operations
            .iter()
            .zip(buffers.iter_mut().zip(&self.expected))
            .map(|(operation, (buffer, expected))| match operation {
                Operation::Read(block) => Access::Read(*block, buffer),
                Operation::Write(block, _) => Access::Write(*block, expected),
                Operation::Dummy => Access::Dummy,
            })
            .collect();
        oram.access(&mut batch).await?;
        for (operation, (buffer, expected)) in self.operations.iter().zip(buffers.iter().zip(&self.expected))
        {
            if let Operation::Read(block) = operation {
                assert_eq!(buffer, expected, "{block} read wrong in {:?}", self.operations);
            }
        }
        Ok(())
    }
}

/// Runs the pending steps of the ORAM until none is left.
///
/// # Panics
/// If the ORAM fails.
pub async fn settle<O: Oram>(oram: &O) {
    while oram.pending_steps() > 0 {
        if let Err(error) = oram.step().await {
            panic!("a step failed: {error}");
        }
    }
}

/// Runs batches on an ORAM over an always-ready store and on a plain array, then reads every block. After each batch
/// the ORAM runs all pending steps if `eager`, else only those that it must.
///
/// # Panics
/// If the ORAM fails, answers anything else than the array, or makes an emergency eviction.
pub fn exercise<O: Oram>(oram: &O, batches: &[Vec<Operation>], eager: bool) {
    let mut model = ArrayModel::new(oram.capacity(), oram.block_bytes());
    finish_now(async {
        for batch in batches {
            while oram.must_step() {
                oram.step().await.expect("the step");
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
