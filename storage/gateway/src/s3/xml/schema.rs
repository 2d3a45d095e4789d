//! The parts of the documents that the gateway takes, as S3's reference has them.

/// An element by its name, and how often it stands in its parent.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) count: Count,
    pub(super) content: Content,
}

/// The number of times that a part may be there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    AtMostOne,
    Any,
    /// S3 has the part and this gateway does not, so that it is refused by name.
    NotImplemented,
}

/// The content of an element.
#[derive(Debug)]
pub(super) enum Content {
    /// Text to the letter, spaces included.
    Text,
    /// Text that is not empty.
    Name,
    /// A decimal number, with or without spaces around it.
    Integer,
    /// `true` or `false`, with or without spaces around it.
    Boolean,
    /// A moment, with or without spaces around it.
    Date,
    /// Elements, and no text but spaces between them.
    Parts(&'static [Part]),
}

use Content::{Boolean, Date, Integer, Name, Parts, Text};

const fn one(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::One, content }
}

const fn maybe(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::AtMostOne, content }
}

const fn any(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::Any, content }
}

const fn not_here(name: &'static str) -> Part {
    Part { name, count: Count::NotImplemented, content: Text }
}

const TAG: &[Part] = &[one("Key", Text), one("Value", Text)];

const OWNER: &[Part] = &[maybe("ID", Text), maybe("DisplayName", Text)];

const GRANTEE: &[Part] =
    &[maybe("ID", Text), maybe("DisplayName", Text), maybe("EmailAddress", Text), maybe("URI", Text)];

const GRANT: &[Part] = &[one("Grantee", Parts(GRANTEE)), one("Permission", Text)];

const COMPLETED_PART: &[Part] = &[
    maybe("PartNumber", Integer),
    maybe("ETag", Text),
    maybe("ChecksumCRC32", Text),
    maybe("ChecksumCRC32C", Text),
    maybe("ChecksumCRC64NVME", Text),
    maybe("ChecksumSHA1", Text),
    maybe("ChecksumSHA256", Text),
    not_here("ChecksumMD5"),
    not_here("ChecksumSHA512"),
    not_here("ChecksumXXHASH3"),
    not_here("ChecksumXXHASH64"),
    not_here("ChecksumXXHASH128"),
];

const OBJECT: &[Part] = &[
    one("Key", Name),
    maybe("VersionId", Text),
    maybe("ETag", Text),
    maybe("LastModifiedTime", Date),
    maybe("Size", Integer),
];

const CORS_RULE: &[Part] = &[
    maybe("ID", Text),
    any("AllowedHeader", Text),
    any("AllowedMethod", Text),
    any("AllowedOrigin", Name),
    any("ExposeHeader", Text),
    maybe("MaxAgeSeconds", Integer),
];

const CONDITIONS: &[Part] = &[
    maybe("Prefix", Text),
    any("Tag", Parts(TAG)),
    maybe("ObjectSizeGreaterThan", Integer),
    maybe("ObjectSizeLessThan", Integer),
];

const FILTER: &[Part] = &[
    maybe("And", Parts(CONDITIONS)),
    maybe("Prefix", Text),
    maybe("Tag", Parts(TAG)),
    maybe("ObjectSizeGreaterThan", Integer),
    maybe("ObjectSizeLessThan", Integer),
];

const EXPIRATION: &[Part] =
    &[maybe("Date", Date), maybe("Days", Integer), maybe("ExpiredObjectDeleteMarker", Boolean)];

const TRANSITION: &[Part] = &[maybe("Date", Date), maybe("Days", Integer), maybe("StorageClass", Text)];

const OLD_TRANSITION: &[Part] = &[
    maybe("NoncurrentDays", Integer),
    maybe("NewerNoncurrentVersions", Integer),
    maybe("StorageClass", Text),
];

const OLD_EXPIRATION: &[Part] =
    &[maybe("NoncurrentDays", Integer), maybe("NewerNoncurrentVersions", Integer)];

const LIFECYCLE_RULE: &[Part] = &[
    maybe("ID", Text),
    maybe("Prefix", Text),
    maybe("Filter", Parts(FILTER)),
    one("Status", Text),
    maybe("Expiration", Parts(EXPIRATION)),
    any("Transition", Parts(TRANSITION)),
    any("NoncurrentVersionTransition", Parts(OLD_TRANSITION)),
    maybe("NoncurrentVersionExpiration", Parts(OLD_EXPIRATION)),
    maybe("AbortIncompleteMultipartUpload", Parts(&[maybe("DaysAfterInitiation", Integer)])),
];

const BY_DEFAULT: &[Part] = &[one("SSEAlgorithm", Text), maybe("KMSMasterKeyID", Text)];

const ENCRYPTION_RULE: &[Part] = &[
    one("ApplyServerSideEncryptionByDefault", Parts(BY_DEFAULT)),
    maybe("BucketKeyEnabled", Boolean),
    not_here("BlockedEncryptionTypes"),
];

/// `ExcludedPrefixes` and `ExcludeFolders` are MinIO's.
const VERSIONING: &[Part] = &[
    maybe("Status", Text),
    maybe("MfaDelete", Text),
    not_here("ExcludedPrefixes"),
    not_here("ExcludeFolders"),
];

const CREATE_BUCKET: &[Part] =
    &[maybe("LocationConstraint", Text), not_here("Location"), not_here("Bucket"), not_here("Tags")];

/// The documents that verbs of this gateway read, by the names of their roots.
pub(super) const DOCUMENTS: &[Part] = &[
    one(
        "AccessControlPolicy",
        Parts(&[
            maybe("Owner", Parts(OWNER)),
            one("AccessControlList", Parts(&[any("Grant", Parts(GRANT))])),
        ]),
    ),
    one("CORSConfiguration", Parts(&[any("CORSRule", Parts(CORS_RULE))])),
    one("CompleteMultipartUpload", Parts(&[any("Part", Parts(COMPLETED_PART))])),
    one("CreateBucketConfiguration", Parts(CREATE_BUCKET)),
    one("Delete", Parts(&[maybe("Quiet", Boolean), any("Object", Parts(OBJECT))])),
    one("LifecycleConfiguration", Parts(&[any("Rule", Parts(LIFECYCLE_RULE))])),
    one("OwnershipControls", Parts(&[any("Rule", Parts(&[one("ObjectOwnership", Text)]))])),
    one("ServerSideEncryptionConfiguration", Parts(&[any("Rule", Parts(ENCRYPTION_RULE))])),
    one("Tagging", Parts(&[one("TagSet", Parts(&[any("Tag", Parts(TAG))]))])),
    one("VersioningConfiguration", Parts(VERSIONING)),
];
