//! Orphans: objects in the store that are not part of the vault's newest state. They are found without opening the
//! vault.
//!
//! The trusted disk lists what is needed. These are the checkpoint's buckets, older ones that a recovery or a restore
//! may read, and those that the journal has announced since. A bucket version that it does not list is dead if this
//! vault may have written it. Such a version is of a bucket of the vault's tree, and not newer than the newest version
//! that the vault knows. A newer version is planted if its epoch was never claimed, or if it is of the last epoch and
//! none of its slots opens. The watcher sees lists, and deletions of objects that it could have listed itself.

use crate::claims::end_marker::END_MARKER;
use crate::claims::{self, Claims};
use crate::engine::record::{Effect, Record};
use crate::error::VaultError;
use crate::log::entry::is_end;
use crate::log::{self, FIRST_KEPT_NOTE, FIRST_NEEDED_NOTE, read_note};
use crate::open::inventory::has_expected_size;
use crate::open::newer_versions::{NewerVersionCheck, Origin};
use crate::open::persisted_state::PersistedState;
use crate::session::ShippingNotes;
use crate::store::{HEADER, VaultStore};
use crate::trusted::checkpoint::{max_sealed_bytes, parse_blob_name};
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::seal_context::context;
use crate::trusted::sent_state::SentCheckpoint;
use crate::trusted::shipped_piece_name::parse_piece_name;
use ameles_core::store::{BucketVersion, Untrusted};
use ameles_core::types::Version;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::key_ring::{EarlierKey, KeyRing};
use ameles_seal::master_key::MasterKey;
use ameles_store::{BlobError, Blobs};
use std::collections::BTreeSet;

/// Bucket versions that are deleted between two checks of the claims.
const AT_ONCE: usize = 1000;

/// The number and the size of objects, as the store reports them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The number of objects.
    pub objects: u64,
    /// The bytes of these objects.
    pub bytes: u64,
}

impl Tally {
    /// Adds an object.
    pub fn add(&mut self, bytes: u64) {
        self.objects += 1;
        self.bytes += bytes;
    }
}

/// The objects in the store, by their state.
#[derive(Debug)]
pub struct Orphans {
    /// The newest state: buckets, header, claims, the end marker, the shipped checkpoint.
    pub in_use: Tally,
    /// Replaced buckets that a recovery or a restore may read. The vault deletes them later.
    pub kept: Tally,
    /// Buckets of this vault that nothing needs any more.
    pub dead_buckets: Tally,
    /// Checkpoints before the newest, pieces of abandoned uploads, and log objects that the newest checkpoint holds.
    pub dead_checkpoints: Tally,
    /// Buckets newer than the newest state that no gateway of this vault has written.
    pub planted: Tally,
    /// The buckets of the wrong size among those in use or kept. Never removed.
    pub spoilt: Vec<String>,
    /// The buckets of the newest checkpoint on the trusted disk that are not in the store.
    pub missing: Vec<String>,
    /// Objects newer than the newest state that may belong to another gateway. Never removed.
    pub newer: Vec<String>,
    /// The objects with names that this vault has never used. Never removed.
    pub foreign: Vec<String>,
    vault: VaultHeader,
    earlier: Option<EarlierKey>,
    epoch: u32,
    buckets: Vec<BucketVersion>,
    planted_versions: Vec<BucketVersion>,
    checkpoints: Vec<String>,
}

/// The objects that were removed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Bucket versions, planted ones included.
    pub buckets: u64,
    /// The number of checkpoints.
    pub checkpoints: u64,
    /// The number of remains of interrupted writes, which have no name.
    pub unfinished: u64,
    /// The number of objects with the name of an older checkpoint that do not open with this vault's key. They stay.
    pub not_ours: u64,
}

