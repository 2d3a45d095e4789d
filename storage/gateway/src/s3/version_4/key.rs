//! The key that signs the requests of a day in a region.

use base16ct::lower::encode_string as hex;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::Sha256;
use zeroize::Zeroizing;

/// A key derived from a secret, a day and a region, as in S3.
pub(in crate::s3) struct SigningKey(Zeroizing<[u8; 32]>);

impl SigningKey {
    /// Derives the key of a secret for a day (`20261122`) in a region.
    pub(in crate::s3) fn new(secret: &str, day: &str, region: &str) -> Self {
        let first = Zeroizing::new(format!("AWS4{secret}").into_bytes());
        let key = mac(&first, day.as_bytes());
        let parts = [region, "s3", "aws4_request"];
        SigningKey(parts.iter().fold(key, |key, part| mac(&*key, part.as_bytes())))
    }

    /// Returns the signature of a text, in hexadecimal digits.
    pub(in crate::s3) fn sign(&self, text: &[u8]) -> String {
        hex(&*mac(&*self.0, text))
    }
}

fn mac(key: &[u8], text: &[u8]) -> Zeroizing<[u8; 32]> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of any length");
    mac.update(text);
    Zeroizing::new(mac.finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_documentation_comes_out() {
        // AWS, "Authenticating Requests", the example of a GET: its string to sign and its signature.
        let secret = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";
        let text = "AWS4-HMAC-SHA256\n20130524T000000Z\n20130524/us-east-1/s3/aws4_request\n\
            7344ae5b7ee6c3e7e6b0fe0640412a37625d1fbfff95c48bbb2dc43964946972";
        let signature = SigningKey::new(secret, "20130524", "us-east-1").sign(text.as_bytes());
        assert_eq!(signature, "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41");
    }
}
