//! The pager on Linux.

pub(crate) mod beside;
#[cfg(target_env = "gnu")]
pub(crate) mod birth;
mod doorbell;
pub(crate) mod faults;
pub(crate) mod follow;
pub(crate) mod forked;
mod frames;
pub(crate) mod handler_thread;
pub(crate) mod idle_thread;
pub(crate) mod in_thread;
pub(crate) mod inner;
pub(crate) mod kept;
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
