//! Opening a vault: claim the next epoch, run the journal again, go on.
//!
//! Recovery steps the engine through the inputs of the journal. Reads that were announced go out again, the same slots
//! of the same versions in the same order, which are all still there; writes whose completion was journalled are not
//! repeated; writes that were not finished are carried out under new versions and the new epoch's key, so nothing is
//! ever sealed again under an old one. The watcher sees only what it saw before.

use crate::checkpoint::{Checkpoint, Garbage, seal_checkpoint, state_name};
use crate::disk::TrustedDisk;
use crate::engine::{Engine, Work};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::gate::{Gate, OperationId};
use crate::header::VaultHeader;
use crate::newer::{Judge, Origin, newest_known};
use crate::ownership::{self, Claims};
use crate::pace::{Pace, Pacer};
use crate::record::{Effect, Input, Record};
use crate::rows::Rows;
use crate::session::{Identity, Session, Shipping, Start};
use crate::store::{HEADER, MAX_HEADER_BYTES, SHIPPED, VaultStore};
use futures::stream::{self, StreamExt};
use lethe_core::store::BucketVersion;
use lethe_core::words::{Bucket, Slot, Version};
use lethe_seal::blob;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::epoch::Epoch;
use lethe_seal::master_key::MasterKey;
use lethe_seal::parallel::Workers;
use lethe_seal::record::RecordOpener;
use lethe_seal::sealed::{Resolved, Sealed};
use lethe_seal::versions::TrustedVersions;
use lethe_store::Blobs;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use tokio::time::Instant;

/// Announced reads that recovery keeps in flight.
const READ_AHEAD: usize = 8;
/// The note on the trusted disk that a restore has begun, until it is complete.
pub(crate) const RESTORING: &str = "restoring";
pub(crate) const UNFINISHED: &[u8] = b"unfinished";
/// The parts that are needed to make or open a vault.
pub struct Setup<U> {
    /// The trusted disk.
    pub disk: TrustedDisk,
    /// The store, with the layout of the vault's header ([`VaultParameters::layout`]).
    ///
    /// [`VaultParameters::layout`]: crate::header::VaultParameters::layout
    pub store: U,
    /// The master key.
    pub master: MasterKey,
    /// The source of salts and seeds.
    pub entropy: Entropy,
    /// The cores to seal on.
    pub workers: Workers,
    /// The rate at which batches are sent while the vault is open; `None` sends one whenever a caller asks.
    pub pace: Option<Pace>,
}

/// The header on a trusted disk.
///
/// # Errors
/// [`VaultError::NoVault`], and those of [`VaultHeader::decode`].
pub fn read_header(disk: &TrustedDisk, master: &MasterKey) -> Result<VaultHeader, VaultError> {
    VaultHeader::decode(&disk.meta(HEADER)?.ok_or(VaultError::NoVault)?, master)
}

/// The header on a trusted disk, as stored: it tells how a passphrase becomes the key.
///
/// # Errors
/// [`VaultError::NoVault`].
pub fn raw_header(disk: &TrustedDisk) -> Result<Vec<u8>, VaultError> {
    disk.meta(HEADER)?.ok_or(VaultError::NoVault)
}

/// The header in a store, as stored.
///
/// # Errors
/// [`VaultError::StoreEmpty`], and the store's own.
pub async fn raw_header_of_store(store: &impl lethe_store::Blobs) -> Result<Vec<u8>, VaultError> {
    store.get(HEADER, MAX_HEADER_BYTES).await?.ok_or(VaultError::StoreEmpty)
}

/// Makes an empty vault: nothing but its header is written to the store, whatever its size.
///
/// # Errors
/// [`VaultError::AlreadyThere`] if the disk or the store holds one; those of disk and store.
pub(crate) async fn create<U: VaultStore>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
) -> Result<(), VaultError> {
    header.parameters.validate()?;
    if setup.disk.meta(HEADER)?.is_some() {
        return Err(VaultError::AlreadyThere("the trusted folder"));
    }
    if setup.store.get(HEADER, MAX_HEADER_BYTES).await?.is_some() {
        return Err(VaultError::AlreadyThere("the store"));
    }
    let encoded = header.encode(&setup.master, setup.entropy.salt(), setup.entropy.salt());
    let versions = TrustedVersions::new(header.vault, header.parameters.layout().buckets());
    lay_down(setup, header, &encoded, 0, versions)?;
    // From here on, opening the vault puts the header into the store if a crash comes first.
    if !setup.store.put_if_absent(HEADER, &encoded).await? {
        return Err(VaultError::AlreadyThere("the store"));
    }
    Ok(())
}

