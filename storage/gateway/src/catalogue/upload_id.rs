//! The names of uploads in parts.

use minicbor::{Decode, Encode};

/// The name of a multipart upload: random, and unique in a gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Encode, Decode)]
#[cbor(transparent)]
pub struct UploadId(#[cbor(n(0), with = "minicbor::bytes")] pub [u8; 16]);
