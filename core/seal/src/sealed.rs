//! Untrusted memory, sealed: a scheme reads the bytes that were written last, or gets an error that names the slot.

use crate::cipher::Cipher;
use crate::derive::Salt;
use crate::epoch::Epoch;
use crate::error::SealError;
use crate::key_ring::KeyRing;
use crate::parallel::SealThreads;
use crate::scratch::{Scratch, Scratches};
use crate::shape::SlotShapes;
use crate::slot_format::{Nonces, SlotFormat};
use crate::slot_keys::{SlotKeys, writes_per_key_log2};
use crate::versions::TrustedVersions;
use alloc::collections::BTreeSet;
use alloc::vec::Vec;
use ameles_core::store::{BucketVersion, Place, Store, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot, Version};
use core::cell::RefCell;
use core::fmt;
use core::ops::Range;

/// The layout that untrusted memory needs for a scheme's layout: each slot longer by what its format adds.
///
/// # Panics
/// If a slot would be 4 GiB or longer.
pub fn sealed_layout(layout: &Layout, format: SlotFormat) -> Layout {
    let overhead = format.overhead_bytes() as u32;
    let longer = |e: &Extent| Extent {
        slot_bytes: e.slot_bytes.checked_add(overhead).expect("a slot is shorter than 4 GiB"),
        ..*e
    };
    Layout::new(layout.extents().iter().map(longer).collect())
}

/// A slot, and the version to read. [`Version::NEVER`] reads as zeros without a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionedSlot {
    /// The slot.
    pub slot: Slot,
    /// The version of its bucket.
    pub version: Version,
}

impl VersionedSlot {
    /// The place for the request to untrusted memory; `None` if the bucket was never written.
    pub fn place(self) -> Option<Place> {
        let VersionedSlot { slot, version } = self;
        (!version.is_never()).then_some(Place { slot, version })
    }
}

/// A bucket's step from one version to the next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct VersionChange {
    /// The bucket.
    pub bucket: Bucket,
    /// The version that this one replaces; [`Version::NEVER`] if there was none.
    pub old: Version,
    /// The new version.
    pub new: Version,
}

impl VersionChange {
    /// The bucket version for the request to untrusted memory.
    pub fn bucket_version(self) -> BucketVersion {
        BucketVersion { bucket: self.bucket, version: self.new }
    }
}

/// A [`Store`] over [`Untrusted`] memory.
///
/// As a `Store` it reads the newest versions and writes each bucket under a fresh one. A vault uses the single steps,
/// so that it can write its journal between them: [`resolve`](Self::resolve) and [`read_places`](Self::read_places);
/// [`assign`](Self::assign), [`seal`](Self::seal) and [`send`](Self::send).
///
/// It is public which buckets were ever written, so no request is made for the others.
///
/// # In flight
/// A bucket's newest version changes when it is assigned, before it is stored. A caller that reads it before `send` has
/// returned gets [`SealError::Missing`]. Several reads and writes may be in flight at once; no borrow is held while one
/// waits. After a failed write, the table may refer to a version that does not exist. Then the state is torn, and must
/// be rebuilt from its last snapshot and journal.
///
/// # Nonces
/// A version can be sealed once, and only by the opening that began its epoch. A restored snapshot seals nothing until
/// it begins an epoch with its own salt. A process whose memory is copied while it runs needs [`Nonces::Salted`].
pub struct Sealed<U> {
    untrusted: U,
    layout: Layout,
    shape: SlotShapes,
    versions: RefCell<TrustedVersions>,
    keys: RefCell<SlotKeys>,
    nonces: RefCell<Nonces>,
    opening: RefCell<Opening>,
    scratches: Scratches,
    workers: SealThreads,
}

/// The versions that this opening may seal.
#[derive(Default)]
struct Opening {
    /// True if the newest epoch was begun here. An epoch that is replayed from a journal was not begun here.
    began: bool,
    /// The counters that were assigned here and not sealed yet.
    unsealed: BTreeSet<u64>,
}

