//! The ciphers of pages, and a region's key.

use crate::aead::Aead;
use crate::aead::terms::Algorithm;
use crate::cipher::{Forged, KEY_BYTES, NONCE_BYTES};
use crate::named_enum;
use aegis::aegis256x2::Aegis256X2;
use aegis::aegis256x4::Aegis256X4;
use chacha20::ChaCha20;
use chacha20::cipher::{KeyIvInit, StreamCipher};
use core::fmt;
use hkdf::Hkdf;
use hmac::{Hmac, KeyInit, Mac};
use rand_core::CryptoRng;
use sha2::Sha256;
use zeroize::{Zeroize, Zeroizing};

/// The longest tag of any cipher, in bytes.
pub const MAX_TAG_BYTES: usize = 32;

/// The number of bytes of an AEAD's tag.
const TAG_BYTES: usize = crate::cipher::TAG_BYTES;

/// The base-two logarithm of the most AES blocks that one GCM key encrypts or hashes.
const GCM_BLOCKS_LOG2: u32 = 48;

/// The choice of the cipher that seals the pages of a region. Public.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PageCipher {
    /// AES-256-GCM (NIST SP 800-38D), by ring, or by RustCrypto without the feature `native`.
    #[default]
    Aes256Gcm,
    /// ChaCha20 (RFC 8439), then HMAC-SHA256 (RFC 2104) over identity and sealed text, with independent keys: the
    /// pair of Chakravarty and Panda's Keystone pager, for comparison. A 32-byte tag. By RustCrypto.
    ChaCha20HmacSha256,
    /// AEGIS-256X2 with a 128-bit tag (RFC 10032): the fastest where AES instructions take 128 bits. By libaegis, or
    /// in Rust if there is no C compiler.
    Aegis256X2,
    /// AEGIS-256X4, of the same RFC and by the same libraries: the fastest where AES instructions take 256 or 512
    /// bits (VAES).
    Aegis256X4,
}

impl PageCipher {
    /// Every cipher.
    pub const ALL: [PageCipher; 4] = [
        PageCipher::Aes256Gcm,
        PageCipher::ChaCha20HmacSha256,
        PageCipher::Aegis256X2,
        PageCipher::Aegis256X4,
    ];

    /// Returns the name used on command lines and in tables.
    pub fn name(self) -> &'static str {
        match self {
            PageCipher::Aes256Gcm => "aes-256-gcm",
            PageCipher::ChaCha20HmacSha256 => "chacha20-hmac-sha256",
            PageCipher::Aegis256X2 => "aegis-256x2",
            PageCipher::Aegis256X4 => "aegis-256x4",
        }
    }

    /// Returns the bytes of its tag.
    pub fn tag_bytes(self) -> usize {
        match self {
            PageCipher::Aes256Gcm | PageCipher::Aegis256X2 | PageCipher::Aegis256X4 => TAG_BYTES,
            PageCipher::ChaCha20HmacSha256 => MAX_TAG_BYTES,
        }
    }

    /// Returns the most pages that one key seals; `None` if no bound is within reach.
    ///
    /// Nonces do not limit it: they are counted, not drawn. The block size limits AES-GCM: after σ blocks an adversary
    /// distinguishes it from randomness with an advantage of about σ²/2^129. Here this is at most 2^-33, for 2^48
    /// blocks or 4 PiB: 12 days at a page of 4 KiB every microsecond. ChaCha20, HMAC-SHA256 and AEGIS have no such
    /// bound below 2^64 pages.
    pub fn max_pages(self, page_bytes: usize) -> Option<u64> {
        match self {
            // One more block each for the identity, for the lengths and for the mask of the tag.
            PageCipher::Aes256Gcm => Some((1 << GCM_BLOCKS_LOG2) / (page_bytes.div_ceil(16) as u64 + 3)),
            PageCipher::ChaCha20HmacSha256 | PageCipher::Aegis256X2 | PageCipher::Aegis256X4 => None,
        }
    }
}

named_enum! {
    PageCipher,
    /// The error of a name that is not a cipher of pages.
    UnknownPageCipher,
    "unknown page cipher; choose aes-256-gcm, chacha20-hmac-sha256, aegis-256x2 or aegis-256x4"
}

