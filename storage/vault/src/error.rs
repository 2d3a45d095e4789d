//! The errors of a vault, each with what to do about it.

use crate::error_reason::ErrorReason;
use crate::store_space::LacksSpace;
use ameles_core::oram::OramError;
use ameles_core::store::UntrustedError;
use ameles_core::types::{BlockId, Bucket, Version};
use ameles_seal::error::SealError;
use ameles_store::BlobError;

/// An error of creating, opening or using a vault.
#[derive(Clone, Debug, thiserror::Error)]
pub enum VaultError {
    /// The trusted folder holds no vault.
    #[error("there is no vault in the trusted folder: create one with `init`, or restore one with `restore`")]
    NoVault,
    /// The folder or the store already holds a vault.
    #[error("{0}")]
    AlreadyExists(ExistsIn),
    /// The store's header is not an Ameles header.
    #[error("the store's vault header is not one of Ameles's: is this the right place?")]
    NotAVault,
    /// The store's header is missing.
    #[error("the store holds no vault: its header is missing")]
    StoreEmpty,
    /// The format is newer than this program.
    #[error("the vault has format {found}, but this version reads format {known}: use a newer ameles")]
    NewerFormat {
        /// The vault's format.
        found: u16,
        /// The newest format that this program knows.
        known: u16,
    },
    /// The master key is not the key of this vault.
    #[error(
        "the key does not open this vault: the vault was made with another key or passphrase, or its key was changed \
         since"
    )]
    WrongKey,
    /// The store and the trusted folder belong to different vaults.
    #[error(
        "the store holds another vault than the trusted folder: check which store and which folder belong together"
    )]
    OtherVault,
    /// An object of the untrusted side was forged, removed or rolled back.
    #[error("tampering: {0}")]
    Tampered(#[source] ErrorReason),
    /// A bucket that must be in the store is missing.
    #[error("tampering: {bucket} ({version}) is missing from the store: it was removed or the store was rolled back", bucket = .0, version = .1)]
    Vanished(Bucket, Version),
    /// The trusted folder is an older copy.
    #[error(
        "the trusted folder is older than the store ({0}): continuing from it would read paths a second time and \
         lose writes. Serve with the newest trusted folder: it loses nothing. If that folder is lost, run \
         `restore --takeover` into an empty --data folder. Delete nothing from the store"
    )]
    StaleTrustedState(String),
    /// The journal was made by an engine of another version, which may cause other requests for the same inputs.
    #[error(
        "the journal in the store is of version {theirs} of the engine, and this program has version {ours}: use the program \
         that wrote it, or draw the positions again with `restore --redraw`"
    )]
    OtherEngine {
        /// The version that made the journal.
        theirs: u32,
        /// This program's version.
        ours: u32,
    },
    /// Another gateway has opened the vault since.
    #[error(
        "another gateway has opened this vault since: its epoch is {theirs}, and the newest that this trusted folder knows \
         is {ours}. Serve with the trusted folder of that gateway, which loses nothing; if that folder is lost, use \
         `restore --takeover` into an empty --data folder. Delete nothing from the store"
    )]
    Displaced {
        /// The newest epoch that the trusted folder knows.
        ours: u32,
        /// The newest epoch in the store.
        theirs: u32,
    },
    /// An object that was to be created is there already, with other contents.
    #[error(
        "{0} is already in the store, with other contents: a copy of this machine serves the same vault (one of the \
         two was resumed from a snapshot of its memory), or somebody planted the object: `ameles gc` shows \
         which. This gateway has stopped. Writes that it acknowledged after the snapshot are only in its own trusted \
         folder: keep that folder, and serve with the folder of the other copy"
    )]
    Copied(String),
    /// The machine was resumed from a snapshot of its memory.
    #[error(
        "this machine was resumed from a snapshot, so two copies may serve one vault. This copy has stopped. Start `serve` \
         again on one copy only. Writes that this copy acknowledged after the snapshot are only in its trusted folder"
    )]
    Resumed,
    /// The lease has expired, and could not be renewed so far.
    #[error(
        "this gateway could not check in time in the store whether another one has taken over the vault: it answers \
         nothing until it has checked. The last requests may be durable, and can be sent again"
    )]
    LeaseExpired,
    /// Another process on this machine has the vault open.
    #[error("the vault is open in another process on this machine: stop that one first")]
    Locked,
    /// The block number is beyond the capacity.
    #[error("{block} lies beyond the capacity of {capacity} blocks")]
    OutOfRange {
        /// The block.
        block: BlockId,
        /// The capacity.
        capacity: u64,
    },
    /// The payload has the wrong length.
    #[error("{len} bytes were given for a block of {block_bytes} bytes")]
    WrongLength {
        /// The length of the given payload.
        len: usize,
        /// The length of a block.
        block_bytes: usize,
    },
    /// The rows do not fit their reserved space.
    #[error(
        "the table of rows is full: {needed} bytes are needed and {max} are reserved; delete something first"
    )]
    RowsFull {
        /// The number of bytes needed.
        needed: u64,
        /// The number of bytes reserved.
        max: u64,
    },
    /// The stash is at its bound; the access was refused before anything changed.
    #[error("the stash is full: the access was refused before anything changed")]
    StashFull,
    /// The trusted disk failed.
    #[error("the trusted folder cannot be used: {0}")]
    Disk(#[source] ErrorReason),
    /// The trusted disk is full.
    #[error(
        "the trusted folder's disk is full: free some space, and run the same command again; no acknowledged write is lost"
    )]
    DiskFull,
    /// A write was refused, and nothing of it was carried out. The trusted disk or the store is full, and the remaining
    /// reserve is for reads and deletions.
    #[error(
        "no room for writes: the trusted folder's disk or the store is full; free some space there; reads still work for now"
    )]
    NoRoom,
    /// The store is full, and a pending write must come before anything else.
    #[error(
        "the store is full: free some space in it, and run the same command again; no acknowledged write is lost"
    )]
    StoreFull,
    /// The local copy of the buckets that a restore makes cannot be written or read.
    #[error(
        "the copy of the store's buckets, on the disk of the data folder: {0}; free some space there, and run `ameles restore` \
         again, with the same flags"
    )]
    LocalCopy(#[source] ErrorReason),
    /// The contents of the trusted disk are damaged.
    #[error(
        "the trusted folder is damaged: {0}; `ameles restore --takeover` with a new --data folder restores what \
         reached the store"
    )]
    Damaged(#[source] ErrorReason),
    /// The store cannot be reached at present.
    #[error(
        "the store is unavailable: {0}; run the same command again when the store answers; no acknowledged write is lost"
    )]
    Unavailable(#[source] ErrorReason),
    /// The store refused a request.
    #[error("the store refused a request: {0}")]
    Refused(#[source] ErrorReason),
    /// The vault was closed, or has failed before.
    #[error("the vault is closed")]
    Closed,
    /// The parameters are not valid.
    #[error("{0}")]
    Parameters(#[source] ErrorReason),
    /// The vault's key is being changed already.
    #[error(
        "the vault's key is already being changed: serve the vault with the newer key until `ameles status` no longer has \
         a line `key`, and then change it again"
    )]
    KeyChanging,
    /// A restore was started and not finished.
    #[error(
        "a restore into this trusted folder was not finished: run `ameles restore` again, with the same flags; or the folder \
         is a standby's: serve it with `ameles serve --standby`"
    )]
    RestoreUnfinished,
    /// The store holds no checkpoint that can be restored.
    #[error("the store holds no checkpoint that can be restored")]
    NoCheckpoint,
    /// A restore would displace another gateway.
    #[error(
        "the store was last opened in epoch {0}: if that gateway is lost, give --takeover; it can never write to this vault again"
    )]
    TakeoverNeeded(u32),
    /// The text is not a receipt.
    #[error("{0}")]
    NotAReceipt(String),
    /// The store's header is missing.
    #[error(
        "the store's header is missing, and this vault was in that store: the header was removed, or this is \
         another store (is the folder mounted?)"
    )]
    HeaderVanished,
    /// The receipt belongs to another vault, or to a later state.
    #[error("the receipt is refused: {0}")]
    Receipt(String),
}