impl<U: Untrusted> Sealed<U> {
    /// Makes sealed memory over `untrusted`, whose layout is a [`sealed_layout`] of the format of `nonces`. `versions`
    /// is new, or a snapshot. Slots of epochs of the ring's earlier key can be read, and nothing is sealed with it.
    ///
    /// # Errors
    /// [`SealError::SlotsTooSmall`], [`SealError::OtherLayout`].
    pub fn new(
        untrusted: U,
        ring: impl Into<KeyRing>,
        cipher: Cipher,
        nonces: Nonces,
        versions: TrustedVersions,
        workers: SealThreads,
    ) -> Result<Self, SealError> {
        let format = nonces.format();
        let sealed = untrusted.layout();
        let mut extents = Vec::with_capacity(sealed.extents().len());
        for extent in sealed.extents() {
            let slot_bytes = extent.slot_bytes;
            let plain = slot_bytes.checked_sub(format.overhead_bytes() as u32);
            extents.push(Extent {
                slot_bytes: plain.ok_or(SealError::SlotsTooSmall { slot_bytes })?,
                ..*extent
            });
        }
        if versions.buckets() != sealed.buckets() {
            return Err(SealError::OtherLayout { found: versions.buckets(), expected: sealed.buckets() });
        }
        let run = writes_per_key_log2(sealed);
        let keys = SlotKeys::new(&ring.into(), cipher, format, &versions.vault, &versions.epochs, run);
        let layout = Layout::new(extents);
        Ok(Sealed {
            shape: SlotShapes::new(&layout),
            layout,
            untrusted,
            versions: RefCell::new(versions),
            keys: RefCell::new(keys),
            nonces: RefCell::new(nonces),
            opening: RefCell::default(),
            scratches: Scratches::default(),
            workers,
        })
    }

    /// Shape and **plaintext** sizes.
    pub fn layout(&self) -> &Layout {
        &self.layout
    }

    /// The memory below.
    pub fn untrusted(&self) -> &U {
        &self.untrusted
    }

    /// Begins an epoch under whose key this opening seals from now on. Its number follows the newest one known here
    /// and after those of an earlier master key.
    ///
    /// # Errors
    /// [`SealError::EpochNotNew`] if the salt was used before.
    pub fn begin_epoch(&self, salt: Salt) -> Result<u32, SealError> {
        let newest = self.versions.borrow().epochs.newest().max(self.keys.borrow().last_earlier_epoch());
        let number = newest.saturating_add(1);
        self.begin_epoch_numbered(Epoch { number, salt })?;
        Ok(number)
    }

    /// Begins an epoch with a number of the caller's choice. The number must be above every number that the untrusted
    /// side has seen. Then the names of its versions are new, even after an old snapshot was restored.
    ///
    /// # Errors
    /// [`SealError::EpochNotNew`], also if the number belongs to an earlier master key.
    pub fn begin_epoch_numbered(&self, epoch: Epoch) -> Result<(), SealError> {
        let until = self.keys.borrow().last_earlier_epoch();
        if epoch.number <= until {
            return Err(SealError::EpochNotNew { asked: epoch.number, newest: until });
        }
        self.replay_epoch(epoch)?;
        self.opening.borrow_mut().began = true;
        Ok(())
    }

    /// Adds an epoch from the journal of an earlier opening. Its versions can be assigned again and read;
    /// nothing can be sealed under it.
    ///
    /// # Errors
    /// [`SealError::EpochNotNew`].
    pub fn replay_epoch(&self, epoch: Epoch) -> Result<(), SealError> {
        let mut versions = self.versions.borrow_mut();
        let newest = versions.epochs.newest();
        versions.epochs.begin(epoch).map_err(|_| SealError::EpochNotNew { asked: epoch.number, newest })?;
        versions.counter = 0;
        self.keys.borrow_mut().begin(epoch.number, &epoch.salt);
        *self.opening.borrow_mut() = Opening::default();
        Ok(())
    }

    /// Removes the epochs without a newest version. Their older versions can no longer be read.
    pub fn drop_unused_epochs(&self) {
        let mut versions = self.versions.borrow_mut();
        versions.drop_unused_epochs();
        self.keys.borrow_mut().retain(&versions.epochs);
    }

    /// Removes the earlier master key: what was sealed with it can no longer be read.
    pub fn forget_earlier_key(&self) {
        self.keys.borrow_mut().forget_earlier();
    }

    /// A copy of the trusted state, to be stored or sealed by the caller.
    pub fn snapshot(&self) -> TrustedVersions {
        self.versions.borrow().clone()
    }

    /// Gives access to the trusted state without copying it. `look` must not call back into this store's methods that
    /// change it.
    pub fn with_versions<T>(&self, look: impl FnOnce(&TrustedVersions) -> T) -> T {
        look(&self.versions.borrow())
    }

    /// Takes a snapshot of the versions, for [`copy_held_versions`](Self::copy_held_versions).
    pub fn hold_versions(&self) {
        self.versions.borrow_mut().hold();
    }

