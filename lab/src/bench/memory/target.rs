//! The subject of a measurement: an ORAM over sealed memory.

use super::super::BenchError;
use super::super::ready::expect_ready;
use super::super::report::TrustedMemory;
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::PositionMap;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::circuit::{CircuitOram, CircuitParameters};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::snapshot::full::FullSnapshot;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::error::SealError;
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use ameles_store::DenseMemory;
use rand_chacha::ChaCha20Rng;
use rand_core::{OsRng, SeedableRng, TryRngCore};

/// A memory of blocks that is measured.
pub(super) trait Target {
    /// Reads a block into the buffer, or writes it from there, and does all pending work.
    fn access(&mut self, block: u64, write: bool, buffer: &mut [u8]) -> Result<(), BenchError>;

    /// Returns the memory on the trusted side, or `None` for an array.
    fn trusted(&self) -> Option<TrustedMemory> {
        None
    }
}

type Memory = Sealed<DenseMemory>;
type FlatMap = FlatPositionMap<SealError>;

/// An ORAM with its trusted memory, without the versions.
struct OramTarget<O> {
    oram: O,
    versions: u64,
    trusted: fn(&O) -> TrustedMemory,
}

impl<O: Oram> Target for OramTarget<O>
where
    O::Error: Send + Sync,
{
    fn access(&mut self, block: u64, write: bool, buffer: &mut [u8]) -> Result<(), BenchError> {
        let block = BlockId(block);
        let access = if write { Access::Write(block, buffer) } else { Access::Read(block, buffer) };
        expect_ready(self.oram.access(&mut [access])).map_err(BenchError::failed)?;
        while self.oram.pending_steps() > 0 {
            expect_ready(self.oram.step()).map_err(BenchError::failed)?;
        }
        Ok(())
    }

    fn trusted(&self) -> Option<TrustedMemory> {
        Some(TrustedMemory { versions: self.versions, ..(self.trusted)(&self.oram) })
    }
}

/// Fresh sealed memory of this shape, and the bytes of its table of versions.
fn sealed_memory(layout: &Layout, cipher: Cipher) -> Result<(Memory, u64), BenchError> {
    let mut random = OsRng.unwrap_err();
    let master = MasterKey::draw(&mut random);
    let versions = TrustedVersions::new(VaultId::draw(&mut random), layout.buckets());
    let memory = DenseMemory::new(sealed_layout(layout, SlotFormat::Counted));
    let sealed = Sealed::new(memory, &master, cipher, Nonces::Counted, versions, SealThreads::single());
    let sealed = sealed.map_err(BenchError::failed)?;
    sealed.begin_epoch(Salt::draw(&mut random)).map_err(BenchError::failed)?;
    Ok((sealed, VERSION_BYTES * layout.buckets()))
}

/// The bytes that the sealing layer remembers of each bucket.
const VERSION_BYTES: u64 = 12;

fn randomness() -> ChaCha20Rng {
    ChaCha20Rng::from_rng(&mut OsRng.unwrap_err())
}

pub(super) fn path_over_sealed_memory(
    parameters: PathParameters,
    cipher: Cipher,
) -> Result<Box<dyn Target>, BenchError> {
    let (memory, versions) = sealed_memory(&parameters.layout(), cipher)?;
    let positions = FlatMap::new(Positions::new(parameters.capacity));
    let oram = PathOram::new(parameters, Bucket(0), memory, positions, randomness());
    let oram = oram.map_err(BenchError::failed)?;
    let trusted = |oram: &PathOram<Memory, FlatMap, ChaCha20Rng>| {
        let position_map = oram.positions().trusted_bytes();
        TrustedMemory {
            stash_and_top: (oram.trusted_bytes() - position_map) as u64,
            position_map: position_map as u64,
            ..TrustedMemory::default()
        }
    };
    Ok(Box::new(OramTarget { oram, versions, trusted }))
}

pub(super) fn circuit_over_sealed_memory(
    parameters: CircuitParameters,
    cipher: Cipher,
) -> Result<Box<dyn Target>, BenchError> {
    let (memory, versions) = sealed_memory(&parameters.layout(), cipher)?;
    let positions = FlatMap::new(Positions::new(parameters.capacity));
    let oram = CircuitOram::new(parameters, memory, positions, randomness()).map_err(BenchError::failed)?;
    let trusted = |oram: &CircuitOram<Memory, FlatMap, ChaCha20Rng>| {
        let position_map = 4 * oram.parameters().capacity;
        let stash_and_top = oram.trusted_bytes() as u64 - position_map;
        TrustedMemory { stash_and_top, position_map, ..TrustedMemory::default() }
    };
    Ok(Box::new(OramTarget { oram, versions, trusted }))
}

pub(super) fn ring_over_sealed_memory(
    parameters: RingParameters,
    cipher: Cipher,
) -> Result<Box<dyn Target>, BenchError> {
    let (memory, versions) = sealed_memory(&parameters.layout(), cipher)?;
    let positions = FlatMap::new(Positions::new(parameters.capacity));
    let oram = RingOram::new(parameters, memory, positions, randomness()).map_err(BenchError::failed)?;
    let trusted = |oram: &RingOram<Memory, FlatMap, ChaCha20Rng>| {
        let position_map = 4 * oram.parameters().capacity;
        let layout = oram.parameters().layout();
        let metadata = 4 * layout.slots() + 5 * layout.buckets();
        TrustedMemory {
            stash_and_top: oram.trusted_bytes() as u64 - position_map - metadata,
            position_map,
            metadata,
            versions: 0,
        }
    };
    Ok(Box::new(OramTarget { oram, versions, trusted }))
}
