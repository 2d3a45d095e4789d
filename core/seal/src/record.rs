//! Sealing of many small records under one key, for a journal.
//!
//! A record is bound to its sequence number: a record that was moved, repeated or omitted does not open. The caller
//! must know where a journal ends.

use crate::cipher::{Cipher, CipherKey, Forged, NONCE_BYTES, TAG_BYTES};
use crate::derive::{Purpose, Salt, derive};
use crate::master_key::MasterKey;
use crate::slot_keys::{BYTES_PER_KEY_LOG2, SLOTS_PER_KEY_LOG2};
use alloc::vec::Vec;

/// The number of bytes that sealing adds to a record.
pub const OVERHEAD_BYTES: usize = TAG_BYTES;

/// The reason why a record was not sealed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RecordError {
    /// The sequence number is too low: its nonce must not be used again.
    #[error("record {sequence} was sealed already: the next is {next} or later")]
    Passed {
        /// The requested number.
        sequence: u64,
        /// The least valid one.
        next: u64,
    },
    /// The key has sealed as much as is safe. Continue with a fresh salt.
    #[error("the key of this journal has reached its limit: continue with a fresh salt")]
    Exhausted,
}

/// Seals records in ascending order, each number once.
#[derive(Debug)]
pub struct RecordSealer {
    key: CipherKey,
    /// The least sequence number that may be sealed; `None` after the last.
    next: Option<u64>,
    records_left: u64,
    bytes_left: u64,
}

impl RecordSealer {
    /// Makes a sealer, and derives its key. `salt` is drawn for it only, and stored with the records;
    /// `context` identifies the journal and the vault.
    pub fn new(master: &MasterKey, purpose: Purpose, cipher: Cipher, salt: &Salt, context: &[u8]) -> Self {
        RecordSealer {
            key: record_key(master, purpose, cipher, salt, context),
            next: Some(0),
            records_left: 1 << SLOTS_PER_KEY_LOG2,
            bytes_left: 1 << BYTES_PER_KEY_LOG2,
        }
    }

    /// Seals a record, and appends it to `out`: [`OVERHEAD_BYTES`] longer than `text`. Numbers may be skipped.
    ///
    /// # Errors
    /// [`RecordError`]; in this case `out` is not changed.
    pub fn seal(&mut self, sequence: u64, text: &[u8], out: &mut Vec<u8>) -> Result<(), RecordError> {
        let next = self.next.ok_or(RecordError::Exhausted)?;
        if sequence < next {
            return Err(RecordError::Passed { sequence, next });
        }
        let bytes = (text.len() + OVERHEAD_BYTES) as u64;
        let records_left = self.records_left.checked_sub(1);
        let bytes_left = self.bytes_left.checked_sub(bytes);
        self.records_left = records_left.ok_or(RecordError::Exhausted)?;
        self.bytes_left = bytes_left.ok_or(RecordError::Exhausted)?;
        self.next = sequence.checked_add(1);

        let start = out.len();
        out.extend_from_slice(text);
        let tag = self.key.seal(&record_nonce(sequence), &[], &mut out[start..]);
        out.extend_from_slice(&tag);
        Ok(())
    }
}

/// Opens records, in any order.
#[derive(Debug)]
pub struct RecordOpener {
    key: CipherKey,
}

impl RecordOpener {
    /// Makes an opener for the records of the sealer that got the same arguments.
    pub fn new(master: &MasterKey, purpose: Purpose, cipher: Cipher, salt: &Salt, context: &[u8]) -> Self {
        RecordOpener { key: record_key(master, purpose, cipher, salt, context) }
    }

    /// Opens a record, and appends its text to `out`.
    ///
    /// # Errors
    /// [`Forged`], on any bytes that were not sealed under this number; in this case `out` is not changed.
    pub fn open(&self, sequence: u64, sealed: &[u8], out: &mut Vec<u8>) -> Result<(), Forged> {
        let (text, tag) = sealed.split_last_chunk::<TAG_BYTES>().ok_or(Forged)?;
        let start = out.len();
        out.extend_from_slice(text);
        let opened = self.key.open(&record_nonce(sequence), &[], &mut out[start..], tag);
        if opened.is_err() {
            out.truncate(start);
        }
        opened
    }
}

fn record_key(
    master: &MasterKey,
    purpose: Purpose,
    cipher: Cipher,
    salt: &Salt,
    context: &[u8],
) -> CipherKey {
    let mut bound = Vec::with_capacity(16 + context.len());
    bound.extend_from_slice(b"records/1/");
    bound.push(cipher.number());
    bound.extend_from_slice(context);
    CipherKey::new(cipher, &derive(master, purpose, salt, &bound))
}

fn record_nonce(sequence: u64) -> [u8; NONCE_BYTES] {
    let mut nonce = [0; NONCE_BYTES];
    nonce[..8].copy_from_slice(&sequence.to_be_bytes());
    nonce
}