    /// Appends consecutive words of the versions as of that snapshot, [`TrustedVersions::WORDS`] for each bucket.
    /// Ranges follow one another from the first word to the last; writes may continue meanwhile.
    pub fn copy_held_versions(&self, words: Range<u64>, into: &mut Vec<u32>) {
        self.versions.borrow_mut().copy_held_words(words, into);
    }

    /// The newest version of a bucket.
    pub fn version(&self, bucket: Bucket) -> Version {
        self.versions.borrow().version(bucket)
    }

    /// The newest versions of these slots, in order.
    pub fn resolve(&self, slots: &[Slot]) -> Vec<VersionedSlot> {
        let versions = self.versions.borrow();
        let resolve = |&slot: &Slot| VersionedSlot { slot, version: versions.version(slot.bucket) };
        slots.iter().map(resolve).collect()
    }

    /// Reads exactly these versions. `into` is exactly the slots' plaintext lengths, in order.
    ///
    /// # Errors
    /// [`SealError::Forged`], [`SealError::Missing`], [`SealError::Truncated`], each naming the slot;
    /// [`SealError::UnknownEpoch`]; [`SealError::Store`]. In this case the contents of `into` are meaningless.
    pub async fn read_places(&self, slots: &[VersionedSlot], into: &mut [u8]) -> Result<(), SealError> {
        let mut scratch = self.scratches.take(into.len());
        self.prepare_read(&mut scratch, slots.iter().copied())?;
        self.fetch(&mut scratch, into).await
    }

    /// Assigns a fresh version of the newest epoch to each bucket, in order, and makes it the newest. No I/O.
    ///
    /// After a crash, a vault repeats the calls of its journal, and gets the same versions. Unfinished writes get new
    /// versions, under an epoch that begins here.
    ///
    /// # Errors
    /// [`SealError::NoEpoch`], [`SealError::CounterExhausted`]; in this case nothing was changed.
    pub fn assign(&self, buckets: &[Bucket]) -> Result<Vec<VersionChange>, SealError> {
        let mut assigned = Vec::with_capacity(buckets.len());
        self.assign_each(buckets, |step| assigned.push(step))?;
        Ok(assigned)
    }

    /// Seals whole buckets, and appends their sealed bytes to `out`. Each version is sealed once: a caller that may
    /// have to send it again keeps the bytes. `plain` is exactly the buckets' plaintext, in order.
    ///
    /// # Errors
    /// [`SealError::NotSealable`]: the version was sealed before, or not assigned in this opening; nothing is
    /// sealed then, nor can any of these versions be.
    pub fn seal(&self, buckets: &[BucketVersion], plain: &[u8], out: &mut Vec<u8>) -> Result<(), SealError> {
        let mut scratch = self.scratches.take(plain.len());
        self.prepare_write(&mut scratch, buckets)?;
        check_length(plain.len(), scratch.batch.plain_bytes());
        let start = out.len();
        out.resize(start + scratch.batch.sealed_bytes(), 0);
        let fresh = self.nonces.borrow_mut().draw();
        scratch.batch.seal(&fresh, plain, &mut out[start..], &self.workers);
        Ok(())
    }

    /// Sends the bytes that [`seal`](Self::seal) made. Sending it again is the identical request.
    ///
    /// # Errors
    /// [`SealError::Store`].
    pub async fn send(&self, buckets: &[BucketVersion], sealed: &[u8]) -> Result<(), SealError> {
        self.untrusted.write(buckets, sealed).await.map_err(SealError::Store)
    }

    /// Seals and sends whole buckets under assigned versions.
    ///
    /// # Errors
    /// The errors of [`seal`](Self::seal) and [`send`](Self::send).
    pub async fn write_assigned(&self, buckets: &[BucketVersion], plain: &[u8]) -> Result<(), SealError> {
        let mut scratch = self.scratches.take(plain.len());
        self.prepare_write(&mut scratch, buckets)?;
        self.seal_and_send(&mut scratch, buckets, plain).await
    }

    fn prepare_read(
        &self,
        scratch: &mut Scratch,
        slots: impl Iterator<Item = VersionedSlot>,
    ) -> Result<(), SealError> {
        let mut keys = self.keys.borrow_mut();
        for VersionedSlot { slot, version } in slots {
            let place = Place { slot, version };
            if !scratch.batch.push(place, self.shape.slot(slot), &mut keys) {
                let bucket = slot.bucket;
                return Err(SealError::UnknownEpoch(BucketVersion { bucket, version }));
            }
            if !version.is_never() {
                scratch.places.push(place);
            }
        }
        Ok(())
    }

