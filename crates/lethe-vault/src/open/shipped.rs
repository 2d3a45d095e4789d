//! A checkpoint in the store, fetched and authenticated: its manifest, then its pieces. Earlier versions shipped it as
//! one object.

use crate::engine::gate::Gate;
use crate::engine::scheme::{Scheme, SchemeSnapshot, Seed};
use crate::error::VaultError;
use crate::reason::Reason;
use crate::store::VaultStore;
use crate::trusted::checkpoint::{Receipt, ShippedCheckpoint, blob_name, digest};
use crate::trusted::freight::{Manifest, Unloaded, UnloadedPayloads, Unloading, piece_name};
use crate::trusted::header::VaultHeader;
use crate::trusted::ledger::context;
use crate::trusted::position::Position;
use crate::trusted::row::Row;
use crate::trusted::tables::Tables;
use lethe_core::incremental::Parts;
use lethe_core::words::BlockId;
use lethe_seal::blob;
use lethe_seal::derive::Purpose;
use lethe_seal::key_ring::KeyRing;
use lethe_seal::master_key::MasterKey;
use lethe_seal::versions::TrustedVersions;
use std::rc::Rc;

/// The meaning of a newest checkpoint that does not open.
const SPOILT: &str = "it was planted, or it is the newest and was spoilt; with --expect RECEIPT an older one is restored \
    that the receipt vouches for";

/// A checkpoint that was found in the store.
pub(crate) struct Found {
    pub(crate) number: u64,
    pub(crate) epoch: u32,
    pub(crate) accesses: u64,
    pub(crate) scheme: ShippedScheme,
    pub(crate) versions: TrustedVersions,
    pub(crate) rows: Vec<Row>,
    /// Receipts of earlier checkpoints.
    pub(crate) history: Vec<(u64, [u8; 32])>,
    /// The first object of the journal in the store that it does not hold, if the vault has such a journal.
    pub(crate) from: Option<Position>,
}

/// The state of a scheme that was shipped.
pub(crate) enum ShippedScheme {
    /// The state of a vault of which nothing was shipped yet.
    Empty,
    /// By an earlier Lethe.
    Whole(Box<SchemeSnapshot>),
    /// Tables of words, the rest, and the stash.
    Written { tables: Vec<Vec<u32>>, rest: Vec<u8>, order: Vec<BlockId>, payloads: UnloadedPayloads },
}

impl ShippedScheme {
    /// Takes the scheme up. `None` if its state contradicts itself.
    pub(crate) fn take_up(self, header: &VaultHeader, gate: Rc<Gate>, seed: Seed) -> Option<Rc<dyn Scheme>> {
        match self {
            ShippedScheme::Empty => header.parameters.scheme.start(gate, seed).ok(),
            ShippedScheme::Whole(snapshot) => snapshot.restore(gate, seed),
            ShippedScheme::Written { tables, rest, order, mut payloads } => {
                let parts =
                    Parts { tables, rest: &rest, order: &order, payloads: &mut payloads, keeper: None };
                header.parameters.scheme.take_up(parts, gate, seed)
            }
        }
    }
}

/// The state of a vault before its first checkpoint: empty, with everything in the journal in the store.
pub(crate) fn before_the_first(header: &VaultHeader) -> (Receipt, Found) {
    let receipt = Receipt { vault: header.vault, epoch: 0, checkpoint: 0, digest: [0; 32] };
    let found = Found {
        number: 0,
        epoch: 0,
        accesses: 0,
        scheme: ShippedScheme::Empty,
        versions: TrustedVersions::new(header.vault, header.parameters.layout().buckets()),
        rows: Vec::new(),
        history: Vec::new(),
        from: Some(Position::first_of(1)),
    };
    (receipt, found)
}

