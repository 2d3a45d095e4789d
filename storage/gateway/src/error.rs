//! The errors of objects, containers and uploads.

use crate::catalogue::unix_millis::UnixMillis;
use crate::catalogue::version::VersionId;
use crate::device::DeviceError;
use crate::objects::checksums::Algorithm;
use crate::objects::padding::PaddingError;

/// The reason why a request was refused or failed. No text of it holds a name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no container of this name.
    #[error("the container does not exist")]
    NoSuchContainer,
    /// There is a container of this name already.
    #[error("the container exists already")]
    ContainerExists,
    /// The container still holds objects.
    #[error("the container still holds {objects} objects or old versions of some: delete them first")]
    ContainerNotEmpty {
        /// Objects in it.
        objects: usize,
    },
    /// There is no object under this key.
    #[error("the key does not exist")]
    NoSuchKey,
    /// There is no such version of the object under this key.
    #[error("the version does not exist")]
    NoSuchVersion,
    /// The version is a delete marker: it stands for no object.
    #[error("the version is a delete marker")]
    DeleteMarker {
        /// Its name.
        version: VersionId,
        /// The moment of the delete.
        modified: UnixMillis,
        /// True if it was asked for by its name, and not as the newest.
        is_named: bool,
    },
    /// Old versions are kept in one way only: behind their keys, or in an archive. Nothing was changed.
    #[error(
        "the container keeps old versions in another way: S3's versioning and an archive (X-Versions-Location, \
         X-History-Location) exclude each other"
    )]
    OtherVersions,
    /// There is no such multipart upload for this container and key.
    #[error("the multipart upload does not exist: it may have been completed or aborted")]
    NoSuchUpload,
    /// A part number outside of `1..=10000`.
    #[error("part number {0} is not between 1 and 10000")]
    PartNumber(i64),
    /// A part was named that was never uploaded, or not with this ETag or checksum.
    #[error("part {0} was not uploaded, or not with the ETag or checksum given")]
    InvalidPart(u16),
    /// A completion names no part.
    #[error("the list of parts is empty: name the parts that make up the object")]
    NoParts,
    /// The parts of a completion are not in ascending order.
    #[error("the parts must be listed in ascending order of part number, each once")]
    InvalidPartOrder,
    /// A part other than the last is too small.
    #[error("part {number} has {bytes} bytes: every part but the last must have at least {min}")]
    PartTooSmall {
        /// Its number.
        number: u16,
        /// Its size in bytes.
        bytes: u64,
        /// The least that is accepted, in bytes.
        min: u64,
    },
    /// A condition of the request does not hold.
    #[error("the condition {0} does not hold")]
    PreconditionFailed(&'static str),
    /// The object is the one that the client has already.
    #[error("the object was not modified")]
    NotModified,
    /// The range begins behind the end of the object.
    #[error("the range lies outside of the object's {bytes} bytes")]
    RangeNotSatisfiable {
        /// The object's size in bytes.
        bytes: u64,
    },
    /// The object would be more than a container or its account may hold. Nothing was changed.
    #[error("the upload exceeds the quota of {0}")]
    OverQuota(&'static str),
    /// The account has three quarters of the room that there is for names and metadata beside what other accounts have.
    #[error(
        "this account's names and metadata have all the room that one account may take: delete objects or old versions, or grow \
             the vault with `ameles migrate --capacity SIZE`"
    )]
    OverRowShare,
    /// The container for old versions is not there. Nothing was changed.
    #[error("the container for old versions does not exist: make it, or set another one")]
    NoArchive,
    /// Metadata that is not kept.
    #[error("{0}")]
    Metadata(String),
    /// More metadata or longer headers than are taken. Nothing was changed.
    #[error("the metadata has {bytes} bytes, names and values together: at most {max} are taken")]
    MetadataTooLarge {
        /// Bytes given.
        bytes: usize,
        /// The most bytes that are accepted.
        max: usize,
    },
    /// The body is shorter or longer than was said.
    #[error("the body holds {got} bytes where {declared} were announced")]
    WrongLength {
        /// Bytes announced.
        declared: u64,
        /// Bytes received; when more came than announced, those received until that was seen.
        got: u64,
    },
    /// The parts of a completion have other bytes together than was said.
    #[error("the parts have {got} bytes together where {declared} were announced")]
    WrongSize {
        /// Bytes announced.
        declared: u64,
        /// Bytes of the parts.
        got: u64,
    },
    /// The body's digest is not the one given with it.
    #[error("the {0} given does not match the body")]
    BadDigest(&'static str),
    /// A checksum is not that of the part or the object that it was given for.
    #[error("the {algorithm} given does not match the {}", .part.map_or_else(|| "object".to_owned(), |part| format!("part {part}")))]
    WrongChecksum {
        /// Of which algorithm it is.
        algorithm: Algorithm,
        /// The part's number; `None` for the object.
        part: Option<u16>,
    },
    /// The body could not be read from the client.
    #[error("the body could not be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// Not enough free blocks. Nothing was changed.
    #[error(
        "{needed} blocks are needed and {free} are free: delete objects, or grow the vault with `ameles migrate --capacity SIZE`"
    )]
    Full {
        /// Blocks that the object takes, padding included.
        needed: u64,
        /// Blocks that are free.
        free: u64,
    },
    /// So many transfers are under way that their memory is taken. Nothing was begun.
    #[error("too many transfers are under way: ask again in a moment")]
    Busy,
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Error {
    /// The text that a client is told: the error without the facts that are the machine's own.
    pub(crate) fn client_message(&self) -> String {
        match self {
            Error::Device(failure) => failure.client_message(),
            other => other.to_string(),
        }
    }
}

impl From<crate::objects::allocate::TooFew> for Error {
    fn from(few: crate::objects::allocate::TooFew) -> Self {
        Error::Full { needed: few.needed, free: few.free }
    }
}

/// The reason why a gateway cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The device's shape is of no use.
    #[error(
        "the device has blocks of {block_bytes} bytes and batches of {max_batch}: both must be at least 1"
    )]
    Shape {
        /// Bytes of a block.
        block_bytes: usize,
        /// The most blocks of a batch.
        max_batch: usize,
    },
    /// The catalogue is of a format that this version does not know.
    #[error(
        "the catalogue is of format {found}, this version knows format {known}: open it with the version that wrote it"
    )]
    Format {
        /// The number found.
        found: u32,
        /// The number known.
        known: u32,
    },
    /// The catalogue was written for blocks of another size.
    #[error("the catalogue was written for blocks of {found} bytes, the device has blocks of {block_bytes}")]
    BlockBytes {
        /// Bytes of a block when the catalogue was made.
        found: u64,
        /// Bytes of a block of the device.
        block_bytes: u64,
    },
    /// A row of the catalogue cannot be right.
    #[error(
        "the catalogue is corrupt: row {row} of {rows} ({kind}) {why}; restore the vault from its backup"
    )]
    Corrupt {
        /// The row's number, from 1, in the order of their keys.
        row: usize,
        /// All rows.
        rows: usize,
        /// The kind of the row.
        kind: &'static str,
        /// The fault of the row.
        why: &'static str,
    },
    /// The size classes are of no use.
    #[error(transparent)]
    Padding(#[from] PaddingError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
