//! Signatures of temporary URLs and forms: an HMAC with a key that the owner has set.

use base64::Engine as _;
use base64::alphabet;
use base64::engine::DecodePaddingMode;
use base64::engine::general_purpose::{GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Sha256, Sha512};

/// The digests that `/info` lists.
pub(super) const DIGESTS: [&str; 3] = ["sha1", "sha256", "sha512"];

const BASE64: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// A parsed signature.
pub(super) struct Signature {
    digest: Digest,
    bytes: Vec<u8>,
}

#[derive(Clone, Copy)]
enum Digest {
    Sha1,
    Sha256,
    Sha512,
}

impl Signature {
    /// Parses hexadecimal digits, whose number determines the digest, or `sha256:` and base64.
    pub(super) fn parse(text: &str) -> Option<Signature> {
        if let Some((digest, encoded)) = text.split_once(':') {
            let digest = match digest {
                "sha1" => Digest::Sha1,
                "sha256" => Digest::Sha256,
                "sha512" => Digest::Sha512,
                _ => return None,
            };
            // Clients use both alphabets of base64.
            let encoded = encoded.replace('-', "+").replace('_', "/");
            return Some(Signature { digest, bytes: BASE64.decode(encoded).ok()? });
        }
        let digest = match text.len() {
            40 => Digest::Sha1,
            64 => Digest::Sha256,
            128 => Digest::Sha512,
            _ => return None,
        };
        Some(Signature { digest, bytes: base16ct::mixed::decode_vec(text).ok()? })
    }

    /// Returns whether this is the signature of a text with this key. Compares in constant time.
    pub(super) fn verifies(&self, key: &str, signed: &str) -> bool {
        match self.digest {
            Digest::Sha1 => verify::<Hmac<Sha1>>(key, signed, &self.bytes),
            Digest::Sha256 => verify::<Hmac<Sha256>>(key, signed, &self.bytes),
            Digest::Sha512 => verify::<Hmac<Sha512>>(key, signed, &self.bytes),
        }
    }
}

fn verify<M: Mac + KeyInit>(key: &str, signed: &str, given: &[u8]) -> bool {
    let Ok(mac) = <M as KeyInit>::new_from_slice(key.as_bytes()) else { return false };
    mac.chain_update(signed.as_bytes()).verify_slice(given).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The key `Jefe` and its text, from RFC 2202 and RFC 4231.
    const SIGNED: &str = "what do ya want for nothing?";
    const SHA1: &str = "effcdf6ae5eb2fa2d27416d5f184df9c259a7c79";
    const SHA256: &str = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843";
    const SHA512: &str = "164b7a7bfcf819e2e395fbe73b56e0a387bd64222e831fd610270cd7ea2505549758bf75c05a994a6d034f65f8f0e6fd\
                          caeab1a34d4a6b4b636e070a38bce737";

    #[test]
    fn the_vectors_of_the_rfcs_come_out() {
        for text in [SHA1, SHA256, SHA512] {
            let signature = Signature::parse(text).unwrap();
            assert!(signature.verifies("Jefe", SIGNED));
            assert!(!signature.verifies("Jefe", "what do ya want for something?"));
            assert!(!signature.verifies("jefe", SIGNED));
        }
    }

    #[test]
    fn base64_in_both_alphabets_is_a_signature_too() {
        for text in [
            "sha1:7/zfauXrL6LSdBbV8YTfnCWafHk=",
            "sha1:7_zfauXrL6LSdBbV8YTfnCWafHk",
            "sha256:W9zBRr9gdU5qBCQmCJV1x1oAPwidJzmDnexYuWTsOEM=",
        ] {
            assert!(Signature::parse(text).unwrap().verifies("Jefe", SIGNED), "{text}");
        }
    }

    #[test]
    fn a_tampered_signature_fits_nothing() {
        let mut text = SHA256.to_owned();
        text.replace_range(0..1, "6");
        assert!(!Signature::parse(&text).unwrap().verifies("Jefe", SIGNED));
        for bad in ["", "5b", &SHA256[1..], "md5:AAAA", "sha256:!", &"z".repeat(64)] {
            assert!(Signature::parse(bad).is_none(), "{bad}");
        }
        // A prefix of the signature does not verify.
        assert!(!Signature::parse("sha256:Ww==").unwrap().verifies("Jefe", SIGNED));
        assert!(!Signature::parse("sha256:").unwrap().verifies("Jefe", SIGNED));
    }
}
