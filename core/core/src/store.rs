//! Untrusted memory, from both sides of the sealing layer.
//!
//! A scheme talks to a [`Store`]: plaintext slots, no versions. The sealing layer turns that into operations on
//! [`Untrusted`] memory: sealed bytes under a version. The adversary sees exactly the calls of `Untrusted`.

use crate::tree::layout::Layout;
use crate::types::{Bucket, Slot, Version};
use alloc::boxed::Box;
use alloc::rc::Rc;
use alloc::sync::Arc;
use alloc::vec::Vec;

/// Memory as a scheme sees it: slots are read one by one, buckets are replaced whole.
///
/// A bucket that was never written reads as zeros. A read returns the contents at the moment of the request, also if a
/// write of the bucket begins while the read is in flight. A bucket is not read while its write is in flight.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait Store {
    /// The error of the layers below.
    type Error: core::error::Error + 'static;

    /// Reads whole slots. `into` is exactly the slots' plaintext lengths, one after the other, in the order asked.
    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Self::Error>;

    /// Replaces whole buckets. `from` is exactly the buckets' plaintext, all slots of each, in the order given.
    async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Self::Error>;

    /// Reads as [`read`](Self::read) does. The store may keep the buffer and leave another of the same length: so
    /// contents need not be copied.
    async fn read_buffer(&self, slots: &[Slot], into: &mut Vec<u8>) -> Result<(), Self::Error> {
        self.read(slots, into).await
    }

    /// Writes as [`write`](Self::write) does. The store may keep the buffer and leave another with any contents.
    async fn write_buffer(&self, buckets: &[Bucket], from: &mut Vec<u8>) -> Result<(), Self::Error> {
        self.write(buckets, from).await
    }

    /// Moves pages from slots into buckets, and writes one bucket more. This is one read and one write, unless the
    /// store can move pages without returning their contents. The trace is the same: every slot of `from` is read, and
    /// the buckets change in the order of `to`.
    ///
    /// A store may still move pages when this returns, if the next operation on the store finds them moved. That
    /// operation then reports a failure.
    async fn move_pages(&self, moves: PageMoves<'_>) -> Result<(), Self::Error> {
        moves.read_then_write(self).await
    }

    /// Waits until the moves of [`move_pages`](Self::move_pages) are complete.
    async fn finish_moves(&self) -> Result<(), Self::Error> {
        Ok(())
    }

    /// Says which slots the next [`move_pages`](Self::move_pages) will carry, unless buckets that contain them are
    /// written. A store that can reads them ahead.
    fn prefetch(&self, _from: &[Slot]) {}
}

/// Buckets of one slot each, and their new contents: `to[0]` gets the first page of `pages`, and `to[1 + i]` gets the
/// contents of slot `from[i]`. The rest of `pages` is scratch; there are as many pages as buckets.
#[derive(Debug)]
pub struct PageMoves<'a> {
    /// The slots that are read.
    pub from: &'a [Slot],
    /// The buckets that are written, one more than the slots.
    pub to: &'a [Bucket],
    /// The slot of `from` that is read like any other, but whose target gets the first page.
    pub replaced: Option<usize>,
    /// The pages, as many as buckets; the first one is filled.
    pub pages: &'a mut [u8],
}

impl PageMoves<'_> {
    /// Moves the pages with one read and one write.
    ///
    /// # Errors
    /// The errors of the store.
    pub async fn read_then_write<S: Store + ?Sized>(self, store: &S) -> Result<(), S::Error> {
        let PageMoves { from, to, replaced, pages } = self;
        let (first, rest) = pages.split_at_mut(pages.len() / to.len());
        store.read(from, rest).await?;
        if let Some(place) = replaced {
            rest[place * first.len()..][..first.len()].copy_from_slice(first);
        }
        store.write(to, pages).await
    }
}

/// A slot of one version of a bucket, as a request on the untrusted side names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The slot.
    pub slot: Slot,
    /// The version of its bucket; never [`Version::NEVER`].
    pub version: Version,
}

/// A version of a bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct BucketVersion {
    /// The bucket.
    pub bucket: Bucket,
    /// The version, never [`Version::NEVER`].
    pub version: Version,
}

