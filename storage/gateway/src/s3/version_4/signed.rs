//! A signature that was found right, and those of the chunks of a body, each of which covers the one before.

use super::key::SigningKey;
use super::payload_error::PayloadError;
use subtle::ConstantTimeEq;

/// The signature of a request or of the chunk that was looked at last, and all that the next one is made with.
pub(in crate::s3) struct Signed {
    pub(super) key: SigningKey,
    /// The moment of the signature as it is signed.
    pub(super) date: String,
    pub(super) scope: String,
    pub(super) signature: String,
}

impl Signed {
    /// Compares the next signature: of a chunk (`PAYLOAD`) or of the trailer, over these digests.
    pub(super) fn check_next(
        &mut self,
        kind: &str,
        digests: &str,
        signature: &[u8],
    ) -> Result<(), PayloadError> {
        let Signed { key, date, scope, signature: previous } = self;
        let text = format!("AWS4-HMAC-SHA256-{kind}\n{date}\n{scope}\n{previous}\n{digests}");
        let expected = key.sign(text.as_bytes());
        if !bool::from(expected.as_bytes().ct_eq(signature)) {
            return Err(PayloadError::Signature);
        }
        self.signature = expected;
        Ok(())
    }
}
