//! A checkpoint in the store, fetched and authenticated: first its manifest, then its pieces.

use super::local_copy::local_copy_error;
use super::restored_stash::{RestoredStash, Resumed};
use super::state::PersistedScheme;
use crate::engine::deferred_store::DeferredStore;
use crate::engine::scheme::Seed;
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Receipt, blob_name, digest, max_sealed_bytes};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::journal_point::JournalPoint;
use crate::trusted::payload_pieces::payloads_in;
use crate::trusted::position::Position;
use crate::trusted::reseal::blocks_at_once;
use crate::trusted::row::Row;
use crate::trusted::rows::row_hash;
use crate::trusted::seal_context::{SealContext, context};
use crate::trusted::sent_payloads::PayloadSet;
use crate::trusted::sent_state::StatePart;
use crate::trusted::shipped_state::{
    MAX_SEALED_BYTES, Manifest, ShippedPoint, ShippedState, ShippedStateHeader, ShippedStateReader,
};
use crate::trusted::word_tables::WordTables;
use ameles_core::snapshot::incremental::Origins;
use ameles_core::store::Untrusted;
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use ameles_core::types::{BlockId, Slot};
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::sealed::{Sealed, VersionedSlot};
use ameles_seal::versions::TrustedVersions;
use borsh::BorshDeserialize;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::rc::Rc;
use std::time::Duration;
use tokio::time::Instant;

/// A checkpoint that was found in the store.
pub(crate) struct FoundCheckpoint {
    pub(crate) point: ShippedPoint,
    pub(crate) scheme: ShippedScheme,
    pub(crate) versions: TrustedVersions,
    pub(crate) rows: Vec<Row>,
    /// The receipts of earlier checkpoints.
    pub(crate) history: Vec<(u64, [u8; 32])>,
    /// The point at which a journal continues the checkpoint.
    pub(crate) from: JournalPoint,
    /// The bytes of the checkpoint's objects, and the time that they took to come.
    pub(crate) came: (u64, Duration),
}

/// The shipped state of a scheme, with its stash on the scratch disk. The payloads that have origins in buckets are not
/// there until [`take_origins`](ShippedScheme::take_origins).
pub(crate) struct ShippedScheme {
    written: PersistedScheme,
    stash: RestoredStash,
    order: Vec<BlockId>,
    origins: Vec<(BlockId, Slot)>,
    /// The maximum number of these origins. Public.
    max_origins: u64,
    /// True if payloads of the stash may be missing that have an origin.
    pub(super) has_origins: bool,
}

impl ShippedScheme {
    /// The rest of the scheme's state.
    pub(super) fn rest(&self) -> &[u8] {
        &self.written.rest
    }

    /// Takes the payloads of the stash that are in buckets, from the copy of these. As many slots are read as there may be
    /// such payloads, and as many slots of the scratch disk are written.
    ///
    /// # Errors
    /// [`VaultError::Tampered`], and the errors of the copy and of the disk.
    pub(super) async fn take_origins<L: Untrusted>(
        &mut self,
        copy: &Sealed<L>,
        padding: &[Slot],
        seal: &mut SealContext<'_>,
    ) -> Result<(), VaultError> {
        let (some, room) = (blocks_at_once(seal.header.parameters.block()), self.max_origins as usize);
        for first in (0..room).step_by(some) {
            let part = first.min(self.origins.len())..(first + some).min(self.origins.len());
            let (part, at_least) = (&self.origins[part], some.min(room - first));
            let mut slots: Vec<Slot> = part.iter().map(|(_, slot)| *slot).collect();
            slots.extend(padding.iter().cycle().take(at_least - slots.len()));
            let bytes = read_slots(copy, &slots).await?;
            let slot_bytes = HEADER_BYTES + seal.header.parameters.block().0 as usize;
            let found = part.iter().zip(bytes.chunks_exact(slot_bytes)).map(|((block, _), slot)| {
                let payload = block_header::is_of(slot, *block).then(|| slot[HEADER_BYTES..].to_vec());
                Ok((*block, payload.ok_or_else(contradicts)?))
            });
            let found = found.collect::<Result<HashMap<BlockId, Vec<u8>>, VaultError>>()?;
            let blocks: Vec<BlockId> = part.iter().map(|(block, _)| *block).collect();
            self.stash.append(&found, (&blocks, at_least), seal)?;
        }
        self.set_order(seal)
    }

