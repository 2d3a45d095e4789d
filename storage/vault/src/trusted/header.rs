//! The identity of a vault: its public parameters. They are stored on the trusted disk and in the store, and
//! authenticated with the vault's key.

use crate::engine::scheme::SchemeParameters;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_seal::blob::{self, BlobError};
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::{Purpose, Salt, key_check};
use ameles_seal::key_ring::{EarlierKey, KeyRing};
use ameles_seal::master_key::MasterKey;
use ameles_seal::passphrase::PassphraseHeader;
use ameles_seal::sealed::sealed_layout;
use ameles_seal::slot_format::SlotFormat;
use ameles_seal::versions::{TrustedVersions, VaultId};
use borsh::{BorshDeserialize, BorshSerialize};
use zeroize::Zeroizing;

/// The format of vaults.
pub const FORMAT: u16 = 1;
/// The number of bytes of a piece of a shipped checkpoint before it is sealed. The last piece may be shorter.
pub(crate) const PIECE_BYTES: usize = 16 << 20;
const MAGIC: [u8; 7] = *b"AMELES\n";
const NAME: &[u8] = b"header";
/// The explanation of an Ameles header that contradicts itself.
const CHANGED: &str = "the vault's header in the store was changed, or cut off";

/// The place of the journal that an acknowledged write is in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
#[borsh(use_discriminant = true)]
#[repr(u8)]
pub enum JournalPlace {
    /// Only the trusted disk. A lost machine loses the writes since the last shipped checkpoint.
    #[default]
    Disk = 1,
    /// The store as well. Each batch makes an object there before it is answered, and a lost machine loses no
    /// acknowledged write.
    Store = 2,
    /// The store first. Every record is in an object there before the requests that it announces leave. So a restore
    /// can repeat what the lost machine did, and draws no position again.
    StoreFirst = 3,
    /// The store first, and an object at least every few seconds. So a standby on another machine can follow the journal,
    /// knows when the gateway is gone, and takes over.
    Standby = 4,
    /// As with a standby, and the objects of the journal are in etcd. The payloads of their accesses are in objects of
    /// the store. They are sent beside the requests, and are there before an access is answered.
    Etcd = 5,
}

impl JournalPlace {
    /// Returns whether the store has a journal.
    pub fn is_in_store(self) -> bool {
        self != JournalPlace::Disk
    }

    /// Returns whether the store has the records of requests before the requests.
    pub fn announces(self) -> bool {
        matches!(self, JournalPlace::StoreFirst | JournalPlace::Standby | JournalPlace::Etcd)
    }

    /// Returns whether a standby can follow the journal.
    pub fn has_heartbeats(self) -> bool {
        matches!(self, JournalPlace::Standby | JournalPlace::Etcd)
    }

    /// Returns whether the payloads of a log object are in an object of their own.
    pub fn has_payload_objects(self) -> bool {
        self == JournalPlace::Etcd
    }
}

/// The place of the payloads of stash and tree top.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, BorshSerialize, BorshDeserialize)]
#[borsh(use_discriminant = true)]
#[repr(u8)]
pub enum TreeTopPlace {
    /// The tree top is in memory, and on the trusted disk for the next opening.
    #[default]
    Memory = 1,
    /// The tree top is only on the trusted disk, except for payloads that came or were requested since the last
    /// checkpoint.
    Disk = 2,
}

/// The parameters of a vault. All of them are public, and they cannot be changed later.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct VaultParameters {
    /// The scheme and its parameters.
    pub scheme: SchemeParameters,
    /// The number of the cipher ([`Cipher::number`]).
    pub cipher: u8,
    /// The number of accesses between two checkpoints on the trusted disk.
    pub checkpoint_every: u64,
    /// The number of checkpoints on the trusted disk for each one that is shipped to the store.
    pub ship_every: u64,
    /// The maximum number of bytes of the gateway's rows. The sizes of shipped checkpoints follow from it.
    pub rows_bytes: u64,
    /// True if every batch is padded with dummy accesses to the maximum size, so that its length does not show.
    pub pad_batches: bool,
    /// The place of the journal.
    pub journal: JournalPlace,
    /// The place of stash and tree top.
    pub tree_top: TreeTopPlace,
}

/// The number of bytes of memory for a block of the stash besides its payload: its entries in lists, in the index, and
/// in the directory.
pub const STASH_ENTRY: u64 = 128;