/// Lays an empty state down on the trusted disk, numbered after `number`, that knows of these versions.
pub(crate) fn lay_down<U: VaultStore>(
    setup: &mut Setup<U>,
    header: &VaultHeader,
    encoded: &[u8],
    number: u64,
    versions: TrustedVersions,
) -> Result<(), VaultError> {
    let seed = setup.entropy.seed();
    let scheme = header.parameters.scheme.start(Rc::default(), seed)?;
    let checkpoint = Checkpoint {
        number,
        sequence: 0,
        accesses: 0,
        seed,
        scheme: scheme.snapshot().expect("a new scheme has nothing in flight"),
        versions,
        garbage: Vec::new(),
    };
    let sealed = seal_checkpoint(header, &setup.master, &checkpoint, setup.entropy.salt(), 0)?;
    setup.disk.commit_checkpoint(&sealed)?;
    setup.disk.set_meta(HEADER, encoded)
}

/// Decodes a checkpoint of the trusted disk.
pub(crate) fn read_checkpoint(
    disk: &TrustedDisk,
    header: &VaultHeader,
    master: &MasterKey,
) -> Result<Checkpoint, VaultError> {
    let damaged = |why: String| VaultError::Damaged(format!("its checkpoint does not open: {why}"));
    let text = blob::open(master, Purpose::CHECKPOINT, &state_name(header), &disk.state()?)
        .map_err(|error| damaged(error.to_string()))?;
    Checkpoint::decode(&text).map_err(|error| damaged(error.to_string()))
}

/// The journal, opened and decoded, with the number of the next record.
pub(crate) fn read_journal(
    disk: &TrustedDisk,
    header: &VaultHeader,
    master: &MasterKey,
    first: u64,
) -> Result<(Vec<Record>, u64), VaultError> {
    let cipher = header.parameters.cipher()?;
    let mut opener: Option<(Salt, RecordOpener)> = None;
    let mut records = Vec::new();
    let mut next = first;
    for (sequence, entry) in disk.journal()? {
        let damaged = || VaultError::Damaged(format!("record {sequence} of its journal does not open"));
        if sequence != next {
            return Err(VaultError::Damaged(format!("record {next} of its journal is missing")));
        }
        next += 1;
        let (salt, sealed) = entry.split_first_chunk().ok_or_else(damaged)?;
        let salt = Salt(*salt);
        if opener.as_ref().is_none_or(|(of, _)| *of != salt) {
            opener =
                Some((salt, RecordOpener::new(master, Purpose::JOURNAL, cipher, &salt, &header.vault.0)));
        }
        let mut text = Vec::new();
        if let Some((_, opener)) = &opener {
            opener.open(sequence, sealed, &mut text).map_err(|_| damaged())?;
        }
        records.push(Record::decode(&text).ok_or_else(damaged)?);
    }
    Ok((records, next))
}

