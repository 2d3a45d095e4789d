//! The check of a vault. It reads and authenticates every bucket in the order of their numbers, and then the other
//! objects. Its access pattern is public.

use crate::claims::Claims;
use crate::engine::scheme::MAX_BATCHES;
use crate::error::VaultError;
use crate::log::entry::Object;
use crate::log::objects::LogObjects;
use crate::store::{HEADER, MAX_HEADER_BYTES};
use crate::trusted::checkpoint::{ShippedCheckpoint, blob_name, digest, parse_blob_name};
use crate::trusted::header::VaultHeader;
use crate::trusted::position::{PAYLOAD_PREFIX, PREFIX as PREFIX_OF_LOG, Position};
use crate::trusted::seal_context::context;
use crate::trusted::shipped_piece_name::{PREFIX, parse_piece_name};
use crate::trusted::shipped_state::{MAX_SEALED_BYTES, Manifest};
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::error::SealError;
use ameles_seal::key_ring::KeyRing;
use ameles_seal::sealed::{Sealed, VersionedSlot};
use ameles_store::{BlobError, Blobs, object_name};
use std::collections::BTreeSet;

/// The result of a check.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The number of buckets that were ever written; the check reads all of them.
    pub buckets: u64,
    /// The number of slots in these buckets.
    pub slots: u64,
    /// The number of sealed bytes read.
    pub bytes: u64,
    /// The faults, one line for each bucket or other object. A check reports at most a hundred buckets.
    pub faults: Vec<String>,
}

/// The maximum number of bucket faults that a report holds.
pub(crate) const MAX_FAULTS: usize = 100;

/// A function that gets the buckets done and the buckets in all.
pub type Progress = Box<dyn Fn(u64, u64) + Send>;

/// Reads every bucket that was ever written.
pub(crate) async fn check<U: Untrusted>(
    sealed: &Sealed<U>,
    progress: Progress,
) -> Result<Report, VaultError> {
    let live: Vec<(Bucket, ameles_core::types::Version)> =
        sealed.with_versions(|versions| versions.live().map(|live| (live.bucket, live.version)).collect());
    let mut report = Report { buckets: live.len() as u64, ..Report::default() };
    let mut plaintext = Vec::new();
    for (nth, (bucket, version)) in live.iter().copied().enumerate() {
        let slots = sealed.layout().extent(bucket).slots;
        let places: Vec<VersionedSlot> =
            (0..slots).map(|index| VersionedSlot { slot: Slot { bucket, index }, version }).collect();
        plaintext.resize(sealed.layout().bucket_bytes(bucket), 0);
        match sealed.read_places(&places, &mut plaintext).await {
            Ok(()) => {}
            Err(wrong @ (SealError::Forged(_) | SealError::Missing(_) | SealError::Truncated(_))) => {
                let object = object_name(BucketVersion { bucket, version });
                report.faults.push(format!("{wrong}; its object is {object}"));
                if report.faults.len() == MAX_FAULTS {
                    break;
                }
            }
            Err(other) => return Err(other.into()),
        }
        report.slots += u64::from(slots);
        report.bytes += sealed.untrusted().layout().bucket_bytes(bucket) as u64;
        progress(nth as u64 + 1, live.len() as u64);
    }
    Ok(report)
}

/// The objects in the store other than buckets, as the trusted side knows them.
pub(crate) struct ExpectedObjects {
    pub(crate) ring: KeyRing,
    /// The header as it was stored.
    pub(crate) header: Vec<u8>,
    pub(crate) epoch: u32,
    pub(crate) shipped: ShippedCheckpoint,
    /// The maximum number of bytes of a shipped checkpoint's manifest.
    pub(crate) max: usize,
    /// The range of the journal in the store, if there is one. It is from the first object that the shipped checkpoint
    /// does not include to the position after the last object.
    pub(crate) log: Option<(Position, Position)>,
    /// The vault's header.
    pub(crate) of: VaultHeader,
}

impl ExpectedObjects {
    /// Reads the header, the claims, the shipped checkpoint and the journal, and returns their faults.
    pub(crate) async fn check(&self, store: &impl Blobs) -> Result<Vec<String>, VaultError> {
        let mut faults = Vec::new();
        match read(store, HEADER, MAX_HEADER_BYTES).await? {
            Read::Bytes(held) if held == self.header => {}
            Read::Nothing => faults.push("the vault's header was removed".into()),
            _ => faults.push("the vault's header was changed".into()),
        }
        let claims = Claims { blobs: store, ring: self.ring.clone(), vault: self.of.vault };
        faults.extend(claims.find_faults(self.epoch).await?);
        faults.extend(self.check_shipped(store).await?);
        faults.extend(self.check_log(store).await?);
        Ok(faults)
    }

