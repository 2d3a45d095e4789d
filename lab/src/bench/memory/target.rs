//! The subject of a measurement: an ORAM over sealed memory.

use super::super::BenchError;
use super::super::ready::expect_ready;
use super::super::report::TrustedMemory;
use ameles_core::oram::{Access, Oram};
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

/// An ORAM, and the parts of its trusted memory that have a fixed size, in bytes.
struct OramTarget<O> {
    oram: O,
    position_map: u64,
    metadata: u64,
    versions: u64,
}

impl<O: Oram + FullSnapshot<ChaCha20Rng>> Target for OramTarget<O>
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
        let OramTarget { position_map, metadata, versions, .. } = *self;
        let stash_and_top = self.oram.trusted_bytes() as u64 - position_map - metadata;
        Some(TrustedMemory { stash_and_top, position_map, metadata, versions })
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

/// A memory that is measured, or the reason why there is none.
type MadeTarget = Result<Box<dyn Target>, BenchError>;

/// A scheme over fresh sealed memory of this layout. On the trusted side it keeps a position map of `capacity` words of
/// 4 bytes, and `metadata` bytes about its buckets and slots.
fn over_sealed_memory<O, E>(
    (layout, capacity, metadata): (&Layout, u64, u64),
    cipher: Cipher,
    build: impl FnOnce(Memory, FlatMap, ChaCha20Rng) -> Result<O, E>,
) -> MadeTarget
where
    O: Oram<Error = SealError> + FullSnapshot<ChaCha20Rng> + 'static,
    E: std::error::Error + Send + Sync + 'static,
{
    let (memory, versions) = sealed_memory(layout, cipher)?;
    let positions = FlatMap::new(Positions::new(capacity));
    let oram = build(memory, positions, randomness()).map_err(BenchError::failed)?;
    Ok(Box::new(OramTarget { oram, position_map: 4 * capacity, metadata, versions }))
}

pub(super) fn path_over_sealed_memory(parameters: PathParameters, cipher: Cipher) -> MadeTarget {
    let (layout, capacity) = (parameters.layout(), parameters.capacity);
    over_sealed_memory((&layout, capacity, 0), cipher, |memory, positions, random| {
        PathOram::new(parameters, Bucket(0), memory, positions, random)
    })
}

pub(super) fn circuit_over_sealed_memory(parameters: CircuitParameters, cipher: Cipher) -> MadeTarget {
    let (layout, capacity) = (parameters.layout(), parameters.capacity);
    over_sealed_memory((&layout, capacity, 0), cipher, |memory, positions, random| {
        CircuitOram::new(parameters, memory, positions, random)
    })
}

pub(super) fn ring_over_sealed_memory(parameters: RingParameters, cipher: Cipher) -> MadeTarget {
    let (layout, capacity) = (parameters.layout(), parameters.capacity);
    let metadata = 4 * layout.slots() + 5 * layout.buckets();
    over_sealed_memory((&layout, capacity, metadata), cipher, |memory, positions, random| {
        RingOram::new(parameters, memory, positions, random)
    })
}
