//! The pager on Linux.

#[cfg(target_env = "gnu")]
pub(crate) mod child_ready;
mod doorbell;
pub(crate) mod dyn_fault_path;
mod fault_handling;
pub(crate) mod fork_guard;
pub(crate) mod forked;
mod frames;
pub(crate) mod handler_thread;
pub(crate) mod idle_thread;
pub(crate) mod lock;
pub(crate) mod mappings;
#[cfg(target_env = "gnu")]
pub(crate) mod own_stack;
pub(crate) mod page_moves;
pub(crate) mod pages;
pub(crate) mod paging;
pub(crate) mod paging_state;
pub(crate) mod private_stack_thread;
pub(crate) mod shootdown;
pub(crate) mod sigbus_handler;
pub(crate) mod signals;
pub(crate) mod thread_binding;
#[cfg(target_env = "gnu")]
pub(crate) mod transfer;
pub(crate) mod userfaultfd;
pub(crate) mod worker_process;