/// The identity of a sealed page within its region: its slot, and the version of the slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct PageId {
    /// The number of the slot in the region.
    pub slot: u32,
    /// The version, from 1.
    pub version: u64,
}

impl PageId {
    /// Returns slot and version, big-endian: the nonce, and the bytes that are authenticated with the text.
    fn bytes(self) -> [u8; NONCE_BYTES] {
        let mut bytes = [0; NONCE_BYTES];
        bytes[..4].copy_from_slice(&self.slot.to_be_bytes());
        bytes[4..].copy_from_slice(&self.version.to_be_bytes());
        bytes
    }
}

/// The key of one region, expanded once. Neither `seal` nor `open` allocates.
///
/// # Why no nonce repeats
/// A nonce is slot and version, 32 and 64 bits. Within a region the versions of a slot only grow
/// ([`Versions`](super::Versions) gives none twice, and refuses when they run out). Each region has a key of its own:
/// 256 random bits, kept in private memory only, never stored, and dropped with the region. A key cannot be cloned, and
/// a region takes it by value. This does not cover a copy of the process, by `fork` or by a snapshot of a virtual
/// machine. Only one of the copies may seal.
///
/// Keys are wiped when dropped, except those of ring, which keeps its expanded keys private and does not wipe them.
pub struct PageKey {
    cipher: PageCipher,
    inner: Inner,
}

#[allow(
    clippy::large_enum_variant,
    reason = "a region has one of them, and a pointer would cost every page a look-up"
)]
enum Inner {
    Aes256Gcm(Aead),
    ChaCha20HmacSha256 { cipher: Zeroizing<[u8; KEY_BYTES]>, mac: Hmac<Sha256> },
    Aegis256X2(Zeroizing<[u8; KEY_BYTES]>),
    Aegis256X4(Zeroizing<[u8; KEY_BYTES]>),
}

impl PageKey {
    /// Draws the key of a region.
    pub fn draw<R: CryptoRng + ?Sized>(cipher: PageCipher, rng: &mut R) -> Self {
        let [key] = Self::draw_shared(cipher, rng);
        key
    }

    /// Draws the key of one region for several processes that seal its pages, under versions that one of them gives.
    pub fn draw_shared<R: CryptoRng + ?Sized, const N: usize>(cipher: PageCipher, rng: &mut R) -> [Self; N] {
        let mut secret = Zeroizing::new([0; KEY_BYTES]);
        rng.fill_bytes(&mut *secret);
        core::array::from_fn(|_| PageKey::expand(cipher, &secret))
    }

    /// Expands a key of its own for each primitive, by HKDF-SHA256 (RFC 5869).
    fn expand(cipher: PageCipher, secret: &[u8; KEY_BYTES]) -> Self {
        let hkdf = Hkdf::<Sha256>::new(None, secret);
        let derive = |part: &str| {
            let mut key = Zeroizing::new([0; KEY_BYTES]);
            hkdf.expand_multi_info(
                &[b"ameles/1/page/", cipher.name().as_bytes(), part.as_bytes()],
                &mut *key,
            )
            .expect("32 bytes are within HKDF's limit");
            key
        };
        let inner = match cipher {
            PageCipher::Aes256Gcm => Inner::Aes256Gcm(Aead::new(Algorithm::Aes256Gcm, &derive("/aead"))),
            PageCipher::ChaCha20HmacSha256 => Inner::ChaCha20HmacSha256 {
                cipher: derive("/cipher"),
                mac: Hmac::new_from_slice(&*derive("/mac")).expect("HMAC takes keys of any length"),
            },
            PageCipher::Aegis256X2 => Inner::Aegis256X2(derive("/aead")),
            PageCipher::Aegis256X4 => Inner::Aegis256X4(derive("/aead")),
        };
        let key = PageKey { cipher, inner };
        // Libraries detect the instructions of the processor at their first use: here, and not in a fault.
        key.seal(PageId { slot: 0, version: 0 }, &mut [0], &mut [0; MAX_TAG_BYTES][..cipher.tag_bytes()]);
        key
    }

    /// Returns the cipher of the key.
    pub fn cipher(&self) -> PageCipher {
        self.cipher
    }

