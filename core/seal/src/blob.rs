//! Sealing of whole byte strings: checkpoints, rows, headers.
//!
//! A blob is a header (magic, format, cipher, salt) and chunks. Each chunk is sealed with its number and a flag for the
//! last one. So chunks cannot be dropped, added or reordered. The key is fresh for every blob. It is derived from the
//! master key, the purpose, the salt, the rest of the header and the blob's name. A blob does not open under another
//! name.
//!
//! A blob's length reveals its text's length. A caller that has to hide the length pads the text.

use crate::cipher::{Cipher, CipherKey, NONCE_BYTES, TAG_BYTES};
use crate::derive::{Purpose, Salt, derive};
use crate::master_key::MasterKey;
use alloc::vec::Vec;

/// The newest format of blobs.
pub const FORMAT: u16 = 1;

const MAGIC: [u8; 4] = *b"AMLB";
/// Magic, format, cipher, a zero: everything but the salt.
const FIXED_BYTES: usize = 8;
const HEADER_BYTES: usize = FIXED_BYTES + 32;
const CHUNK_BYTES: usize = 256 << 10;

/// The reason why a blob could not be opened.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BlobError {
    /// The bytes do not begin like a blob.
    #[error("this is not a sealed blob of ameles")]
    NotABlob,
    /// The blob's format is unknown to this version.
    #[error("the sealed blob has format {found}; this version reads up to {FORMAT}: use a newer ameles")]
    NewerFormat {
        /// The format of the blob.
        found: u16,
    },
    /// The blob names an unknown cipher.
    #[error("the sealed blob names the unknown cipher {found}")]
    UnknownCipher {
        /// The number of the cipher.
        found: u8,
    },
    /// The bytes are not what was sealed under this name with this master key.
    #[error(
        "chunk {chunk} of the sealed blob was forged or cut short, or the master key or the name is wrong"
    )]
    Forged {
        /// The first chunk that does not open, from 0.
        chunk: u64,
    },
}

/// Returns the number of bytes of a blob whose text has `text_bytes`.
pub fn sealed_bytes(text_bytes: usize) -> usize {
    HEADER_BYTES + text_bytes + TAG_BYTES * text_bytes.div_ceil(CHUNK_BYTES).max(1)
}

/// Returns the number of bytes of the text of a blob that has `sealed_bytes`.
pub fn text_bytes(sealed_bytes: usize) -> usize {
    let chunks = sealed_bytes.saturating_sub(HEADER_BYTES);
    chunks.saturating_sub(TAG_BYTES * chunks.div_ceil(CHUNK_BYTES + TAG_BYTES).max(1))
}

/// Seals `text` under a purpose and a name.
///
/// `salt` is drawn for this blob only: it makes the key fresh.
///
/// # Panics
/// If the text is 256 GiB or longer, the most that one key may seal.
pub fn seal(
    master: &MasterKey,
    purpose: Purpose,
    name: &[u8],
    cipher: Cipher,
    salt: Salt,
    text: &[u8],
) -> Vec<u8> {
    assert!((text.len() as u64) < 1 << 38, "a blob is shorter than 256 GiB");
    let mut fixed = [0; FIXED_BYTES];
    fixed[..4].copy_from_slice(&MAGIC);
    fixed[4..6].copy_from_slice(&FORMAT.to_be_bytes());
    fixed[6] = cipher.number();
    let key = blob_key(master, purpose, name, cipher, &salt, &fixed);

    let mut blob = Vec::with_capacity(sealed_bytes(text.len()));
    blob.extend_from_slice(&fixed);
    blob.extend_from_slice(&salt.0);
    let mut rest = text;
    let mut number = 0;
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK_BYTES));
        let start = blob.len();
        blob.extend_from_slice(chunk);
        let tag = key.seal(&chunk_nonce(number, after.is_empty()), &[], &mut blob[start..]);
        blob.extend_from_slice(&tag);
        if after.is_empty() {
            return blob;
        }
        rest = after;
        number += 1;
    }
}

/// Opens a blob. No part of its text is used or returned before all of it is authenticated.
///
/// # Errors
/// [`BlobError`], on any bytes that [`seal`] did not make for this master key, purpose and name.
pub fn open(master: &MasterKey, purpose: Purpose, name: &[u8], blob: &[u8]) -> Result<Vec<u8>, BlobError> {
    let (fixed, rest) = blob.split_first_chunk::<FIXED_BYTES>().ok_or(BlobError::NotABlob)?;
    let (salt, mut rest) = rest.split_first_chunk().ok_or(BlobError::NotABlob)?;
    let [m0, m1, m2, m3, f0, f1, cipher, zero] = *fixed;
    if [m0, m1, m2, m3] != MAGIC {
        return Err(BlobError::NotABlob);
    }
    let found = u16::from_be_bytes([f0, f1]);
    if found != FORMAT {
        return Err(BlobError::NewerFormat { found });
    }
    let cipher = Cipher::from_number(cipher)
        .filter(|_| zero == 0)
        .ok_or(BlobError::UnknownCipher { found: cipher })?;
    let key = blob_key(master, purpose, name, cipher, &Salt(*salt), fixed);

    let mut text = Vec::with_capacity(rest.len());
    let mut number = 0;
    loop {
        let (chunk, after) = rest.split_at(rest.len().min(CHUNK_BYTES + TAG_BYTES));
        let forged = BlobError::Forged { chunk: number };
        let (sealed, tag) = chunk.split_last_chunk::<TAG_BYTES>().ok_or(forged)?;
        let start = text.len();
        text.extend_from_slice(sealed);
        key.open(&chunk_nonce(number, after.is_empty()), &[], &mut text[start..], tag).map_err(|_| forged)?;
        if after.is_empty() {
            return Ok(text);
        }
        rest = after;
        number += 1;
    }
}

fn blob_key(
    master: &MasterKey,
    purpose: Purpose,
    name: &[u8],
    cipher: Cipher,
    salt: &Salt,
    fixed: &[u8; FIXED_BYTES],
) -> CipherKey {
    let mut context = Vec::with_capacity(FIXED_BYTES + name.len());
    context.extend_from_slice(fixed);
    context.extend_from_slice(name);
    CipherKey::new(cipher, &derive(master, purpose, salt, &context))
}

fn chunk_nonce(number: u64, last: bool) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&number.to_be_bytes());
    nonce[NONCE_BYTES - 1] = u8::from(last);
    nonce
}
