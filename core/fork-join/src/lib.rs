//! Fork and join for work of a few microseconds, for callers that may neither allocate nor wait for a lock.
//!
//! A page fault opens K pages, best in parallel. It runs in the thread that touched the page, perhaps in a signal
//! handler, and lasts ten microseconds. So the threads must be ready, and a hand-over must take a fraction of a
//! microsecond. General pools are built for other work. They queue jobs on the heap, keep state in the caller's
//! thread-locals, or wake threads through a condition variable.
//!
//! A [`Pool`] on the calling side
//! - allocates nothing, touches no thread-local and takes no lock. Its only system calls wake a sleeping thread, or
//!   yield if another thread lost its processor in the middle of a part;
//! - does its share itself, and then all parts that others have not begun. So it ends even if no other thread runs (in
//!   a child after `fork`, for example);
//! - does all of the work alone if the pool is busy with another caller, or if a part calls it again.
//!
//! An idle thread polls for work for a while ([`Pool::new`] says how long) and then sleeps. [`Pool::wake`] wakes it
//! before work comes. On a machine without a free processor, a pool is only a few hundred nanoseconds slower than
//! working alone. Threads that were woken and found no work sleep for longer and longer, and a thread on the caller's
//! processor lets the caller run first.
//!
//! Threads inherit the signal mask. A caller that must keep an application's signal handlers off these threads blocks
//! the signals around [`Pool::new`].
//!
//! The pool needs an operating system (feature `std`). Without one, a platform's own processors share work through
//! [`Workers`].
#![cfg_attr(not(feature = "std"), no_std)]

#[cfg(feature = "std")]
mod core;
#[cfg(feature = "std")]
mod lane;
#[cfg(feature = "std")]
mod pool;
#[cfg(feature = "std")]
mod processor;
mod share;
mod workers;

#[cfg(feature = "std")]
pub use pool::Pool;
pub use share::share;
pub use workers::Workers;
