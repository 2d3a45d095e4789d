//! The sealing layer: encryption, authentication and freshness between a scheme and untrusted memory.
//!
//! [`sealed::Sealed`] turns [`Untrusted`](ameles_core::store::Untrusted) memory, which may return anything, into a
//! [`Store`](ameles_core::store::Store), which returns what was written last or an error that names the slot. [`pages`]
//! does the same for a pager, over raw shared memory. [`blob`] and [`record`] seal other data: checkpoints, rows and
//! journal records.
//!
//! | the untrusted side | the result |
//! |---|---|
//! | changes, swaps or moves sealed bytes, or returns an older version | [`SealError::Forged`](error::SealError) |
//! | removes a version | [`SealError::Missing`](error::SealError), never zeros |
//! | cuts a bucket short | [`SealError::Truncated`](error::SealError) |
//! | rolls the whole store back | as above, as long as the trusted version table survives |
//!
//! # Timing
//! Comparisons of tags and keys run in constant time, and so do the ciphers where the processor has AES and
//! carry-less multiplication instructions. Reading a key from hexadecimal or base64 text does too. Nothing else in
//! this crate handles a secret whose value decides a branch or an address.
#![cfg_attr(not(feature = "std"), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

pub mod blob;
pub mod cipher;
pub mod derive;
pub mod epoch;
pub mod error;
pub mod identity;
#[cfg(feature = "std")]
pub mod key_file;
pub mod key_ring;
pub mod key_text;
pub mod master_key;
pub mod pages;
pub mod parallel;
pub mod passphrase;
pub mod record;
pub mod sealed;
pub mod slot_format;
pub mod slot_keys;
pub mod versions;

mod aead;
mod batch;
mod named_enum;
mod scratch;
mod shape;
mod slot_key;
