//! A signature that was found right, which the chunks of a body follow.

use super::key::SigningKey;

/// The signature of a request, and all that its chunks are signed with beside it.
pub(in crate::s3) struct Signed {
    pub(super) key: SigningKey,
    /// The moment of the signature as it is signed.
    pub(super) date: String,
    pub(super) scope: String,
    pub(super) signature: String,
}