/// A vault's header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct VaultHeader {
    /// The vault's identity.
    pub vault: VaultId,
    /// The vault's parameters.
    pub parameters: VaultParameters,
    /// The derivation of the key from a passphrase, if the vault has one.
    pub passphrase: Option<PassphraseHeader>,
}

#[derive(BorshSerialize, BorshDeserialize)]
struct Outer {
    vault: VaultId,
    passphrase: Option<PassphraseHeader>,
    check_salt: [u8; 32],
    key_check: [u8; 16],
    sealed: Vec<u8>,
}

impl VaultParameters {
    /// The default parameters for a scheme. A checkpoint is made on the trusted disk every 256 accesses, or more often
    /// in a small vault, whose old versions would outweigh it. Checkpoints are shipped every 64 MiB of blocks.
    pub fn with_defaults(scheme: SchemeParameters) -> Self {
        let payload = scheme.capacity() * u64::from(scheme.block_bytes());
        let checkpoint_every = (scheme.capacity() / 4).clamp(64, 256);
        let rows_bytes = (payload / 256).clamp(2 << 20, 1 << 32);
        let mut parameters = VaultParameters {
            scheme,
            cipher: Cipher::default().number(),
            checkpoint_every,
            ship_every: 1,
            rows_bytes,
            pad_batches: false,
            journal: JournalPlace::Disk,
            tree_top: TreeTopPlace::Memory,
        };
        parameters.ship_every = parameters.planned_ship_every();
        parameters
    }

    /// The same parameters with the journal in this place.
    #[must_use]
    pub fn with_journal(self, journal: JournalPlace) -> Self {
        let parameters = VaultParameters { journal, ..self };
        VaultParameters { ship_every: parameters.planned_ship_every(), ..parameters }
    }

    /// The same parameters with stash and tree top on the trusted disk. Checkpoints there come so often that the
    /// payloads since the last one are a small part of all. Checkpoints in the store come as often as before.
    #[must_use]
    pub fn with_top_on_disk(self) -> Self {
        let point = self.recovery_point();
        let checkpoint_every = (self.scheme.capacity() / 128).clamp(16, 256).min(self.checkpoint_every);
        let ship_every = point.div_ceil(checkpoint_every);
        VaultParameters { checkpoint_every, ship_every, tree_top: TreeTopPlace::Disk, ..self }
    }

    /// The maximum number of payloads of stash and tree top that are in memory in the long run.
    pub fn resident_blocks(&self) -> u64 {
        let bound = self.scheme.stash_bound();
        match self.tree_top {
            TreeTopPlace::Memory => bound,
            TreeTopPlace::Disk => bound.min(self.scheme.max_resident(self.latest_checkpoint())),
        }
    }

    /// The cipher.
    ///
    /// # Errors
    /// [`VaultError::Parameters`] if the number is unknown.
    pub fn cipher(&self) -> Result<Cipher, VaultError> {
        Cipher::from_number(self.cipher).ok_or_else(|| {
            VaultError::Parameters(format!("there is no cipher number {}", self.cipher).into())
        })
    }

    /// The size of a block.
    pub(crate) fn block(&self) -> Bytes {
        Bytes(self.scheme.block_bytes().into())
    }

    /// The layout of untrusted memory; slot sizes include the seal.
    pub fn layout(&self) -> Layout {
        sealed_layout(&self.scheme.layout(), SlotFormat::Salted)
    }

    /// The sizes of the tables of the trusted state in words: those of the scheme, and then the table of versions.
    pub(crate) fn word_tables(&self) -> Vec<u64> {
        let mut tables = self.scheme.tables();
        tables.push(TrustedVersions::WORDS * self.layout().buckets());
        tables
    }

    /// The number of accesses after which no batch starts before a due checkpoint. The checkpoint may wait for
    /// evictions that take long; a quarter more accesses run in parallel with them.
    pub(crate) fn latest_checkpoint(&self) -> u64 {
        self.checkpoint_every + self.checkpoint_every / 4
    }

