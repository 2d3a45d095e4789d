//! AES-256-GCM and ChaCha20-Poly1305, by ring or, for targets without a C compiler, by RustCrypto. Both give the same
//! bytes.

#[cfg(feature = "native")]
mod native;
#[cfg(any(test, not(feature = "native")))]
mod portable;
pub(crate) mod terms;

#[cfg(feature = "native")]
pub(crate) use native::Aead;
#[cfg(not(feature = "native"))]
pub(crate) use portable::Aead;

#[cfg(all(test, feature = "native"))]
mod tests {
    use super::terms::Algorithm;
    use super::{native, portable};
    use proptest::prelude::*;

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..Default::default() })]
        #[test]
        fn ring_and_rustcrypto_seal_to_the_same_bytes_and_open_each_others(
            key: [u8; 32],
            nonce: [u8; 12],
            associated in proptest::collection::vec(any::<u8>(), 0..40),
            text in proptest::collection::vec(any::<u8>(), 0..5000),
        ) {
            for algorithm in [Algorithm::Aes256Gcm, Algorithm::ChaCha20Poly1305] {
                let native = native::Aead::new(algorithm, &key);
                let portable = portable::Aead::new(algorithm, &key);
                let (mut one, mut other) = (text.clone(), text.clone());
                let tag = native.seal(&nonce, &associated, &mut one);
                prop_assert_eq!(tag, portable.seal(&nonce, &associated, &mut other));
                prop_assert_eq!(&one, &other);
                native.open(&nonce, &associated, &mut one, &tag).unwrap();
                portable.open(&nonce, &associated, &mut other, &tag).unwrap();
                prop_assert_eq!(&one, &text);
                prop_assert_eq!(&other, &text);
                let mut forged = tag;
                forged[7] ^= 1;
                native.seal(&nonce, &associated, &mut one);
                other.copy_from_slice(&one);
                prop_assert!(native.open(&nonce, &associated, &mut one, &forged).is_err());
                prop_assert!(portable.open(&nonce, &associated, &mut other, &forged).is_err());
            }
        }
    }
}
