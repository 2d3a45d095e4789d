//! The trusted version table: the newest version of every bucket. An older slot is an error.

use crate::derive::draw_bytes;
use crate::epoch::Epochs;
use alloc::collections::BTreeMap;
use alloc::vec;
use alloc::vec::Vec;
use ameles_core::snapshot::word_snapshot::WordSnapshot;
use ameles_core::store::BucketVersion;
use ameles_core::types::{Bucket, Version};
use borsh::{BorshDeserialize, BorshSerialize, io};
use core::fmt;
use core::ops::Range;
use rand_core::CryptoRng;

/// The identity of a vault: 128 random bits, public. Slots of another vault do not open, even under the same master
/// key.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, BorshSerialize, BorshDeserialize)]
pub struct VaultId(pub [u8; 16]);

impl VaultId {
    /// Draws an identity.
    pub fn draw<R: CryptoRng + ?Sized>(rng: &mut R) -> Self {
        VaultId(draw_bytes(rng))
    }
}

impl fmt::Display for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for VaultId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "VaultId({self})")
    }
}

/// The small part of the sealing layer's trusted state, without its table.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VersionsHead {
    vault: VaultId,
    epochs: Epochs,
    counter: u64,
}

impl VersionsHead {
    /// The newest epoch's number; 0 before the first.
    pub fn newest_epoch(&self) -> u32 {
        self.epochs.newest()
    }

    /// Bucket writes of the newest epoch so far.
    pub fn counter(&self) -> u64 {
        self.counter
    }
}

/// The trusted state of the sealing layer: 12 bytes for every bucket, the epochs, and the counter.
///
/// It holds no secret, but a party that can change it can roll slots back: it stays on the trusted side, or is
/// sealed. The length of its encoding depends on the number of buckets and of epochs only.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize)]
pub struct TrustedVersions {
    pub(crate) vault: VaultId,
    pub(crate) epochs: Epochs,
    /// The last counter taken in the newest epoch.
    pub(crate) counter: u64,
    /// Epoch, then the counter's upper and lower half: packed, because there is one for every bucket.
    table: Vec<[u32; 3]>,
    /// The number of buckets whose newest version belongs to each epoch.
    #[borsh(skip)]
    uses: BTreeMap<u32, u64>,
    #[borsh(skip)]
    held: WordSnapshot,
}

impl TrustedVersions {
    /// A vault in which nothing was ever written.
    ///
    /// # Panics
    /// If the table does not fit the address space.
    pub fn new(vault: VaultId, buckets: u64) -> Self {
        let buckets = usize::try_from(buckets).expect("the version table fits in memory");
        let head = VersionsHead { vault, epochs: Epochs::new(), counter: 0 };
        TrustedVersions::of(head, vec![[0; 3]; buckets])
    }

    fn of(head: VersionsHead, table: Vec<[u32; 3]>) -> Self {
        let VersionsHead { vault, epochs, counter } = head;
        let mut uses = BTreeMap::new();
        // Neighbours usually share their epoch.
        for run in table.chunk_by(|one, next| one[0] == next[0]) {
            *uses.entry(run[0][0]).or_default() += run.len() as u64;
        }
        TrustedVersions { vault, epochs, counter, table, uses, held: WordSnapshot::default() }
    }

    /// Everything except the table.
    pub fn head(&self) -> VersionsHead {
        VersionsHead { vault: self.vault, epochs: self.epochs.clone(), counter: self.counter }
    }