/// Searches the store for orphans. The vault must not be open anywhere.
///
/// # Errors
/// [`VaultError::Displaced`] or [`VaultError::StaleTrustedState`] if another gateway has the vault and the trusted disk
/// is an earlier copy; [`VaultError::NoVault`], [`VaultError::Damaged`], and the errors of the store.
pub async fn find_orphans<U: VaultStore>(
    disk: &TrustedDisk,
    store: &U,
    master: &MasterKey,
) -> Result<Orphans, VaultError> {
    let persisted = PersistedState::read(disk, store, master).await?;
    let PersistedState { header, ring, state, records, known, .. } = &persisted;
    let claims = Claims { blobs: store, ring: ring.clone(), vault: header.vault };
    let epoch = claims.ours(disk, known.epoch).await?;
    let shipping = ShippingNotes::load(disk)?;
    let mut missing: BTreeSet<BucketVersion> = state.versions.live().collect();
    let mut needed = missing.clone();
    needed.extend(records.iter().flat_map(written));
    let kept: BTreeSet<BucketVersion> = state.garbage.iter().map(|garbage| garbage.written()).collect();
    let mut found = Orphans {
        in_use: Tally::default(),
        kept: Tally::default(),
        dead_buckets: Tally::default(),
        dead_checkpoints: Tally::default(),
        planted: Tally::default(),
        spoilt: Vec::new(),
        missing: Vec::new(),
        newer: Vec::new(),
        foreign: Vec::new(),
        vault: header.clone(),
        earlier: ring.earlier().cloned(),
        epoch,
        buckets: Vec::new(),
        planted_versions: Vec::new(),
        checkpoints: Vec::new(),
    };
    let (mut newer, buckets) = (Vec::new(), found.vault.parameters.layout().buckets());
    store
        .list_bucket_versions(&mut |of, bytes| {
            missing.remove(&of);
            let is_kept = needed.contains(&of) || kept.contains(&of);
            if is_kept && !has_expected_size(store.layout(), of, bytes.0) {
                found.spoilt.push(name(of));
            }
            if needed.contains(&of) {
                found.in_use.add(bytes.0);
            } else if kept.contains(&of) {
                found.kept.add(bytes.0);
            } else if of.version > *known {
                newer.push((of, bytes.0));
            } else if of.bucket.0 >= buckets {
                found.foreign.push(name(of));
            } else {
                found.dead_buckets.add(bytes.0);
                found.buckets.push(of);
            }
        })
        .await?;
    found.missing = missing.into_iter().map(name).collect();
    found.buckets.sort_unstable();
    if !newer.is_empty() {
        let newer_check = NewerVersionCheck::new(store, &persisted, epoch)?;
        found.classify_newer(&newer_check, newer).await?;
    }
    let kept_note = match persisted.header.parameters.journal.has_heartbeats() {
        true => FIRST_KEPT_NOTE,
        false => FIRST_NEEDED_NOTE,
    };
    let kept_from: Position = read_note(disk, kept_note)?;
    let pieces = SentCheckpoint::load(disk, &found.vault, ring.newest())?.names();
    for blob in store.list("").await? {
        if pieces.contains(&blob.name) {
            found.in_use.add(blob.size.0);
        } else {
            found.classify_blob(blob.name, blob.size.0, &shipping, kept_from);
        }
    }
    Ok(found)
}

fn name(BucketVersion { bucket, version }: BucketVersion) -> String {
    format!("{bucket} {version}")
}

/// The bucket versions that a record has announced.
fn written(record: &Record) -> impl Iterator<Item = BucketVersion> + '_ {
    record.announced.iter().flat_map(|announced| {
        let written: &[(_, Version)] = match &announced.effect {
            Effect::Write(written) => written,
            Effect::Read(_) => &[],
        };
        written.iter().map(|(bucket, version)| BucketVersion { bucket: *bucket, version: *version })
    })
}

impl Orphans {
    async fn classify_newer<U: VaultStore>(
        &mut self,
        newer_check: &NewerVersionCheck<'_, U>,
        mut newer: Vec<(BucketVersion, u64)>,
    ) -> Result<(), VaultError> {
        newer.sort_unstable();
        for (of, bytes) in newer {
            match newer_check.classify(of).await? {
                Origin::Planted(_) => {
                    self.planted.add(bytes);
                    self.planted_versions.push(of);
                }
                Origin::Unclear => self.newer.push(name(of)),
            }
        }
        Ok(())
    }