    /// Sets the order of the stash. All payloads must be there.
    ///
    /// # Errors
    /// [`VaultError::Tampered`], and the errors of the disk.
    pub(super) fn set_order(&mut self, seal: &mut SealContext<'_>) -> Result<(), VaultError> {
        let order = std::mem::take(&mut self.order);
        if self.stash.set_order(order, seal)? { Ok(()) } else { Err(contradicts()) }
    }

    /// Resumes the scheme with its stash on the scratch disk, and with this seed. `None` if its state contradicts itself.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(super) fn resume(
        self,
        with: (Rc<DeferredStore>, Seed),
        seal: &mut SealContext<'_>,
    ) -> Result<Option<(Resumed, RestoredStash)>, VaultError> {
        let resumed = self.stash.resume(self.written, with, seal)?;
        Ok(resumed.map(|resumed| (resumed, self.stash)))
    }
}

/// The empty state of a vault before its first checkpoint. The journal in the store holds everything.
///
/// # Errors
/// [`VaultError::Parameters`].
pub(super) fn empty_checkpoint(
    header: &VaultHeader,
    scratch: &TrustedDisk,
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    let mut tables = WordTables::zeros(&header.parameters.word_tables());
    // The table of versions is the last one.
    tables.take_last();
    let rest = header.parameters.scheme.start(Rc::default(), Seed::default())?.rest();
    let stash = RestoredStash::on(scratch);
    let receipt = Receipt { vault: header.vault, epoch: 0, checkpoint: 0, digest: [0; 32] };
    let found = FoundCheckpoint {
        point: ShippedPoint { number: 0, epoch: 0, accesses: 0 },
        scheme: ShippedScheme {
            written: PersistedScheme { tables: tables.into_inner(), rest },
            stash,
            order: Vec::new(),
            origins: Vec::new(),
            max_origins: 0,
            has_origins: false,
        },
        versions: TrustedVersions::new(header.vault, header.parameters.layout().buckets()),
        rows: Vec::new(),
        history: Vec::new(),
        from: JournalPoint { object: Some(Position::first_of(1)), ..JournalPoint::default() },
        came: (0, Duration::ZERO),
    };
    Ok((receipt, found))
}

/// The manifest of a checkpoint in the store.
pub(crate) struct FoundManifest {
    pub(crate) receipt: Receipt,
    pub(crate) manifest: Manifest,
    /// The point at which a journal continues the checkpoint.
    pub(crate) from: JournalPoint,
    /// The number of bytes of its object.
    bytes: u64,
}

/// Fetches the manifest of the checkpoint of this epoch and number.
///
/// # Errors
/// [`VaultError::Tampered`], and the errors of the store.
pub(crate) async fn fetch_manifest<U: VaultStore>(
    store: &U,
    (header, ring): (&VaultHeader, &KeyRing),
    (epoch, number): (u32, u64),
) -> Result<FoundManifest, VaultError> {
    let name = blob_name(epoch, number);
    let sealed = fetch(store, &name, max_sealed_bytes(&header.parameters)).await?;
    let receipt = Receipt { vault: header.vault, epoch, checkpoint: number, digest: digest(&sealed) };
    let text = blob::open(ring.key_of_epoch(epoch), Purpose::MANIFEST, &context(header, &name), &sealed)
        .map_err(|error| {
            VaultError::Tampered(ErrorReason::of(error).about(format_args!("{name} in the store")))
        })?;
    let (manifest, from) = Manifest::decode(&text).ok_or_else(|| not_a_checkpoint(&name))?;
    Ok(FoundManifest { receipt, manifest, from, bytes: sealed.len() as u64 })
}

