//! The program's memory: all of it behind the scheme, except a few resident pages.

mod entry;
mod faults;
mod frames;
mod hidden;
mod memory;
mod table;

pub use faults::PagingError;
pub use memory::{AccessError, Listener, Paging, ProgramMemory};