    /// Returns the number of bytes that the trusted disk needs in addition to the last checkpoint: for the next one,
    /// and for the journal up to it. They assume that every access writes one payload in the journal and one in the
    /// stash. The journal's file has checksums, and grows by a quarter at a time.
    pub fn trusted_disk_bytes(&self) -> u64 {
        /// The number of bytes of an access besides its payloads: the slots of its requests, its words, pieces.
        const ACCESS: u64 = 2048;
        let block = u64::from(self.scheme.block_bytes());
        self.latest_checkpoint() * (2 * block + block / 3 + ACCESS) + (1 << 20)
    }

    /// The maximum memory for checkpoints besides the trusted memory. For the disk: the sealed payloads of one
    /// checkpoint. For an upload: its rows, twice while they are put together; one piece in three forms; the words that
    /// it sends or that change meanwhile, at most a fifth of all; and two lists of the payloads in the store.
    pub fn checkpoint_memory(&self) -> u64 {
        /// The bytes of a payload in such a list.
        const SENT: u64 = 96;
        let words = 4 * self.word_tables().iter().sum::<u64>();
        let payloads = 2 * self.latest_checkpoint() * u64::from(self.scheme.block_bytes());
        let sent = 2 * SENT * self.scheme.stash_bound();
        let share = self.rows_share(self.recovery_point());
        let rows = if share.is_whole() { 0 } else { 2 * share.bytes() };
        payloads + words + sent + rows + 3 * PIECE_BYTES as u64
    }

    /// The maximum trusted memory in the long run: position map, metadata, versions, stash with tree top. Each step of
    /// an eviction in flight, at most two, holds its slice and the sealed copy in addition.
    pub fn trusted_bytes(&self) -> u64 {
        let payloads = self.resident_blocks() * u64::from(self.scheme.block_bytes());
        self.scheme.map_bytes() + payloads + self.scheme.stash_bound() * STASH_ENTRY
    }

    pub(crate) fn validate(&self) -> Result<(), VaultError> {
        self.scheme.validate()?;
        self.cipher()?;
        if self.tree_top == TreeTopPlace::Disk && matches!(self.scheme, SchemeParameters::Trivial(_)) {
            let why = "Trivial ORAM has no tree top that could be on the trusted disk";
            return Err(VaultError::Parameters(why.into()));
        }
        if self.checkpoint_every == 0 || self.ship_every == 0 {
            return Err(VaultError::Parameters("a checkpoint every 0 accesses: give at least 1".into()));
        }
        Ok(())
    }
}