    /// Encrypts `text` in place and fills `tag`, which is exactly [`PageCipher::tag_bytes`] long.
    ///
    /// The caller never uses one identity for two different texts under one key. Version 0 is never sealed.
    ///
    /// # Panics
    /// If `tag` has another length.
    pub fn seal(&self, id: PageId, text: &mut [u8], tag: &mut [u8]) {
        let id = id.bytes();
        match &self.inner {
            Inner::Aes256Gcm(key) => tag.copy_from_slice(&key.seal(&id, &id, text)),
            Inner::ChaCha20HmacSha256 { cipher, mac } => {
                ChaCha20::new((&**cipher).into(), (&id).into()).apply_keystream(text);
                tag.copy_from_slice(&authenticate(mac, &id, text).finalize().into_bytes());
            }
            Inner::Aegis256X2(key) => {
                let cipher = Aegis256X2::<TAG_BYTES>::new(key, &widen(&id));
                tag.copy_from_slice(&cipher.encrypt_in_place(text, &id));
            }
            Inner::Aegis256X4(key) => {
                let cipher = Aegis256X4::<TAG_BYTES>::new(key, &widen(&id));
                tag.copy_from_slice(&cipher.encrypt_in_place(text, &id));
            }
        }
    }

    /// Checks the tag and decrypts `text` in place.
    ///
    /// # Errors
    /// [`Forged`]; in this case `text` is wiped.
    ///
    /// # Panics
    /// If `tag` is not exactly [`PageCipher::tag_bytes`] long.
    pub fn open(&self, id: PageId, text: &mut [u8], tag: &[u8]) -> Result<(), Forged> {
        let id = id.bytes();
        let opened = match &self.inner {
            Inner::Aes256Gcm(key) => key.open(&id, &id, text, short(tag)),
            Inner::ChaCha20HmacSha256 { cipher, mac } => {
                assert!(tag.len() == MAX_TAG_BYTES, "the tag is as long as its cipher says");
                let authentic = authenticate(mac, &id, text).verify_slice(tag);
                if authentic.is_ok() {
                    ChaCha20::new((&**cipher).into(), (&id).into()).apply_keystream(text);
                }
                authentic.map_err(|_| Forged)
            }
            Inner::Aegis256X2(key) => Aegis256X2::<TAG_BYTES>::new(key, &widen(&id))
                .decrypt_in_place(text, short(tag), &id)
                .map_err(|_| Forged),
            Inner::Aegis256X4(key) => Aegis256X4::<TAG_BYTES>::new(key, &widen(&id))
                .decrypt_in_place(text, short(tag), &id)
                .map_err(|_| Forged),
        };
        if opened.is_err() {
            text.zeroize();
        }
        opened
    }
}

impl fmt::Debug for PageKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PageKey").field("cipher", &self.cipher).finish_non_exhaustive()
    }
}

/// Returns the MAC of the identity, which has a fixed length, and the sealed text.
fn authenticate(mac: &Hmac<Sha256>, id: &[u8; NONCE_BYTES], sealed: &[u8]) -> Hmac<Sha256> {
    mac.clone().chain_update(id).chain_update(sealed)
}

fn short(tag: &[u8]) -> &[u8; TAG_BYTES] {
    tag.try_into().expect("the tag is as long as its cipher says")
}