/// Fetches the head of the newest part of a checkpoint: the receipts of earlier checkpoints are there.
///
/// # Errors
/// [`VaultError::Tampered`], and the errors of the store.
pub(crate) async fn fetch_head<U: VaultStore>(
    store: &U,
    (header, ring): (&VaultHeader, &KeyRing),
    manifest: &Manifest,
) -> Result<ShippedStateHeader, VaultError> {
    let part = manifest.parts.last().ok_or_else(contradicts)?;
    let (name, expected) = part.names().next().ok_or_else(contradicts)?;
    let mut fetcher = PieceFetcher { store, header, ring, came: 0 };
    let text = fetcher.fetch(&name, part.epoch, expected).await?;
    ShippedStateHeader::deserialize(&mut &text[..]).map_err(|_| not_a_checkpoint(&name))
}

/// Fetches the checkpoint of this epoch and number, with its receipt. Its stash goes to the scratch disk.
///
/// # Errors
/// [`VaultError::Tampered`], and the errors of the store.
pub(crate) async fn fetch_checkpoint<U: VaultStore>(
    (store, scratch): (&U, &TrustedDisk),
    (header, ring): (&VaultHeader, &KeyRing),
    (epoch, number): (u32, u64),
    entropy: &mut Entropy,
) -> Result<(Receipt, FoundCheckpoint), VaultError> {
    let began = Instant::now();
    let FoundManifest { receipt, manifest, from, bytes } =
        fetch_manifest(store, (header, ring), (epoch, number)).await?;
    let mut fetcher = PieceFetcher { store, header, ring, came: bytes };
    let state = fetcher.fetch_state(&manifest.parts).await?;
    let ShippedState { head, mut tables, rows, order } = state;
    let versions =
        TrustedVersions::from_parts(head.versions, &tables.take_last()).map_err(|_| contradicts())?;
    if (head.point.number, head.point.epoch) != (number, epoch) {
        return Err(contradicts());
    }
    let written = PersistedScheme { tables: tables.into_inner(), rest: head.rest };
    let scheme = &header.parameters.scheme;
    let has_origins = manifest.has_origins;
    let origins = has_origins.then(|| scheme.origins_of(&written.tables, &written.rest));
    let Origins { slots, max } =
        origins.unwrap_or_else(|| Some(Origins::default())).ok_or_else(contradicts)?;
    let max_origins = max.min(scheme.stash_bound());
    let origins = origins_in(&order, slots).filter(|origins| origins.len() as u64 <= max_origins);
    let origins = origins.ok_or_else(contradicts)?;
    let mut seal = SealContext { header, master: ring.newest(), entropy };
    let sent = order.iter().copied().filter(|block| !origins.contains_key(block)).collect();
    let stash = fetcher.fetch_stash(&manifest.sets, (sent, scratch), &mut seal).await?;
    let came = (fetcher.came, began.elapsed());
    let origins = origins.into_iter().collect();
    let scheme = ShippedScheme { written, stash, order, origins, max_origins, has_origins };
    let found =
        FoundCheckpoint { point: head.point, scheme, versions, rows, history: head.history, from, came };
    Ok((receipt, found))
}

/// The origin of each block of the stash that has one. `None` if a block comes twice in the stash.
fn origins_in(order: &[BlockId], slots: Vec<(BlockId, Slot)>) -> Option<BTreeMap<BlockId, Slot>> {
    let stash: BTreeSet<BlockId> = order.iter().copied().collect();
    let in_stash = slots.into_iter().filter(|(block, _)| stash.contains(block));
    (stash.len() == order.len()).then(|| in_stash.collect())
}

/// Reads slots of the copy of the checkpoint's buckets.
///
/// # Errors
/// Tampering, and the errors of the copy.
pub(super) async fn read_slots<L: Untrusted>(
    copy: &Sealed<L>,
    slots: &[Slot],
) -> Result<Vec<u8>, VaultError> {
    let places: Vec<VersionedSlot> = copy.resolve(slots);
    let mut bytes = vec![0; slots.iter().map(|slot| copy.layout().slot_bytes(*slot)).sum()];
    copy.read_places(&places, &mut bytes).await.map_err(local_copy_error)?;
    Ok(bytes)
}

