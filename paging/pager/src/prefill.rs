//! Writes every slot of untrusted memory once before the first fault, like after a long run.
//!
//! Opening a slot that was never written costs nothing. Without this, measurements of short runs favour schemes that
//! seldom come back to old slots.

use crate::fault::poll_now::poll_now;
use crate::page::PAGE_BYTES;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::store::Store;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket};
use ameles_seal::pages::PageError;

/// Writes zeros into each slot, for schemes with a position map of their own.
pub(crate) fn prefill_slots(store: &impl Store<Error = PageError>, layout: &Layout) -> Result<(), PageError> {
    let zeros = alloc::vec![0; layout.bucket_bytes(Bucket(0))];
    for bucket in (0..layout.buckets()).map(Bucket) {
        let zeros = &zeros[..layout.bucket_bytes(bucket)];
        poll_now(store.write(&[bucket], zeros)).expect("sealed pages never wait")?;
    }
    Ok(())
}

/// Writes a page of zeros several times, for schemes that write their slots in an order of their own.
pub(crate) fn prefill_by_writes<O>(oram: &mut O, writes: u64) -> Result<(), OramError<PageError>>
where
    O: Oram<Error = PageError>,
{
    let zeros = [0; PAGE_BYTES];
    for _ in 0..writes {
        let mut batch = [Access::Write(BlockId(0), &zeros)];
        poll_now(oram.access(&mut batch)).expect("sealed pages never wait")?;
        while oram.pending_steps() > 0 {
            poll_now(oram.step()).expect("sealed pages never wait")?;
        }
    }
    Ok(())
}