/// The buckets of a write, each with its bytes.
///
/// # Panics
/// If the buffer is not exactly as long as the buckets.
pub fn split_buckets<'a>(
    layout: &'a Layout,
    buckets: &'a [BucketVersion],
    mut from: &'a [u8],
) -> impl Iterator<Item = (BucketVersion, &'a [u8])> {
    let lengths = buckets.iter().map(|of| layout.bucket_bytes(of.bucket));
    assert_eq!(lengths.clone().sum::<usize>(), from.len(), "the buffer must be exactly the buckets' lengths");
    buckets.iter().zip(lengths).map(move |(of, length)| {
        let (bytes, rest) = from.split_at(length);
        from = rest;
        (*of, bytes)
    })
}

/// Memory as the adversary holds it: sealed bytes, several versions of each bucket.
///
/// Implementations move bytes and know nothing of keys. Every byte that `read` returns may be forged.
#[allow(async_fn_in_trait, reason = "one thread drives a scheme; its futures need not be Send")]
pub trait Untrusted {
    /// Shape and **sealed** sizes: `slot_bytes` of this layout includes the sealing overhead.
    fn layout(&self) -> &Layout;

    /// Reads sealed slots; `into` is exactly their sealed lengths in the order asked. All requests go out together.
    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError>;

    /// Writes whole sealed buckets, each durable when this returns. All requests go out together. An existing version
    /// stays as it is. With the same bytes the write succeeds, because a retry is the identical request. With other
    /// bytes it fails with [`UntrustedError::Taken`]. Memory of one process that keeps no versions may overwrite.
    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError>;

    /// Removes versions that are no longer needed. A version that is already gone is not an error.
    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError>;
}

/// A failure of untrusted memory. No failure is an answer.
#[derive(Debug, thiserror::Error)]
pub enum UntrustedError {
    /// The version should be there and is not: to the sealing layer this is tampering.
    #[error("{bucket} {version} is missing from the store", bucket = .0.bucket, version = .0.version)]
    Missing(BucketVersion),
    /// The object is shorter than its bucket: to the sealing layer this is tampering.
    #[error("{bucket} {version} is truncated in the store", bucket = .0.bucket, version = .0.version)]
    Truncated(BucketVersion),
    /// The version that was to be written exists already, with other bytes: another process writes under its name.
    #[error("{bucket} {version} is already in the store, with other bytes", bucket = .0.bucket, version = .0.version)]
    Taken(BucketVersion),
    /// The store refuses permanently (credentials, permissions, no space): retrying will not help.
    #[error("the store refused a request: {0}")]
    Refused(Box<dyn core::error::Error + Send + Sync>),
    /// The store cannot be reached or failed for now; the same request may succeed later.
    #[error("the store is unavailable: {0}")]
    Unavailable(Box<dyn core::error::Error + Send + Sync>),
}

macro_rules! forward_through {
    ($type:ident: $($pointer:ty),*) => {$(
        impl<$type: Store + ?Sized> Store for $pointer {
            type Error = $type::Error;
            async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Self::Error> {
                (**self).read(slots, into).await
            }
            async fn write(&self, buckets: &[Bucket], from: &[u8]) -> Result<(), Self::Error> {
                (**self).write(buckets, from).await
            }
            async fn read_buffer(&self, slots: &[Slot], into: &mut Vec<u8>) -> Result<(), Self::Error> {
                (**self).read_buffer(slots, into).await
            }
            async fn write_buffer(&self, buckets: &[Bucket], from: &mut Vec<u8>) -> Result<(), Self::Error> {
                (**self).write_buffer(buckets, from).await
            }
            async fn move_pages(&self, moves: PageMoves<'_>) -> Result<(), Self::Error> {
                (**self).move_pages(moves).await
            }
            async fn finish_moves(&self) -> Result<(), Self::Error> {
                (**self).finish_moves().await
            }
            fn prefetch(&self, from: &[Slot]) {
                (**self).prefetch(from);
            }
        }
        impl<$type: Untrusted + ?Sized> Untrusted for $pointer {
            fn layout(&self) -> &Layout {
                (**self).layout()
            }
            async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
                (**self).read(places, into).await
            }
            async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
                (**self).write(buckets, from).await
            }
            async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
                (**self).delete(buckets).await
            }
        }
    )*};
}
forward_through!(T: &T, Rc<T>, Arc<T>);
