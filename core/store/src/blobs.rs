//! Named objects next to the buckets, and lists of what the store holds.

use ameles_core::store::{BucketVersion, UntrustedError};
use ameles_core::types::Bytes;
use std::rc::Rc;
use std::sync::Arc;

/// The longest name of a blob, in bytes.
const MAX_NAME: usize = 512;

/// A blob as listed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Blob {
    /// The blob's name.
    pub name: String,
    /// The blob's size as the store reports it.
    pub size: Bytes,
}

/// Whole named objects: a vault's header, its epochs, its checkpoints.
///
/// Names follow [`check_name`]. Like buckets, blobs are untrusted: read bytes may be forged, and names and sizes are
/// visible to every observer.
#[allow(async_fn_in_trait, reason = "one thread drives the store; its futures need not be Send")]
pub trait Blobs {
    /// Stores `bytes` under `name`, durable when this returns; replaces an earlier blob, in one step.
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError>;

    /// Stores `bytes` under `name` only if nothing is there, and returns whether it did. Of several callers, at most
    /// one gets `true`.
    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError>;

    /// The bytes under `name`, or `None` if there are none.
    ///
    /// # Errors
    /// [`BlobError::TooLarge`] if there are more than `max` bytes; more are never held.
    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError>;

    /// All blobs whose name starts with `prefix`, sorted by name.
    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError>;

    /// Removes the blob. A blob that is already gone is not an error.
    async fn remove(&self, name: &str) -> Result<(), BlobError>;
}

/// The contents of the store, for finding bucket versions that are not needed any more.
#[allow(async_fn_in_trait, reason = "one thread drives the store; its futures need not be Send")]
pub trait Inventory {
    /// Calls `found` with each bucket version and its size as the store reports it, in no particular order. Returns the
    /// number of names among the buckets that do not belong to this scheme. These are ignored.
    ///
    /// Versions written or deleted meanwhile may be listed or not.
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError>;

    /// Removes temporary files of interrupted writes, and returns how many there were.
    ///
    /// To be called only while no caller writes. Stores whose interrupted writes leave nothing return 0.
    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError>;
}

/// The errors of a blob.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// The name breaks the rules of [`check_name`].
    #[error("{name:?} is not a name for a blob: {why}")]
    BadName {
        /// The name.
        name: String,
        /// The rule that the name breaks.
        why: &'static str,
    },
    /// The blob is larger than the reader accepts.
    #[error("blob {name:?} is larger than {max} bytes, the maximum")]
    TooLarge {
        /// The name.
        name: String,
        /// The maximum number of bytes that the reader accepts.
        max: usize,
    },
    /// The store failed or refused.
    #[error(transparent)]
    Store(#[from] UntrustedError),
}

impl BlobError {
    /// Returns whether the same request may succeed later.
    pub fn is_unavailable(&self) -> bool {
        matches!(self, BlobError::Store(UntrustedError::Unavailable(_)))
    }
}

/// Checks a blob's name. It has segments of `a-z A-Z 0-9 . _ -` joined by single slashes, none of them `.` or `..`, and
/// at most 512 bytes. Such names mean the same to files and to every object store. But none of them may also be the
/// folder of another (`a` and `a/b`).
///
/// # Errors
/// [`BlobError::BadName`].
pub fn check_name(name: &str) -> Result<(), BlobError> {
    let why = if name.is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME {
        "it is longer than 512 bytes"
    } else if !name.bytes().all(is_name_byte) {
        "only a-z, A-Z, 0-9, '.', '_', '-' and '/' may stand in it"
    } else if name.split('/').any(|segment| matches!(segment, "" | "." | "..")) {
        "each part between slashes must be there and be neither '.' nor '..'"
    } else {
        return Ok(());
    };
    Err(BlobError::BadName { name: name.to_owned(), why })
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'_' | b'-' | b'/')
}

macro_rules! forward_through {
    ($type:ident: $($pointer:ty),*) => {$(
        impl<$type: Blobs + ?Sized> Blobs for $pointer {
            async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
                (**self).put(name, bytes).await
            }
            async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
                (**self).put_if_absent(name, bytes).await
            }
            async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
                (**self).get(name, max).await
            }
            async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
                (**self).list(prefix).await
            }
            async fn remove(&self, name: &str) -> Result<(), BlobError> {
                (**self).remove(name).await
            }
        }
        impl<$type: Inventory + ?Sized> Inventory for $pointer {
            async fn list_bucket_versions(
                &self,
                found: &mut dyn FnMut(BucketVersion, Bytes),
            ) -> Result<u64, UntrustedError> {
                (**self).list_bucket_versions(found).await
            }
            async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
                (**self).sweep_unfinished().await
            }
        }
    )*};
}
forward_through!(T: &T, Rc<T>, Arc<T>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_mean_something_else_to_some_store_are_refused() {
        for good in ["header", "epochs/00000001", "checkpoints/a-b_c.d/7"] {
            assert!(check_name(good).is_ok(), "{good}");
        }
        let long = "x".repeat(513);
        for bad in ["", "/a", "a/", "a//b", "..", "a/../b", "./a", "a b", "a#1", "é", "a\\b", &long] {
            assert!(matches!(check_name(bad), Err(BlobError::BadName { .. })), "{bad}");
        }
    }
}