impl VaultHeader {
    /// Encodes the header. An earlier key of the ring is included, sealed with the newest.
    pub fn encode(&self, ring: impl Into<KeyRing>, check_salt: Salt, salt: Salt) -> Vec<u8> {
        let ring = ring.into();
        let master = ring.newest();
        // The capacity is so large that the text is never moved: no copy of a key is left in memory.
        let mut text = Zeroizing::new(Vec::with_capacity(4096));
        borsh::to_writer(&mut *text, &(self.vault, &self.parameters))
            .expect("a write to memory does not fail");
        if let Some(earlier) = ring.earlier() {
            text.extend_from_slice(&*earlier.to_bytes());
        }
        let cipher = Cipher::from_number(self.parameters.cipher).unwrap_or_default();
        let outer = Outer {
            vault: self.vault,
            passphrase: self.passphrase.clone(),
            check_salt: check_salt.0,
            key_check: key_check(master, &check_salt),
            sealed: blob::seal(master, Purpose::HEADER, NAME, cipher, salt, &text),
        };
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&FORMAT.to_le_bytes());
        borsh::to_writer(&mut bytes, &outer).expect("a write to memory does not fail");
        bytes
    }

    /// Reads the derivation of the key from a passphrase in a stored header. This part can be read without the key.
    ///
    /// # Errors
    /// [`VaultError::NotAVault`], [`VaultError::NewerFormat`], [`VaultError::Tampered`].
    pub fn passphrase(bytes: &[u8]) -> Result<Option<PassphraseHeader>, VaultError> {
        // The key tells later if the bytes before it were changed.
        behind_label(bytes).map_or_else(|| outer(bytes), Ok).map(|outer| outer.passphrase)
    }

    /// Returns whether a stored header belongs to another vault, as far as this can be known without its key. A changed
    /// header of our vault still has some part of it.
    ///
    /// # Errors
    /// [`VaultError::NewerFormat`] if this cannot be known.
    pub(crate) fn is_of_another_vault(theirs: &[u8], ours: &[u8]) -> Result<bool, VaultError> {
        let read = match outer(theirs) {
            Ok(theirs) => Some(theirs),
            Err(VaultError::NewerFormat { found, known }) => {
                Some(behind_label(theirs).ok_or(VaultError::NewerFormat { found, known })?)
            }
            Err(_) => None,
        };
        let (Some(theirs), Some(ours)) = (read, behind_label(ours)) else { return Ok(false) };
        let has_ours = theirs.vault == ours.vault
            || theirs.check_salt == ours.check_salt
            || theirs.sealed == ours.sealed;
        Ok(!has_ours)
    }

    /// Decodes a stored header. Nothing in it is trusted before the key has authenticated it.
    ///
    /// # Errors
    /// [`VaultError::NotAVault`], [`VaultError::NewerFormat`], [`VaultError::WrongKey`], [`VaultError::Tampered`],
    /// [`VaultError::Parameters`].
    pub fn decode(bytes: &[u8], master: &MasterKey) -> Result<Self, VaultError> {
        Ok(Self::decode_with_ring(bytes, master)?.0)
    }

    /// Decodes a stored header, and the earlier key in it, if the vault's key is being changed.
    ///
    /// # Errors
    /// The errors of [`decode`](Self::decode).
    pub(crate) fn decode_with_ring(bytes: &[u8], master: &MasterKey) -> Result<(Self, KeyRing), VaultError> {
        let outer = outer(bytes).map_err(|error| match behind_label(bytes) {
            Some(outer) if is_sealed_with(master, &outer) => VaultError::Tampered(CHANGED.into()),
            _ => error,
        })?;
        let text = open(master, &outer);
        if key_check(master, &Salt(outer.check_salt)) != outer.key_check {
            return Err(match text {
                Ok(_) => VaultError::Tampered(CHANGED.into()),
                Err(_) => VaultError::WrongKey,
            });
        }
        let text =
            text.map_err(|error| VaultError::Tampered(ErrorReason::of(error).about("the vault's header")))?;
        let (vault, parameters, earlier) =
            decode_text(&text).ok_or_else(|| VaultError::Tampered(CHANGED.into()))?;
        if vault != outer.vault {
            return Err(VaultError::Tampered("the vault's header names two vaults".into()));
        }
        parameters.validate()?;
        let header = VaultHeader { vault, parameters, passphrase: outer.passphrase };
        Ok((header, KeyRing::new(master.clone(), earlier)))
    }
}

/// Decodes an authenticated text: the vault, its parameters, and the earlier key while the key is being changed.
fn decode_text(mut text: &[u8]) -> Option<(VaultId, VaultParameters, Option<EarlierKey>)> {
    let (vault, parameters) = BorshDeserialize::deserialize(&mut text).ok()?;
    let earlier = match text {
        [] => None,
        key => Some(EarlierKey::from_bytes(key.try_into().ok()?)),
    };
    Some((vault, parameters, earlier))
}

/// Opens the sealed part of a header.
fn open(master: &MasterKey, outer: &Outer) -> Result<Zeroizing<Vec<u8>>, BlobError> {
    blob::open(master, Purpose::HEADER, NAME, &outer.sealed).map(Zeroizing::new)
}

/// Returns whether a header was sealed with this key in this format. Ignores the header's magic number and format.
fn is_sealed_with(master: &MasterKey, outer: &Outer) -> bool {
    let text = open(master, outer);
    text.is_ok_and(|text| decode_text(&text).is_some())
}

/// Decodes the part after the magic number and the format, which it ignores.
fn behind_label(bytes: &[u8]) -> Option<Outer> {
    borsh::from_slice(bytes.get(MAGIC.len() + size_of::<u16>()..)?).ok()
}

fn outer(bytes: &[u8]) -> Result<Outer, VaultError> {
    let rest = bytes.strip_prefix(&MAGIC).ok_or_else(|| match MAGIC.starts_with(bytes) {
        true => VaultError::Tampered(CHANGED.into()),
        false => VaultError::NotAVault,
    })?;
    let (format, rest) = rest.split_first_chunk().ok_or_else(|| VaultError::Tampered(CHANGED.into()))?;
    let found = u16::from_le_bytes(*format);
    if found != FORMAT {
        return Err(VaultError::NewerFormat { found, known: FORMAT });
    }
    borsh::from_slice(rest).map_err(|_| VaultError::Tampered(CHANGED.into()))
}