async fn fetch<U: VaultStore>(store: &U, name: &str, max: usize) -> Result<Vec<u8>, VaultError> {
    let vanished = || VaultError::Tampered(format!("{name} is not in the store").into());
    store.get(name, max).await?.ok_or_else(vanished)
}

fn not_a_checkpoint(name: &str) -> VaultError {
    VaultError::Tampered(format!("{name} in the store is not a checkpoint").into())
}

fn contradicts() -> VaultError {
    VaultError::Tampered("the checkpoint in the store contradicts itself".into())
}

/// Fetches the pieces of a checkpoint, and authenticates them.
struct PieceFetcher<'a, U> {
    store: &'a U,
    header: &'a VaultHeader,
    ring: &'a KeyRing,
    /// The bytes that have come.
    came: u64,
}

impl<U: VaultStore> PieceFetcher<'_, U> {
    async fn fetch(&mut self, name: &str, epoch: u32, expected: [u8; 32]) -> Result<Vec<u8>, VaultError> {
        let sealed = fetch(self.store, name, MAX_SEALED_BYTES).await?;
        if digest(&sealed) != expected {
            return Err(VaultError::Tampered(format!("{name} in the store was changed").into()));
        }
        self.came += sealed.len() as u64;
        let key = self.ring.key_of_epoch(epoch);
        blob::open(key, Purpose::CHECKPOINT, &context(self.header, name), &sealed).map_err(|error| {
            VaultError::Tampered(ErrorReason::of(error).about(format_args!("{name} in the store")))
        })
    }

    /// Fetches the parts, the oldest first, and their pieces one by one.
    async fn fetch_state(&mut self, parts: &[StatePart]) -> Result<ShippedState, VaultError> {
        let mut reader = ShippedStateReader::new(WordTables::zeros(&self.header.parameters.word_tables()));
        for part in parts {
            for (name, expected) in part.names() {
                let text = self.fetch(&name, part.epoch, expected).await?;
                reader.take(&text).ok_or_else(|| not_a_checkpoint(&name))?;
            }
            let key = self.ring.key_of_epoch(part.epoch);
            let point = reader.end_part(&|row| row_hash(key, self.header.vault, row));
            if point.is_none_or(|point| (point.epoch, point.number) != (part.epoch, part.number)) {
                return Err(contradicts());
            }
        }
        reader.finish().ok_or_else(contradicts)
    }

    /// Fetches all payloads, the newest first, and seals those of these blocks on the disk. A payload that comes later
    /// is an older one of its block, or of a block that has left the stash.
    async fn fetch_stash(
        &mut self,
        sets: &[PayloadSet],
        (mut missing, scratch): (BTreeSet<BlockId>, &TrustedDisk),
        seal: &mut SealContext<'_>,
    ) -> Result<RestoredStash, VaultError> {
        let parameters = &self.header.parameters;
        let mut stash = RestoredStash::on(scratch);
        if missing.iter().any(|block| block.0 >= parameters.scheme.capacity()) {
            return Err(contradicts());
        }
        for set in sets.iter().rev() {
            for (name, expected) in set.names() {
                let text = self.fetch(&name, set.epoch, expected).await?;
                let payloads = payloads_in(&text, parameters.place_bytes() as usize);
                let payloads = payloads.ok_or_else(|| not_a_checkpoint(&name))?;
                let found: HashMap<BlockId, Vec<u8>> = payloads
                    .into_iter()
                    .filter(|(block, _)| missing.remove(block))
                    .map(|(block, payload)| (block, payload.to_vec()))
                    .collect();
                let blocks: Vec<BlockId> = found.keys().copied().collect();
                // As many places as the piece has, so that the time does not show how many payloads are needed.
                let places = text.len() / parameters.place_bytes() as usize;
                let at_least = places.min(parameters.scheme.stash_bound() as usize);
                stash.append(&found, (&blocks, at_least), seal)?;
            }
        }
        if missing.is_empty() { Ok(stash) } else { Err(contradicts()) }
    }
}