fn widen(id: &[u8; NONCE_BYTES]) -> [u8; 32] {
    let mut wide = [0; 32];
    wide[..NONCE_BYTES].copy_from_slice(id);
    wide
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;
    use alloc::vec::Vec;

    const ID: PageId = PageId { slot: 7, version: 9 };

    fn sealed(key: &PageKey, id: PageId, text: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let mut sealed = text.to_vec();
        let mut tag = vec![0; key.cipher().tag_bytes()];
        key.seal(id, &mut sealed, &mut tag);
        (sealed, tag)
    }

    #[test]
    fn an_identity_is_its_slot_and_then_its_version() {
        let id = PageId { slot: 0x1112_1314, version: 0x2122_2324_2526_2728 };
        assert_eq!(&id.bytes(), b"\x11\x12\x13\x14\x21\x22\x23\x24\x25\x26\x27\x28");
    }

    #[test]
    fn a_page_opens_under_its_own_identity_and_key_only_and_is_wiped_otherwise() {
        for cipher in PageCipher::ALL {
            let key = PageKey::expand(cipher, &[1; 32]);
            let text = [0x5a; 100];
            let (page, tag) = sealed(&key, ID, &text);
            assert_ne!(page, text);
            let open = |key: &PageKey, id| {
                let mut page = page.clone();
                key.open(id, &mut page, &tag).map(|()| page.clone()).map_err(|_| page)
            };
            assert_eq!(open(&key, ID).unwrap(), text);
            for id in [PageId { slot: 8, ..ID }, PageId { version: 10, ..ID }, PageId { version: 8, ..ID }] {
                assert_eq!(open(&key, id).unwrap_err(), [0; 100]);
            }
            assert_eq!(open(&PageKey::expand(cipher, &[2; 32]), ID).unwrap_err(), [0; 100]);
        }
    }

    /// Holds all libraries to the same bytes when it runs with and without the features `native` and `pure-rust`.
    #[test]
    fn the_bytes_are_those_of_format_1_whichever_library_seals() {
        let text: Vec<u8> = (0..1000u32).map(|i| (i * i) as u8).collect();
        let expected = [
            (PageCipher::Aes256Gcm, "03321fada1c374be", "49fdef1e4746f11a58df185869d3c264"),
            (
                PageCipher::ChaCha20HmacSha256,
                "83ba9e61b4812dfe",
                "dbd9385d665b857ac3968f43dd8886bc09f587e82f2f9d1e9eb0e593e14d0559",
            ),
            (PageCipher::Aegis256X2, "272185a18fc059e2", "818e4b859f6611080d57bba432895e8e"),
            (PageCipher::Aegis256X4, "a383f63cb5036a9d", "de4fa6bc94a76ac31401fe03b1917cc8"),
        ];
        for (cipher, end, tag) in expected {
            let page = sealed(&PageKey::expand(cipher, &[1; 32]), ID, &text);
            let hex = |bytes: &[u8]| base16ct::lower::encode_string(bytes);
            assert_eq!((&*hex(&page.0[992..]), &*hex(&page.1)), (end, tag), "{cipher}");
        }
    }

    #[test]
    fn the_papers_pair_is_encrypt_then_mac_with_unrelated_keys() {
        let secret = [3; 32];
        let key = PageKey::expand(PageCipher::ChaCha20HmacSha256, &secret);
        let text = [9; 50];
        let (page, tag) = sealed(&key, ID, &text);

        // The same with ring: another HKDF, another HMAC.
        let prk = ring::hkdf::Salt::new(ring::hkdf::HKDF_SHA256, &[]).extract(&secret);
        let part = |part: &'static str| {
            let mut bytes = [0; 32];
            let info = [b"ameles/1/page/chacha20-hmac-sha256".as_slice(), part.as_bytes()];
            prk.expand(&info, ring::hkdf::HKDF_SHA256).unwrap().fill(&mut bytes).unwrap();
            bytes
        };
        let mac = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &part("/mac"));
        let signed = [ID.bytes().as_slice(), &page].concat();
        assert_eq!(tag, ring::hmac::sign(&mac, &signed).as_ref());
        let mut stream = [0; 50];
        ChaCha20::new(&part("/cipher").into(), &ID.bytes().into()).apply_keystream(&mut stream);
        let plain: Vec<u8> = page.iter().zip(stream).map(|(sealed, key)| sealed ^ key).collect();
        assert_eq!(plain, text);
    }

    #[test]
    fn ciphers_are_found_by_their_names() {
        for cipher in PageCipher::ALL {
            assert_eq!(cipher.name().to_uppercase().parse(), Ok(cipher));
        }
        assert_eq!("des".parse::<PageCipher>(), Err(UnknownPageCipher));
    }

    #[test]
    fn aes_gcm_stops_before_two_to_the_48_blocks_and_the_others_have_no_bound() {
        let max = PageCipher::Aes256Gcm.max_pages(4096).unwrap();
        assert!(max * 259 <= 1 << 48 && (max + 1) * 259 > 1 << 48);
        assert_eq!(PageCipher::ChaCha20HmacSha256.max_pages(4096), None);
        assert_eq!(PageCipher::Aegis256X2.max_pages(4096), None);
        assert_eq!(PageCipher::Aegis256X4.max_pages(4096), None);
    }
}
