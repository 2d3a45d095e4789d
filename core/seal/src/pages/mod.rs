//! Sealing of pages: between a scheme and raw memory that others see and change at any moment.
//!
//! A pager keeps its pages in shared memory, and seals and opens some of them in every fault. [`SealedPages`] is the
//! [`Store`](ameles_core::store::Store) of its scheme. Unlike [`sealed`](crate::sealed) it has no requests, one version
//! of each bucket at a time, no journal, and a microsecond for each page.
//!
//! - **One copy each way.** A page is sealed in private memory and then copied to shared memory. Sealed bytes are
//!   copied
//!   to private memory, each byte once, and opened there. Nothing is encrypted, decrypted or authenticated in shared
//!   memory, and nothing there is read twice: the answer is exactly the bytes that were authenticated.
//! - **Freshness.** Each write of a bucket has the next version, which the trusted side remembers ([`Versions`]). A
//!   table works for any scheme; two counters are enough for a scheme that writes in a deterministic order. The
//!   counters enforce that order.
//! - **Identity.** Slot and version are authenticated, and the region by its key. The next access to a page that was
//!   changed, swapped, replayed or rolled back fails with [`PageError::Forged`], which says slot and version.
//! - **Nonces.** See [`PageKey`].
//! - **In a fault.** After construction nothing is allocated, also if a page does not open. A `PagePool` or [`Workers`]
//!   spread the pages of a batch over threads or processors that are ready.
//!
//! # What stays readable
//! Keys and scratch are wiped when they are dropped, with two exceptions. ring does not wipe its expanded AES keys, and
//! ciphers leave residues on the stack. Keeping private memory out of core dumps and of swap is the pager's part.

mod cipher;
mod error;
mod executor;
mod memory;
mod meter;
#[cfg(feature = "parallel")]
mod pool;
mod sealed;
mod sealed_slots;
mod versions;
mod worker;

pub use ameles_fork_join::Workers;
pub use cipher::{MAX_TAG_BYTES, PageCipher, PageId, PageKey};
pub use error::{PageError, RegionError};
pub use memory::{AtomicMemory, SharedMemory};
pub use meter::PageMeter;
#[cfg(feature = "parallel")]
pub use pool::PagePool;
pub use sealed::{SealedPages, memory_bytes};
pub use sealed_slots::SealedSlots;
pub use versions::{ScheduledVersions, TableVersions, Versions};
pub use worker::{JobStatus, PageJob, PageWorker, Ticket, WorkMode};