    /// The versions with this table, [`WORDS`](Self::WORDS) words for each bucket.
    ///
    /// # Errors
    /// A sentence about their inconsistency.
    pub fn from_parts(head: VersionsHead, words: &[u32]) -> Result<Self, &'static str> {
        let (table, rest) = words.as_chunks();
        if !rest.is_empty() {
            return Err("a version has too few words");
        }
        let versions = TrustedVersions::of(head, table.to_vec());
        match versions.contradiction() {
            Some(why) => Err(why),
            None => Ok(versions),
        }
    }

    /// The number of words of a bucket's version.
    pub const WORDS: u64 = 3;

    /// The words of a bucket's version.
    ///
    /// # Panics
    /// If the bucket lies outside of the table.
    pub fn words(&self, bucket: Bucket) -> &[u32] {
        &self.table[bucket.0 as usize]
    }

    /// Appends consecutive words of all buckets.
    ///
    /// # Panics
    /// If the table ends before the range.
    pub fn copy_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        into.extend_from_slice(&self.table.as_flattened()[words.start as usize..words.end as usize]);
    }

    /// Appends consecutive words of all buckets as of the snapshot. Ranges follow one another from the first word to
    /// the last.
    pub(crate) fn copy_held_words(&mut self, words: Range<u64>, into: &mut Vec<u32>) {
        self.held.copy(self.table.as_flattened(), words, into);
    }

    /// Takes a snapshot of the versions, until they are copied out.
    pub(crate) fn hold(&mut self) {
        self.held.hold();
    }

    /// The vault's identity.
    pub fn vault(&self) -> VaultId {
        self.vault
    }

    /// The known epochs.
    pub fn epochs(&self) -> &Epochs {
        &self.epochs
    }

    /// Bucket writes of the newest epoch so far.
    pub fn counter(&self) -> u64 {
        self.counter
    }

    /// Returns the number of buckets in the table.
    pub fn buckets(&self) -> u64 {
        self.table.len() as u64
    }

    /// The newest version of a bucket.
    ///
    /// # Panics
    /// If the bucket lies outside of the table.
    pub fn version(&self, bucket: Bucket) -> Version {
        unpack(self.table[bucket.0 as usize])
    }

    /// The newest version of every bucket that was ever written: the untrusted side must hold these. Everything else
    /// that it holds is an older version or an orphan.
    pub fn live(&self) -> impl Iterator<Item = BucketVersion> {
        (0..).map(Bucket).zip(&self.table).filter_map(|(bucket, &packed)| {
            let version = unpack(packed);
            (!version.is_never()).then_some(BucketVersion { bucket, version })
        })
    }

    pub(crate) fn set(&mut self, bucket: Bucket, version: Version) {
        let packed = &mut self.table[bucket.0 as usize];
        self.held.record_all(Self::WORDS * bucket.0, packed);
        let before = packed[0];
        *packed = pack(version);
        if before != version.epoch {
            *self.uses.entry(version.epoch).or_default() += 1;
            if let Some(uses) = self.uses.get_mut(&before) {
                *uses -= 1;
            }
        }
    }

    /// Removes the epochs without a newest version.
    pub(crate) fn drop_unused_epochs(&mut self) {
        self.uses.retain(|_, uses| *uses > 0);
        self.epochs.retain(|number| self.uses.contains_key(&number));
    }

    /// Returns why these versions are inconsistent, if they are.
    fn contradiction(&self) -> Option<&'static str> {
        let newest = self.epochs.newest();
        let mut last = None;
        for &packed in &self.table {
            let version = unpack(packed);
            if version.is_never() {
                continue;
            }
            if version.counter == 0 {
                return Some("a version has no counter");
            }
            if version.epoch == newest && version.counter > self.counter {
                return Some("a version is newer than the newest");
            }
            if Some(version.epoch) != last && self.epochs.salt(version.epoch).is_none() {
                return Some("a version's epoch is unknown");
            }
            last = Some(version.epoch);
        }
        None
    }
}

impl BorshDeserialize for TrustedVersions {
    fn deserialize_reader<R: io::Read>(reader: &mut R) -> io::Result<Self> {
        let head = VersionsHead::deserialize_reader(reader)?;
        let versions = TrustedVersions::of(head, BorshDeserialize::deserialize_reader(reader)?);
        match versions.contradiction() {
            Some(why) => Err(io::Error::new(io::ErrorKind::InvalidData, why)),
            None => Ok(versions),
        }
    }
}

fn pack(version: Version) -> [u32; 3] {
    [version.epoch, (version.counter >> 32) as u32, version.counter as u32]
}

fn unpack([epoch, high, low]: [u32; 3]) -> Version {
    Version { epoch, counter: u64::from(high) << 32 | u64::from(low) }
}
