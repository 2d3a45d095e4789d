//! The parts of the supported documents, as in S3's reference.

/// An element, and how often it may occur in its parent.
#[derive(Debug)]
pub(super) struct Part {
    pub(super) name: &'static str,
    pub(super) count: Count,
    pub(super) content: Content,
}

/// The number of times that a part may occur.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Count {
    One,
    AtMostOne,
    Any,
    /// S3 supports the part and this gateway does not, so it is refused by name.
    NotImplemented,
}

/// The content of an element.
#[derive(Debug)]
pub(super) enum Content {
    /// Any text, spaces included.
    Text,
    /// Text that is not empty.
    Name,
    /// A decimal number, with or without spaces around it.
    Integer,
    /// `true` or `false`, with or without spaces around it.
    Boolean,
    /// A time, with or without spaces around it.
    Date,
    /// Elements, with only spaces between them.
    Parts(&'static [Part]),
}

use Content::{Boolean, Date, Integer, Name, Parts, Text};

const fn required(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::One, content }
}

const fn optional(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::AtMostOne, content }
}

const fn repeated(name: &'static str, content: Content) -> Part {
    Part { name, count: Count::Any, content }
}

const fn not_implemented(name: &'static str) -> Part {
    Part { name, count: Count::NotImplemented, content: Text }
}

const TAG: &[Part] = &[required("Key", Text), required("Value", Text)];

const OWNER: &[Part] = &[optional("ID", Text), optional("DisplayName", Text)];

const GRANTEE: &[Part] = &[
    optional("ID", Text),
    optional("DisplayName", Text),
    optional("EmailAddress", Text),
    optional("URI", Text),
];

const GRANT: &[Part] = &[required("Grantee", Parts(GRANTEE)), required("Permission", Text)];

const COMPLETED_PART: &[Part] = &[
    optional("PartNumber", Integer),
    optional("ETag", Text),
    optional("ChecksumCRC32", Text),
    optional("ChecksumCRC32C", Text),
    optional("ChecksumCRC64NVME", Text),
    optional("ChecksumSHA1", Text),
    optional("ChecksumSHA256", Text),
    not_implemented("ChecksumMD5"),
    not_implemented("ChecksumSHA512"),
    not_implemented("ChecksumXXHASH3"),
    not_implemented("ChecksumXXHASH64"),
    not_implemented("ChecksumXXHASH128"),
];

const OBJECT: &[Part] = &[
    required("Key", Name),
    optional("VersionId", Text),
    optional("ETag", Text),
    optional("LastModifiedTime", Date),
    optional("Size", Integer),
];

const CORS_RULE: &[Part] = &[
    optional("ID", Text),
    repeated("AllowedHeader", Text),
    repeated("AllowedMethod", Text),
    repeated("AllowedOrigin", Name),
    repeated("ExposeHeader", Text),
    optional("MaxAgeSeconds", Integer),
];

const CONDITIONS: &[Part] = &[
    optional("Prefix", Text),
    repeated("Tag", Parts(TAG)),
    optional("ObjectSizeGreaterThan", Integer),
    optional("ObjectSizeLessThan", Integer),
];

const FILTER: &[Part] = &[
    optional("And", Parts(CONDITIONS)),
    optional("Prefix", Text),
    optional("Tag", Parts(TAG)),
    optional("ObjectSizeGreaterThan", Integer),
    optional("ObjectSizeLessThan", Integer),
];

const EXPIRATION: &[Part] =
    &[optional("Date", Date), optional("Days", Integer), optional("ExpiredObjectDeleteMarker", Boolean)];

const TRANSITION: &[Part] =
    &[optional("Date", Date), optional("Days", Integer), optional("StorageClass", Text)];

const OLD_TRANSITION: &[Part] = &[
    optional("NoncurrentDays", Integer),
    optional("NewerNoncurrentVersions", Integer),
    optional("StorageClass", Text),
];

const OLD_EXPIRATION: &[Part] =
    &[optional("NoncurrentDays", Integer), optional("NewerNoncurrentVersions", Integer)];

const LIFECYCLE_RULE: &[Part] = &[
    optional("ID", Text),
    optional("Prefix", Text),
    optional("Filter", Parts(FILTER)),
    required("Status", Text),
    optional("Expiration", Parts(EXPIRATION)),
    repeated("Transition", Parts(TRANSITION)),
    repeated("NoncurrentVersionTransition", Parts(OLD_TRANSITION)),
    optional("NoncurrentVersionExpiration", Parts(OLD_EXPIRATION)),
    optional("AbortIncompleteMultipartUpload", Parts(&[optional("DaysAfterInitiation", Integer)])),
];

const BY_DEFAULT: &[Part] = &[required("SSEAlgorithm", Text), optional("KMSMasterKeyID", Text)];

const ENCRYPTION_RULE: &[Part] = &[
    required("ApplyServerSideEncryptionByDefault", Parts(BY_DEFAULT)),
    optional("BucketKeyEnabled", Boolean),
    not_implemented("BlockedEncryptionTypes"),
];

/// `ExcludedPrefixes` and `ExcludeFolders` are MinIO's.
const VERSIONING: &[Part] = &[
    optional("Status", Text),
    optional("MfaDelete", Text),
    not_implemented("ExcludedPrefixes"),
    not_implemented("ExcludeFolders"),
];

const CREATE_BUCKET: &[Part] = &[
    optional("LocationConstraint", Text),
    not_implemented("Location"),
    not_implemented("Bucket"),
    not_implemented("Tags"),
];

/// The supported documents, by the names of their roots.
pub(super) const DOCUMENTS: &[Part] = &[
    required(
        "AccessControlPolicy",
        Parts(&[
            optional("Owner", Parts(OWNER)),
            required("AccessControlList", Parts(&[repeated("Grant", Parts(GRANT))])),
        ]),
    ),
    required("CORSConfiguration", Parts(&[repeated("CORSRule", Parts(CORS_RULE))])),
    required("CompleteMultipartUpload", Parts(&[repeated("Part", Parts(COMPLETED_PART))])),
    required("CreateBucketConfiguration", Parts(CREATE_BUCKET)),
    required("Delete", Parts(&[optional("Quiet", Boolean), repeated("Object", Parts(OBJECT))])),
    required("LifecycleConfiguration", Parts(&[repeated("Rule", Parts(LIFECYCLE_RULE))])),
    required("OwnershipControls", Parts(&[repeated("Rule", Parts(&[required("ObjectOwnership", Text)]))])),
    required("ServerSideEncryptionConfiguration", Parts(&[repeated("Rule", Parts(ENCRYPTION_RULE))])),
    required("Tagging", Parts(&[required("TagSet", Parts(&[repeated("Tag", Parts(TAG))]))])),
    required("VersioningConfiguration", Parts(VERSIONING)),
];
