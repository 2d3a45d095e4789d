//! The names of uploads in parts.

/// The name of a multipart upload: random, and unique in a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct UploadId(pub [u8; 16]);
