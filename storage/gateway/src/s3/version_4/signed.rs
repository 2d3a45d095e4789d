//! A verified signature, and those of the chunks of a body, each of which covers the previous one.

use super::key::SigningKey;
use super::payload_error::PayloadError;
use subtle::ConstantTimeEq;

/// The last verified signature, of the request or a chunk, and everything that the next one is computed from.
pub(in crate::s3) struct Signed {
    pub(super) key: SigningKey,
    /// The time of the signature in its signed form.
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