/// Fetches the checkpoint of this epoch and number, with its receipt.
///
/// # Errors
/// [`VaultError::Tampered`], and those of the store.
pub(crate) async fn fetch_checkpoint<U: VaultStore>(
    store: &U,
    (header, ring): (&VaultHeader, &KeyRing),
    (epoch, number): (u32, u64),
) -> Result<(Receipt, Found), VaultError> {
    let master = ring.of_epoch(epoch);
    let name = blob_name(epoch, number);
    let sealed = fetch(store, &name, ShippedCheckpoint::most_sealed_bytes(&header.parameters)).await?;
    let receipt = Receipt { vault: header.vault, epoch, checkpoint: number, digest: digest(&sealed) };
    let found = match blob::open(master, Purpose::MANIFEST, &context(header, &name), &sealed) {
        Ok(text) => {
            let (manifest, from) = Manifest::decode(&text).ok_or_else(|| is_none(&name))?;
            let found = unload(store, (header, master), (epoch, number), manifest).await?;
            Found { from, ..found }
        }
        Err(_) => {
            let text = blob::open(master, Purpose::CHECKPOINT, &context(header, &name), &sealed).map_err(
                |error| {
                    let why = Reason::of(error).about(format_args!("{name} in the store"));
                    VaultError::Tampered(why.followed_by(SPOILT))
                },
            )?;
            of_one_object(&text).ok_or_else(|| is_none(&name))?
        }
    };
    Ok((receipt, found))
}

async fn fetch<U: VaultStore>(store: &U, name: &str, most: usize) -> Result<Vec<u8>, VaultError> {
    let vanished = || VaultError::Tampered(format!("{name} is not in the store").into());
    store.get(name, most).await?.ok_or_else(vanished)
}

fn is_none(name: &str) -> VaultError {
    VaultError::Tampered(format!("{name} in the store is no checkpoint").into())
}

/// Fetches the pieces one after the other, and puts the state together.
async fn unload<U: VaultStore>(
    store: &U,
    (header, master): (&VaultHeader, &MasterKey),
    (epoch, number): (u32, u64),
    manifest: Manifest,
) -> Result<Found, VaultError> {
    let tables = Tables::zeros(&header.parameters.word_tables());
    let mut unloading = Unloading::new(tables, header.parameters.scheme.block_bytes());
    for (piece, expected) in (0..).zip(&manifest.pieces) {
        let name = piece_name(epoch, number, piece);
        let sealed = fetch(store, &name, crate::trusted::freight::MOST_SEALED_BYTES).await?;
        if digest(&sealed) != *expected {
            let why = Reason::from(format!("{name} in the store was changed"));
            return Err(VaultError::Tampered(why.followed_by(SPOILT)));
        }
        let text =
            blob::open(master, Purpose::CHECKPOINT, &context(header, &name), &sealed).map_err(|error| {
                VaultError::Tampered(Reason::of(error).about(format_args!("{name} in the store")))
            })?;
        unloading.take(&text).ok_or_else(|| is_none(&name))?;
    }
    let contradicts = || VaultError::Tampered("the checkpoint in the store contradicts itself".into());
    let Unloaded { head, mut tables, order, rows, payloads } = unloading.finish().ok_or_else(contradicts)?;
    let versions =
        TrustedVersions::from_parts(head.versions, &tables.take_last()).map_err(|_| contradicts())?;
    if head.number != number || head.epoch != epoch {
        return Err(contradicts());
    }
    let scheme = ShippedScheme::Written { tables: tables.into_inner(), rest: head.rest, order, payloads };
    Ok(Found {
        number,
        epoch,
        accesses: head.accesses,
        scheme,
        versions,
        rows,
        history: head.history,
        from: None,
    })
}

/// Decodes a checkpoint that was shipped as one object.
fn of_one_object(text: &[u8]) -> Option<Found> {
    let whole = ShippedCheckpoint::decode(text)?;
    let ShippedCheckpoint { number, epoch, accesses, scheme, versions, rows, history } = whole;
    Some(Found {
        number,
        epoch,
        accesses,
        scheme: ShippedScheme::Whole(Box::new(scheme)),
        versions,
        rows,
        history,
        from: None,
    })
}