    fn classify_blob(&mut self, name: String, bytes: u64, shipping: &ShippingNotes, kept_from: Position) {
        let shipped = &shipping.shipped;
        let has_journal = self.vault.parameters.journal.is_in_store();
        let logged = Position::of(&name);
        let is_end = logged.is_some() && is_end(bytes);
        if let Some(object) = logged.or(Position::of_payloads(&name)).filter(|_| has_journal) {
            return match object {
                _ if object.epoch > self.epoch => self.newer.push(name),
                _ if object >= kept_from || is_end => self.in_use.add(bytes),
                _ => {
                    self.dead_checkpoints.add(bytes);
                    self.checkpoints.push(name);
                }
            };
        }
        let newest = (shipped.epoch, shipped.number);
        let claim = claims::epoch_of(&name).filter(|epoch| claims::name(*epoch) == name);
        // An abandoned upload leaves pieces that are newer than the newest checkpoint, in an epoch of this disk. If its
        // manifest may have arrived, they are needed.
        let piece = parse_piece_name(&name);
        let is_ours = piece.is_some_and(|(epoch, _)| epoch <= self.epoch);
        let (is_given_up, may_be_needed) = (is_ours && !shipping.is_unclear, is_ours && shipping.is_unclear);
        match (parse_blob_name(&name).or(piece), claim) {
            _ if name == HEADER || name == END_MARKER => self.in_use.add(bytes),
            (Some(order), _) if order == newest && shipped.number > 0 => self.in_use.add(bytes),
            (Some(order), _) if order > newest && may_be_needed => self.in_use.add(bytes),
            (Some(order), _) if order < newest || is_given_up => {
                self.dead_checkpoints.add(bytes);
                self.checkpoints.push(name);
            }
            (_, Some(epoch)) if epoch <= self.epoch => self.in_use.add(bytes),
            (Some(_), _) | (_, Some(_)) => self.newer.push(name),
            _ => self.foreign.push(name),
        }
    }

    /// The objects that can be removed.
    pub fn dead(&self) -> Tally {
        let all = [self.dead_buckets, self.dead_checkpoints, self.planted];
        Tally {
            objects: all.iter().map(|some| some.objects).sum(),
            bytes: all.iter().map(|some| some.bytes).sum(),
        }
    }

    /// Removes dead objects. It may be cut off at any time and run again.
    ///
    /// # Errors
    /// [`VaultError::Displaced`] if another gateway has opened the vault since, and the errors of the store.
    pub async fn remove<U: VaultStore>(self, store: &U, master: &MasterKey) -> Result<Removed, VaultError> {
        let ring = KeyRing::new(master.clone(), self.earlier.clone());
        let claims = Claims { blobs: store, ring: ring.clone(), vault: self.vault.vault };
        let mut removed = Removed::default();
        let claimed: BTreeSet<u32> = self.planted_versions.iter().map(|of| of.version.epoch).collect();
        for theirs in claimed.into_iter().filter(|epoch| *epoch > self.epoch) {
            if claims.is_claimed(theirs).await? {
                return Err(VaultError::Displaced { ours: self.epoch, theirs });
            }
        }
        for some in self.buckets.chunks(AT_ONCE).chain(self.planted_versions.chunks(AT_ONCE)) {
            // A gateway that has taken over may need what is dead for this one.
            claims.check(self.epoch).await?;
            Untrusted::delete(store, some).await?;
            removed.buckets += some.len() as u64;
        }
        for name in &self.checkpoints {
            if self.is_ours(name, store, &ring).await? {
                claims.check(self.epoch).await?;
                Blobs::remove(store, name).await?;
                removed.checkpoints += 1;
            } else {
                removed.not_ours += 1;
            }
        }
        claims.check(self.epoch).await?;
        removed.unfinished = store.sweep_unfinished().await?;
        Ok(removed)
    }

    /// Returns whether an object with a checkpoint's name was sealed with this vault's key.
    async fn is_ours<U: VaultStore>(
        &self,
        name: &str,
        store: &U,
        ring: &KeyRing,
    ) -> Result<bool, VaultError> {
        match store.get(name, max_sealed_bytes(&self.vault.parameters)).await {
            Ok(None) | Err(BlobError::TooLarge { .. }) => Ok(false),
            Ok(Some(sealed)) => {
                let context = context(&self.vault, name);
                let object = Position::of(name).or(Position::of_payloads(name));
                let object = object.map(|at| (at.epoch, at.sequence));
                let order = parse_blob_name(name).or(parse_piece_name(name)).or(object);
                let key = ring.key_of_epoch(order.map_or(u32::MAX, |(epoch, _)| epoch));
                let opens = |purpose| blob::open(key, purpose, &context, &sealed).is_ok();
                let of_log = [log::objects::PURPOSE, log::payloads::PURPOSE];
                Ok([Purpose::CHECKPOINT, Purpose::MANIFEST].into_iter().chain(of_log).any(opens))
            }
            Err(error) => Err(error.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trusted::checkpoint::blob_name;

    #[test]
    fn only_a_name_as_the_vault_gives_it_is_a_checkpoints() {
        let name = blob_name(3, 18);
        assert_eq!(parse_blob_name(&name), Some((3, 18)));
        for other in ["checkpoint/3-12", "checkpoint/00000003-+000000000000012", "checkpoint/00000003-12"] {
            assert_eq!(parse_blob_name(other), None, "{other}");
        }
    }
}
