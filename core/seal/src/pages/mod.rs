//! Sealing of pages: between a scheme and raw memory that others see and change at any moment.
//!
//! A pager keeps its pages in shared memory, and seals and opens some of them in every fault. [`SealedPages`] is the
//! [`Store`](ameles_core::store::Store) that its scheme runs over. It differs from [`sealed`](crate::sealed) in what it
//! stands on: no requests, no versions beside one another, no journal, and a microsecond for each page.
//!
//! - **One copy each way.** A page is sealed in private memory and crosses in one copy; sealed bytes are copied out,
//!   each byte once, and opened where they then are. Nothing is encrypted, decrypted or authenticated in shared memory,
//!   and nothing there is read twice: the answer is exactly the bytes that were authenticated.
//! - **Freshness.** Each writing of a bucket has the next version, which the trusted side remembers ([`Versions`]): a
//!   table for any scheme, or two counters for one that writes in a deterministic order, which is thereby enforced.
//! - **Identity.** Slot and version are authenticated, and the region by its key. A page that was changed, swapped,
//!   replayed or rolled back is [`PageError::Forged`] at its next touch, by its slot and version.
//! - **Nonces.** See [`PageKey`].
//! - **In a fault.** After construction nothing is allocated, also when a page does not open. With a `PagePool` or a
//!   [`Workers`] the pages of a batch are spread over threads or processors that stand ready.
//!
//! # What stays readable
//! Keys and scratch are wiped when they are dropped, with two exceptions: ring does not wipe its expanded AES keys, and
//! ciphers leave residues on the stack. Keeping private memory out of core dumps and of swap is the pager's part.

mod carrier;
mod cipher;
mod error;
mod memory;
mod meter;
#[cfg(feature = "parallel")]
mod pool;
mod sealed;
mod spread;
mod versions;
mod worker;

pub use ameles_fork::Workers;
pub use carrier::Carrier;
pub use cipher::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
pub use error::{PageError, RegionError};
pub use memory::{AtomicMemory, SharedMemory};
pub use meter::PageMeter;
#[cfg(feature = "parallel")]
pub use pool::PagePool;
pub use sealed::{SealedPages, memory_bytes};
pub use versions::{ScheduledVersions, TableVersions, Versions};
pub use worker::{Outcome, PageJob, PageWorker, Turn, WorkMode};