/// Opens a vault: afterwards it stands where it stood when the last acknowledged write was acknowledged.
pub(crate) async fn open<U: VaultStore>(setup: Setup<U>, restoring: bool) -> Result<Session<U>, VaultError> {
    let began = Instant::now();
    let Setup { disk, store, master, mut entropy, workers, pace } = setup;
    let header = read_header(&disk, &master)?;
    if disk.meta(RESTORING)?.is_some_and(|flag| flag == UNFINISHED) && !restoring {
        return Err(VaultError::RestoreUnfinished);
    }
    agree_on_header(&disk, &store, &master, &header).await?;
    let checkpoint = read_checkpoint(&disk, &header, &master)?;
    let (records, sequence) = read_journal(&disk, &header, &master, checkpoint.sequence)?;

    let known = newest_known(&checkpoint, &records);
    let claims = Claims { blobs: &store, master: &master, vault: header.vault };
    // Before the claim: an older copy that is refused must not have displaced the gateway that it is a copy of.
    let claimed = claims.ours(&disk, known.epoch).await?;
    let inventory = take_inventory(&store).await?;
    if let Some(newer) = inventory.iter().find(|found| found.version > known) {
        let judge = Judge::new(&store, &master, &header, (&checkpoint, &records), claimed)?;
        return Err(match judge.judge(*newer).await? {
            Origin::Planted(why) => planted(*newer, why, REMOVE),
            Origin::Unclear => {
                planted(*newer, "is of an epoch in which this vault has written nothing", UNCLEAR)
            }
        });
    }
    let epoch = Epoch { number: known.epoch + 1, salt: entropy.salt() };
    let drawn = (entropy.salt(), entropy.salt());
    ownership::claim(&disk, &store, &master, header.vault, epoch.number, drawn).await?;
    store.sweep_unfinished().await?;

    let rows = Rows::open(disk.clone(), master.clone(), header.vault, header.parameters.rows_bytes)?;
    let gate = Rc::new(Gate::default());
    let Checkpoint { number, accesses, seed, scheme, versions, garbage, .. } = checkpoint;
    let scheme = scheme.restore(gate.clone(), seed);
    let scheme = scheme.ok_or_else(|| VaultError::Damaged("its checkpoint contradicts itself".into()))?;
    let sealed = Rc::new(Sealed::new(store, &master, header.parameters.cipher()?, versions, workers)?);
    let mut engine = Engine::new(sealed.clone(), scheme, gate.clone(), accesses);
    let replayed = records.len();
    let unfinished_reads = match replay(&mut engine, records).await {
        Ok(reads) => reads,
        Err(error) => {
            let claims = Claims { blobs: sealed.untrusted(), master: &master, vault: header.vault };
            return Err(claims.unless_displaced(epoch.number, error).await);
        }
    };

    let replaced = engine.take_superseded();
    let mut garbage = garbage;
    garbage.extend(replaced.iter().map(|at| Garbage {
        bucket: at.bucket,
        version: at.version,
        after: number,
    }));
    let orphans = sort_out(&engine, &garbage, inventory)?;
    let left = orphans.len();
    sealed.begin_epoch_numbered(epoch)?;
    let session = Session::begin(Start {
        identity: Identity { header, master, epoch: epoch.number },
        disk,
        rows: Arc::new(rows),
        entropy,
        gate,
        engine,
        epoch,
        number,
        sequence,
        garbage,
        orphans,
        finished: unfinished_reads,
        shipping: if restoring { Shipping::HeldBack } else { Shipping::Idle },
        pacer: pace.map(|pace| Pacer::new(pace, began, Instant::now())),
    })?;
    tracing::info!(epoch = epoch.number, records = replayed, orphans = left, "vault opened");
    Ok(session)
}

pub(crate) async fn agree_on_header<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    master: &MasterKey,
    header: &VaultHeader,
) -> Result<(), VaultError> {
    match store.get(HEADER, MAX_HEADER_BYTES).await? {
        Some(theirs) if Some(&theirs) == disk.meta(HEADER)?.as_ref() => Ok(()),
        Some(theirs) if VaultHeader::vault(&theirs) == Some(header.vault) => {
            Err(VaultError::Tampered("the vault's header in the store is not the one that was made".into()))
        }
        Some(theirs) => match VaultHeader::decode(&theirs, master) {
            // Our own header opened with this key, so the store's is of another key.
            Ok(_) | Err(VaultError::WrongKey) => Err(VaultError::OtherVault),
            Err(other) => Err(other),
        },
        // A crash came between the two halves of making the vault.
        None if disk.meta(SHIPPED)?.is_none() => {
            let encoded = disk.meta(HEADER)?.ok_or(VaultError::NoVault)?;
            store.put_if_absent(HEADER, &encoded).await?;
            Ok(())
        }
        None => Err(VaultError::HeaderVanished),
    }
}

/// Lists the bucket versions that the store holds.
pub(crate) async fn take_inventory<U: VaultStore>(store: &U) -> Result<BTreeSet<BucketVersion>, VaultError> {
    let mut inventory = BTreeSet::new();
    store.list_bucket_versions(&mut |found, _| inventory.extend([found])).await?;
    Ok(inventory)
}

/// Refuses an inventory in which something belongs to no epoch that was ever claimed.
///
/// # Errors
/// [`VaultError::Tampered`], or [`VaultError::Displaced`] if the epoch was claimed since.
pub(crate) async fn refuse_planted<B: Blobs>(
    inventory: &BTreeSet<BucketVersion>,
    claims: &Claims<'_, B>,
    claimed: u32,
) -> Result<(), VaultError> {
    let Some(found) = inventory.iter().find(|found| found.version.epoch > claimed) else { return Ok(()) };
    let theirs = found.version.epoch;
    if claims.is_claimed(theirs).await? {
        return Err(VaultError::Displaced { ours: claimed, theirs });
    }
    Err(planted(*found, "is of an epoch that nobody has claimed", ELSEWHERE))
}

