//! The reads, carried out under a recorder.

use crate::reads::BLOCKS;
use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::ring::{RingOram, RingParameters};
use ameles_core::types::BlockId;
use ameles_seal::blob;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::{Sealed, sealed_layout};
use ameles_seal::slot_format::{Nonces, SlotFormat};
use ameles_seal::versions::{TrustedVersions, VaultId};
use ameles_store::{Blobs, DenseMemory, Event, Recorder, Request};
use futures::executor::block_on;
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::collections::BTreeSet;
use std::error::Error;

const BLOCK_BYTES: usize = 64;
/// The picture is the same at each run.
const SEED: u64 = 1;

/// Reads each block `n` from a sealed object `object-n`, as most encrypting clients do. Returns which object each
/// request named.
pub(crate) fn encrypted_objects(reads: &[u64]) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut random = ChaCha20Rng::seed_from_u64(SEED);
    let master = MasterKey::draw(&mut random);
    let store = Recorder::new(DenseMemory::new(Default::default()));
    let name = |block: u64| format!("object-{block}");
    let purpose = Purpose::named("example");
    block_on(async {
        for block in 0..BLOCKS {
            let (text, salt) = ([block as u8; BLOCK_BYTES], Salt::draw(&mut random));
            let sealed = blob::seal(&master, purpose, name(block).as_bytes(), Cipher::default(), salt, &text);
            store.put(&name(block), &sealed).await?;
        }
        store.trace().take();
        for block in reads {
            let sealed = store.get(&name(*block), 1 << 20).await?.ok_or("an object is missing")?;
            let text = blob::open(&master, purpose, name(*block).as_bytes(), &sealed)?;
            assert_eq!(text, [*block as u8; BLOCK_BYTES]);
        }
        Ok::<(), Box<dyn Error>>(())
    })?;
    let number = |request: &Request| match request {
        Request::GetBlob(name) => name.strip_prefix("object-").and_then(|number| number.parse().ok()),
        _ => None,
    };
    Ok(store.trace().requests().iter().filter_map(number).collect())
}

/// The requests to the store because of one access.
pub(crate) struct VisibleAccess {
    /// The slots read before the answer, by their place in the store.
    pub(crate) on_line: Vec<u64>,
    /// The first and last slot of each bucket that was rewritten after the access.
    pub(crate) rewritten: Vec<(u64, u64)>,
}

/// A trace of Ameles.
pub(crate) struct Trace {
    pub(crate) accesses: Vec<VisibleAccess>,
    /// The number of levels of the tree in the store: slots of an access.
    pub(crate) levels: usize,
    /// The number of slots of the store.
    pub(crate) slots: u64,
}

impl Trace {
    /// The number of places of the store where something was read on line.
    pub(crate) fn places(&self) -> usize {
        let places: BTreeSet<u64> =
            self.accesses.iter().flat_map(|access| &access.on_line).copied().collect();
        places.len()
    }
}

/// Reads the same blocks from a sealed Ring ORAM.
pub(crate) fn with_ameles(reads: &[u64]) -> Result<Trace, Box<dyn Error>> {
    let mut random = ChaCha20Rng::seed_from_u64(SEED);
    let master = MasterKey::draw(&mut random);
    let parameters = RingParameters::for_capacity(BLOCKS, BLOCK_BYTES as u32, BLOCKS / 8, 1);
    let (tree, layout) = (parameters.geometry(), parameters.geometry().layout());
    let recorder = Recorder::new(DenseMemory::new(sealed_layout(&layout, SlotFormat::Counted)));
    let trace = recorder.trace();
    let versions = TrustedVersions::new(VaultId::draw(&mut random), layout.buckets());
    let (cipher, nonces) = (Cipher::default(), Nonces::Counted);
    let sealed = Sealed::new(recorder, &master, cipher, nonces, versions, SealThreads::single())?;
    sealed.begin_epoch(Salt::draw(&mut random))?;
    let oram = RingOram::new(parameters, sealed, FlatPositionMap::new(Positions::new(BLOCKS)), random)?;

    // Buckets are numbered level by level, the root's side first; so are their slots here.
    let first_slot = |bucket| {
        let level = tree.level_of(bucket);
        let slots = u64::from(tree.shape(level).slots);
        (tree.slots_above(level) + (bucket.0 - tree.first_of(level).0) * slots, slots)
    };
    let slots_read = |event: &Event| match &event.request {
        Request::Read(range) => {
            let first = first_slot(range.of.bucket).0 + u64::from(range.first_slot);
            (first..first + u64::from(range.slots)).collect()
        }
        _ => Vec::new(),
    };
    let bucket_written = |event: &Event| match &event.request {
        Request::Write(written) => {
            let (first, slots) = first_slot(written.bucket);
            Some((first, first + slots - 1))
        }
        _ => None,
    };
    let accesses = block_on(async {
        for block in 0..BLOCKS {
            oram.access(&mut [Access::Write(BlockId(block), &[block as u8; BLOCK_BYTES])]).await?;
            finish_pending_steps(&oram).await?;
        }
        trace.take();
        let mut accesses = Vec::new();
        for block in reads {
            let mut read = [0; BLOCK_BYTES];
            oram.access(&mut [Access::Read(BlockId(*block), &mut read)]).await?;
            assert_eq!(read, [*block as u8; BLOCK_BYTES]);
            let on_line = trace.take().iter().flat_map(slots_read).collect();
            finish_pending_steps(&oram).await?;
            let rewritten = trace.take().iter().filter_map(bucket_written).collect();
            accesses.push(VisibleAccess { on_line, rewritten });
        }
        Ok::<_, Box<dyn Error>>(accesses)
    })?;
    Ok(Trace { accesses, levels: tree.levels().count(), slots: layout.slots() })
}

async fn finish_pending_steps<O: Oram>(oram: &O) -> Result<(), Box<dyn Error>> {
    while oram.pending_steps() > 0 {
        oram.step().await?;
    }
    Ok(())
}