    async fn fetch(&self, scratch: &mut Scratch, into: &mut [u8]) -> Result<(), SealError> {
        check_length(into.len(), scratch.batch.plain_bytes());
        let (batch, places, _, sealed) = scratch.parts();
        if !places.is_empty() {
            let answer = self.untrusted.read(places, sealed).await;
            answer.map_err(|error| name_slot(error, places))?;
        }
        batch.open(sealed, into, &self.workers).map_err(SealError::Forged)
    }

    fn assign_each(&self, buckets: &[Bucket], mut each: impl FnMut(VersionChange)) -> Result<(), SealError> {
        let mut versions = self.versions.borrow_mut();
        let mut opening = self.opening.borrow_mut();
        let epoch = versions.epochs.newest();
        if epoch == 0 {
            return Err(SealError::NoEpoch);
        }
        if versions.counter.checked_add(buckets.len() as u64).is_none() {
            return Err(SealError::CounterExhausted { epoch });
        }
        for &bucket in buckets {
            versions.counter += 1;
            let counter = versions.counter;
            let old = versions.version(bucket);
            let new = Version { epoch, counter };
            versions.set(bucket, new);
            if opening.began {
                opening.unsealed.insert(counter);
            }
            each(VersionChange { bucket, old, new });
        }
        Ok(())
    }

    /// Collects the slots of whole buckets, and marks their versions as sealed.
    fn prepare_write(&self, scratch: &mut Scratch, buckets: &[BucketVersion]) -> Result<(), SealError> {
        let newest = self.versions.borrow().epochs.newest();
        let mut keys = self.keys.borrow_mut();
        let mut opening = self.opening.borrow_mut();
        for &BucketVersion { bucket, version } in buckets {
            let refusal = BucketVersion { bucket, version };
            if version.epoch != newest || !opening.unsealed.remove(&version.counter) {
                return Err(SealError::NotSealable(refusal));
            }
            let (slots, slot_bytes) = self.shape.bucket(bucket);
            for index in 0..slots {
                let slot = Slot { bucket, index };
                if !scratch.batch.push(Place { slot, version }, slot_bytes, &mut keys) {
                    return Err(SealError::UnknownEpoch(refusal));
                }
            }
        }
        Ok(())
    }

    async fn seal_and_send(
        &self,
        scratch: &mut Scratch,
        buckets: &[BucketVersion],
        plain: &[u8],
    ) -> Result<(), SealError> {
        check_length(plain.len(), scratch.batch.plain_bytes());
        let (batch, _, _, sealed) = scratch.parts();
        let fresh = self.nonces.borrow_mut().draw();
        batch.seal(&fresh, plain, sealed, &self.workers);
        self.send(buckets, sealed).await
    }
}

impl<U: Untrusted> Store for Sealed<U> {
    type Error = SealError;

    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), SealError> {
        let mut scratch = self.scratches.take(into.len());
        {
            let versions = self.versions.borrow();
            let newest = |&slot: &Slot| VersionedSlot { slot, version: versions.version(slot.bucket) };
            self.prepare_read(&mut scratch, slots.iter().map(newest))?;
        }
        self.fetch(&mut scratch, into).await
    }

    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), SealError> {
        let mut scratch = self.scratches.take(from.len());
        let mut written = core::mem::take(&mut scratch.buckets);
        self.assign_each(buckets, |step| written.push(step.bucket_version()))?;
        self.prepare_write(&mut scratch, &written)?;
        let sent = self.seal_and_send(&mut scratch, &written, from).await;
        scratch.buckets = written;
        sent
    }
}

impl<U> fmt::Debug for Sealed<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealed").field("layout", &self.layout).finish_non_exhaustive()
    }
}

/// Maps missing or truncated bytes to the slot: they are tampering.
fn name_slot(error: UntrustedError, places: &[Place]) -> SealError {
    let place_of = |bad: &BucketVersion| {
        let fits = |p: &&Place| p.slot.bucket == bad.bucket && p.version == bad.version;
        places.iter().find(fits).copied()
    };
    match error {
        UntrustedError::Missing(bad) => {
            place_of(&bad).map_or(SealError::Store(UntrustedError::Missing(bad)), SealError::Missing)
        }
        UntrustedError::Truncated(bad) => {
            place_of(&bad).map_or(SealError::Store(UntrustedError::Truncated(bad)), SealError::Truncated)
        }
        other => SealError::Store(other),
    }
}

fn check_length(given: usize, needed: usize) {
    assert!(given == needed, "a buffer of {given} bytes was given for slots of {needed} bytes together");
}
