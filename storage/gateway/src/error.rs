//! The errors of objects, containers and uploads.

use crate::catalogue::unix_millis::UnixMillis;
use crate::catalogue::version::VersionId;
use crate::device::DeviceError;
use crate::objects::checksums::Algorithm;
use crate::objects::padding::PaddingError;

/// The reason why a request was refused or failed. No text of it holds a name.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No container has this name.
    #[error("the container does not exist")]
    NoSuchContainer,
    /// A container of this name exists already.
    #[error("the container exists already")]
    ContainerExists,
    /// The container still has objects.
    #[error("the container still has objects or old versions, {objects} in all: delete them first")]
    ContainerNotEmpty {
        /// The number of objects in the container.
        objects: usize,
    },
    /// No object has this key.
    #[error("the key does not exist")]
    NoSuchKey,
    /// The key has no such version.
    #[error("the version does not exist")]
    NoSuchVersion,
    /// The version is a delete marker: it has no content.
    #[error("the version is a delete marker")]
    DeleteMarker {
        /// The version's name.
        version: VersionId,
        /// The time of the delete.
        modified: UnixMillis,
        /// True if the request named the version, false if it requested the newest one.
        is_named: bool,
    },
    /// A container keeps old versions in one way only: under their keys, or in an archive. Nothing was changed.
    #[error(
        "the container keeps old versions in another way: S3's versioning and an archive (X-Versions-Location, \
         X-History-Location) exclude each other"
    )]
    OtherVersions,
    /// This container and key have no such multipart upload.
    #[error("the multipart upload does not exist: it may have been completed or aborted")]
    NoSuchUpload,
    /// A part number outside of `1..=10000`.
    #[error("part number {0} is not between 1 and 10000")]
    PartNumber(i64),
    /// A completion names a part that was never uploaded, or not with this ETag or checksum.
    #[error("part {0} was not uploaded, or not with the given ETag or checksum")]
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
        /// The number of the part.
        number: u16,
        /// The size of the part in bytes.
        bytes: u64,
        /// The minimum that is accepted, in bytes.
        min: u64,
    },
    /// A condition of the request does not hold.
    #[error("the condition {0} does not hold")]
    PreconditionFailed(&'static str),
    /// The client already has this object.
    #[error("the object was not modified")]
    NotModified,
    /// The range begins after the end of the object.
    #[error("the range lies outside of the object's {bytes} bytes")]
    RangeNotSatisfiable {
        /// The object's size in bytes.
        bytes: u64,
    },
    /// The object would exceed the quota of its container or account. Nothing was changed.
    #[error("the upload exceeds the {0} quota")]
    OverQuota(&'static str),
    /// The account already has three quarters of the rows that other accounts leave free.
    #[error(
        "this account's names and metadata use all the space that one account may have: delete objects or old versions, or grow \
             the vault with `ameles migrate --capacity SIZE`"
    )]
    OverRowShare,
    /// The container for old versions does not exist. Nothing was changed.
    #[error("the container for old versions does not exist: create it, or set another one")]
    NoArchive,
    /// Metadata that cannot be stored.
    #[error("{0}")]
    Metadata(String),
    /// The metadata or the headers are too long. Nothing was changed.
    #[error("the metadata has {bytes} bytes, names and values together: at most {max} are allowed")]
    MetadataTooLarge {
        /// The number of bytes given.
        bytes: usize,
        /// The largest number of bytes that is accepted.
        max: usize,
    },
    /// The body is shorter or longer than announced.
    #[error("the body has {got} bytes instead of the announced {declared}")]
    WrongLength {
        /// The number of bytes announced.
        declared: u64,
        /// The number of bytes received. If the body was too long, the number received when the gateway noticed it.
        got: u64,
    },
    /// The parts of a completion have another size together than announced.
    #[error("the parts have {got} bytes together instead of the announced {declared}")]
    WrongSize {
        /// The number of bytes announced.
        declared: u64,
        /// The number of bytes of the parts.
        got: u64,
    },
    /// The body does not match the digest that came with it.
    #[error("the given {0} does not match the body")]
    BadDigest(&'static str),
    /// A checksum does not match its part or object.
    #[error("the given {algorithm} does not match the {}", .part.map_or_else(|| "object".to_owned(), |part| format!("part {part}")))]
    WrongChecksum {
        /// The algorithm of the checksum.
        algorithm: Algorithm,
        /// The part's number; `None` for the object.
        part: Option<u16>,
    },
    /// The body could not be read from the client.
    #[error("the body could not be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
    /// There are not enough free blocks. Nothing was changed.
    #[error(
        "{needed} blocks are needed and {free} are free: delete objects, or grow the vault with `ameles migrate --capacity SIZE`"
    )]
    Full {
        /// The number of blocks that the object takes, padding included.
        needed: u64,
        /// The number of blocks that are free.
        free: u64,
    },
    /// The memory for transfers is in use. Nothing was started.
    #[error("too many transfers are running: try again in a moment")]
    Busy,
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}

impl Error {
    /// Returns the text for a client: the error without facts about the machine.
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
    /// The device has blocks or batches of size 0.
    #[error(
        "the device has blocks of {block_bytes} bytes and batches of {max_batch} blocks: both must be at least 1"
    )]
    Shape {
        /// The size of a block in bytes.
        block_bytes: usize,
        /// The largest number of blocks of a batch.
        max_batch: usize,
    },
    /// The catalogue has a format that this version does not know.
    #[error(
        "the catalogue has format {found}, but this version reads format {known}: open it with the version that wrote it"
    )]
    Format {
        /// The format of the catalogue.
        found: u32,
        /// The format of this version.
        known: u32,
    },
    /// The catalogue was written for blocks of another size.
    #[error(
        "the catalogue was written for blocks of {found} bytes, but the device has blocks of {block_bytes}"
    )]
    BlockBytes {
        /// The size of a block in bytes when the catalogue was created.
        found: u64,
        /// The size of a block of the device in bytes.
        block_bytes: u64,
    },
    /// A row of the catalogue is invalid.
    #[error(
        "the catalogue is corrupt: row {row} of {rows} ({kind}) {why}; restore the vault from its backup"
    )]
    Corrupt {
        /// The row's number, from 1, in the order of their keys.
        row: usize,
        /// The number of rows.
        rows: usize,
        /// The kind of the row.
        kind: &'static str,
        /// The fault of the row.
        why: &'static str,
    },
    /// The size classes are invalid.
    #[error(transparent)]
    Padding(#[from] PaddingError),
    /// The device refused or failed.
    #[error(transparent)]
    Device(#[from] DeviceError),
}