/// The place at which a vault was to be created or restored, and which already holds one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExistsIn {
    /// The trusted folder.
    #[error(
        "the trusted folder already holds a vault: `ameles serve` serves it; to make another vault, give another --data folder"
    )]
    TrustedFolder,
    /// The store.
    #[error(
        "the store already holds a vault: `ameles serve` serves it with the trusted folder that belongs to it (if that is lost, \
         `ameles restore` makes another in a new --data folder); to make another vault, give another place"
    )]
    Store,
}

impl VaultError {
    /// Returns whether the error points to an attack by the untrusted side.
    pub fn is_tampering(&self) -> bool {
        matches!(self, VaultError::Tampered(_) | VaultError::Vanished(..) | VaultError::HeaderVanished)
    }
}

impl From<UntrustedError> for VaultError {
    fn from(error: UntrustedError) -> Self {
        match error {
            UntrustedError::Missing(at) | UntrustedError::Truncated(at) => {
                VaultError::Vanished(at.bucket, at.version)
            }
            UntrustedError::Taken(at) => VaultError::Copied(format!("{} ({})", at.bucket, at.version)),
            full if full.lacks_space() => VaultError::StoreFull,
            UntrustedError::Refused(why) => VaultError::Refused(ErrorReason::of(why)),
            UntrustedError::Unavailable(why) => VaultError::Unavailable(ErrorReason::of(why)),
        }
    }
}

impl From<SealError> for VaultError {
    fn from(error: SealError) -> Self {
        match error {
            SealError::Store(below) => below.into(),
            SealError::Forged(_)
            | SealError::Missing(_)
            | SealError::Truncated(_)
            | SealError::UnknownEpoch(_) => VaultError::Tampered(ErrorReason::of(error)),
            other => VaultError::Damaged(ErrorReason::of(other)),
        }
    }
}

impl From<BlobError> for VaultError {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Store(below) => below.into(),
            BlobError::TooLarge { .. } => VaultError::Tampered(ErrorReason::of(error)),
            BlobError::BadName { .. } => VaultError::Damaged(ErrorReason::of(error)),
        }
    }
}

impl<E: core::error::Error + Send + Sync + 'static> From<OramError<E>> for VaultError {
    fn from(error: OramError<E>) -> Self {
        match error {
            OramError::OutOfRange { block, capacity } => VaultError::OutOfRange { block, capacity },
            OramError::WrongLength { len, block_bytes } => VaultError::WrongLength { len, block_bytes },
            OramError::StashFull { .. } => VaultError::StashFull,
            OramError::Contradiction(_) => VaultError::Tampered(ErrorReason::of(error)),
            other => VaultError::Damaged(ErrorReason::of(other)),
        }
    }
}