/// The advice for a planted version, with the trusted folder at hand.
const REMOVE: &str =
    "it was planted. Delete nothing by hand: `lethe orphans --remove` removes it if it is nobody's";
/// The advice if nothing can tell who has written the version.
const UNCLEAR: &str = "it was planted, or this trusted folder is an older copy. Delete nothing by hand: serve with the \
    newest trusted folder, or use `restore --takeover` into an empty --data folder";
/// The advice without a trusted folder.
const ELSEWHERE: &str = "it was planted, or the claim was removed. Delete nothing by hand: restore from a copy of the \
    store that lacks this object, and leave the store as it is";

fn planted(BucketVersion { bucket, version }: BucketVersion, why: &str, what_to_do: &str) -> VaultError {
    VaultError::Tampered(format!("{bucket} {version} in the store {why}: {what_to_do}"))
}

/// Checks that everything needed is in the store, and returns the versions that are not needed.
fn sort_out<U: VaultStore>(
    engine: &Engine<U>,
    garbage: &[Garbage],
    inventory: BTreeSet<BucketVersion>,
) -> Result<Vec<BucketVersion>, VaultError> {
    let unfinished: BTreeSet<Bucket> = engine.unfinished_buckets().collect();
    let mut needed: BTreeSet<BucketVersion> = garbage.iter().map(|garbage| garbage.written()).collect();
    engine.sealed.with_versions(|versions| {
        for live in versions.live().filter(|live| !unfinished.contains(&live.bucket)) {
            if !inventory.contains(&live) {
                return Err(VaultError::Vanished(live.bucket, live.version));
            }
            needed.insert(live);
        }
        Ok(())
    })?;
    Ok(inventory.into_iter().filter(|found| !needed.contains(found)).collect())
}

/// Steps the engine through the journal; returns the answers of reads whose completion was not journalled.
async fn replay<U: VaultStore>(
    engine: &mut Engine<U>,
    records: Vec<Record>,
) -> Result<Vec<(OperationId, Vec<u8>)>, VaultError> {
    let sealed = engine.sealed.clone();
    let mut answers: BTreeMap<OperationId, Vec<u8>> = BTreeMap::new();
    let mut records = records.into_iter().peekable();
    while records.peek().is_some() {
        // The keys of an epoch are known once its record has been stepped through: a segment for each.
        let mut segment: Vec<Record> = records.next().into_iter().collect();
        while let Some(record) = records.next_if(|record| !matches!(record.input, Input::Epoch(_))) {
            segment.push(record);
        }
        if let Some(Record { input: Input::Epoch(epoch), .. }) = segment.first() {
            sealed.replay_epoch(*epoch)?;
        }
        let announced: Vec<(OperationId, Vec<(Slot, Version)>)> =
            segment.iter().flat_map(announced_reads).collect();
        let mut reads = stream::iter(announced.into_iter().map(|(operation, places)| {
            let sealed = &sealed;
            async move { read_again(sealed, operation, &places).await }
        }))
        .buffered(READ_AHEAD);
        for record in segment {
            let answer = match &record.input {
                Input::Complete(operation) => {
                    while !answers.contains_key(operation)
                        && let Some(read) = reads.next().await
                    {
                        let (operation, answer) = read?;
                        answers.insert(operation, answer);
                    }
                    // A completed write has no answer.
                    answers.remove(operation).unwrap_or_default()
                }
                _ => Vec::new(),
            };
            let step = engine.step(record.input.clone(), answer)?;
            let _ = engine.take_answers();
            if step.record != record {
                return Err(VaultError::Damaged("its journal does not follow from its checkpoint".into()));
            }
        }
        while let Some(read) = reads.next().await {
            let (operation, answer) = read?;
            answers.insert(operation, answer);
        }
    }
    Ok(answers.into_iter().collect())
}

fn announced_reads(record: &Record) -> Vec<(OperationId, Vec<(Slot, Version)>)> {
    let read = |announced: &crate::record::Announcement| match &announced.effect {
        Effect::Read(places) => Some((announced.operation, places.clone())),
        Effect::Write(_) => None,
    };
    record.announced.iter().filter_map(read).collect()
}

async fn read_again<U: VaultStore>(
    sealed: &Sealed<U>,
    operation: OperationId,
    places: &[(Slot, Version)],
) -> Result<(OperationId, Vec<u8>), VaultError> {
    let places: Vec<Resolved> =
        places.iter().map(|(slot, version)| Resolved { slot: *slot, version: *version }).collect();
    let answer = crate::store::carry_out(sealed, Work::Read(places)).await?;
    Ok((operation, answer))
}
