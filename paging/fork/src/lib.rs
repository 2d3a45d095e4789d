//! Fork and join for work of a few microseconds, for callers that may neither allocate nor wait for a lock.
//!
//! A page fault that has K pages to open wants them opened side by side. It runs in whatever thread touched the page,
//! also in a signal handler, and lasts ten microseconds: so the threads must stand ready, and handing over must take
//! a fraction of one. General pools are built for other work: they queue jobs on the heap, keep state in the caller's
//! thread-locals, or wake threads through a condition variable.
//!
//! [`Pool::run`] on the calling side
//! - allocates nothing, touches no thread-local, takes no lock, and makes no system call but the wake-up of a thread
//!   that has gone to sleep and, when another thread was taken off its processor in the middle of a part, a yield;
//! - does its share itself, and whatever others have not begun when it is done: it ends even if no other thread
//!   ever runs (in a child after `fork`, say);
//! - when the pool is busy with another caller's work, or is called again from within, does all of it alone.
//!
//! A thread that has nothing to do looks out for work for a while ([`Pool::new`] says how long) and then sleeps.
//! [`Pool::rouse`] wakes it ahead of work that is about to come. On a machine without a free processor a pool is no
//! slower than doing the work alone, but for some hundred nanoseconds: threads that were woken in vain are left to
//! sleep for longer and longer, and one that finds itself on the caller's processor lets the caller go first.
//!
//! A caller that must keep an application's signal handlers off these threads blocks the signals around [`Pool::new`]:
//! threads inherit the mask.

//!
//! Without an operating system there is no such pool (feature `std`). A platform's own processors share work the same
//! way when they are a [`Workers`].
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