    /// Lists the objects of the journal once, and reads them one by one.
    async fn check_log(&self, store: &impl Blobs) -> Result<Vec<String>, VaultError> {
        let Some((from, next)) = self.log else { return Ok(Vec::new()) };
        let objects = LogObjects { blobs: store, header: &self.of, ring: &self.ring };
        let mut listed = store.list(PREFIX_OF_LOG).await?;
        let places: BTreeSet<Position> = listed.iter().filter_map(|blob| Position::of(&blob.name)).collect();
        let (mut faults, mut at, mut known) = (Vec::new(), from, BTreeSet::new());
        while at < next {
            known.insert(at);
            let what = match objects.read(at).await {
                Ok(Some(Object::End(_))) => {
                    // Objects that were on their way when the journal ended do not count.
                    known.extend((1..MAX_BATCHES.into()).map(|void| at.after(void)));
                    at = Position::first_of(at.epoch + 1);
                    continue;
                }
                Ok(Some(Object::Entry(_))) => {
                    at = at.next();
                    continue;
                }
                Ok(None) => "removed",
                Err(error) if error.is_tampering() => "changed",
                Err(error) => return Err(error),
            };
            if let Ok(Some(Object::Entry(_))) = objects.read_without_payloads(at).await {
                faults.push(format!("{} was {what}", at.payload_name()));
                at = at.next();
                continue;
            }
            faults.push(format!("{} was {what}", at.name()));
            // The missing object may have been the end marker of its epoch.
            at = match places.range(at.next()..next).next() {
                Some(after) if after.epoch == at.epoch => at.next(),
                after => after.copied().unwrap_or(next),
            };
        }
        if self.of.parameters.journal.has_heartbeats() {
            // The gateway goes on creating objects while it checks the others.
            for later in places.range(next..).filter(|later| later.epoch == next.epoch) {
                if matches!(objects.read(*later).await, Ok(Some(Object::Entry(_)))) {
                    known.insert(*later);
                }
            }
        }
        // Objects before `from` may be left from a crash.
        if self.of.parameters.journal.has_payload_objects() {
            listed.extend(store.list(PAYLOAD_PREFIX).await?);
        }
        let position = |name: &str| Position::of(name).or(Position::of_payloads(name));
        let is_planted = |name: &str| position(name).is_none_or(|at| at >= from && !known.contains(&at));
        let planted = listed.iter().filter(|blob| is_planted(&blob.name));
        faults.extend(planted.map(|blob| format!("{} was not written by this vault", blob.name)));
        Ok(faults)
    }

    /// Reads the shipped checkpoint: its manifest and its pieces.
    async fn check_shipped(&self, store: &impl Blobs) -> Result<Vec<String>, VaultError> {
        let mut faults = Vec::new();
        let shipped = (self.shipped.epoch, self.shipped.number);
        let mut known = BTreeSet::new();
        if self.shipped.number > 0 {
            let name = blob_name(shipped.0, shipped.1);
            match read(store, &name, self.max).await? {
                Read::Bytes(held) if digest(&held) == self.shipped.digest => {
                    for (name, expected) in self.manifest(&name, &held).names() {
                        match read(store, &name, MAX_SEALED_BYTES).await? {
                            Read::Bytes(held) if digest(&held) == expected => {}
                            Read::Nothing => faults.push(format!("{name} was removed")),
                            _ => faults.push(format!("{name} was changed")),
                        }
                        known.insert(name);
                    }
                }
                Read::Nothing => faults.push(format!("{name} was removed")),
                _ => faults.push(format!("{name} was changed")),
            }
        }
        // A crash may leave an older checkpoint. The next one that is shipped removes it.
        let is_planted = |name: &str| parse_blob_name(name).is_none_or(|order| order > shipped);
        let mut planted = store.list("checkpoint/").await?;
        planted.retain(|blob| is_planted(&blob.name));
        for blob in store.list(PREFIX).await? {
            let of = parse_piece_name(&blob.name);
            // Pieces may be left from an older checkpoint, from an abandoned upload, or from a checkpoint with a
            // damaged manifest.
            let is_known = of.is_some_and(|of| of < shipped) || known.contains(&blob.name);
            if !is_known && (of.is_none() || !self.opens(store, &blob.name).await?) {
                planted.push(blob);
            }
        }
        faults.extend(planted.iter().map(|blob| format!("{} was not shipped by this vault", blob.name)));
        Ok(faults)
    }

    /// The manifest of an authentic checkpoint.
    fn manifest(&self, name: &str, held: &[u8]) -> Manifest {
        let key = self.ring.key_of_epoch(self.shipped.epoch);
        let text = blob::open(key, Purpose::MANIFEST, &context(&self.of, name), held);
        text.ok().and_then(|text| Manifest::decode(&text)).map(|(manifest, _)| manifest).unwrap_or_default()
    }

    /// Returns whether a piece was sealed with this vault's key.
    async fn opens(&self, store: &impl Blobs, name: &str) -> Result<bool, VaultError> {
        Ok(match read(store, name, MAX_SEALED_BYTES).await? {
            Read::Bytes(held) => {
                let key = self.ring.key_of_epoch(parse_piece_name(name).map_or(u32::MAX, |(epoch, _)| epoch));
                blob::open(key, Purpose::CHECKPOINT, &context(&self.of, name), &held).is_ok()
            }
            _ => false,
        })
    }
}

/// The result of reading an object.
enum Read {
    Bytes(Vec<u8>),
    TooLarge,
    Nothing,
}

async fn read(store: &impl Blobs, name: &str, max: usize) -> Result<Read, VaultError> {
    match store.get(name, max).await {
        Ok(Some(bytes)) => Ok(Read::Bytes(bytes)),
        Ok(None) => Ok(Read::Nothing),
        Err(BlobError::TooLarge { .. }) => Ok(Read::TooLarge),
        Err(error) => Err(error.into()),
    }
}
