//! The pager on Linux.

#[cfg(target_env = "gnu")]
pub(crate) mod child_ready;
mod doorbell;
pub(crate) mod faults;
pub(crate) mod follow;
pub(crate) mod fork_guard;
pub(crate) mod forked;
mod frames;
pub(crate) mod handler_thread;
pub(crate) mod idle_thread;
pub(crate) mod in_thread;
pub(crate) mod inner;
pub(crate) mod lock;
pub(crate) mod mappings;
pub(crate) mod moves;
#[cfg(target_env = "gnu")]
pub(crate) mod own_stack;
pub(crate) mod own_thread;
pub(crate) mod pages;
pub(crate) mod paging;
mod serve;
pub(crate) mod shootdown;
pub(crate) mod signals;
#[cfg(target_env = "gnu")]
pub(crate) mod transfer;
pub(crate) mod userfaultfd;
pub(crate) mod worker_process;
