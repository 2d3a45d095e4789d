//! A durable oblivious block device.
//!
//! A vault runs a scheme of `lethe-core` over sealed, versioned buckets in an untrusted store, and keeps the trusted
//! state on a local disk so that no acknowledged write is ever lost. Because a scheme owns no effect and is
//! deterministic in its inputs, the journal holds the inputs, and recovery is running the scheme again:
//!
//! 1. [`session`](self) steps the scheme by one input, journals the input with the requests it causes, and only then
//!    sends them;
//! 2. a checkpoint holds the whole trusted state and empties the journal;
//! 3. after a crash, the journal's inputs are stepped through again. The reads that were announced go out again as
//!    they were; bucket versions stand beside one another in the store, so all of them can.
//!
//! | module | idea |
//! |---|---|
//! | `engine` | the scheme, its futures, the sealing layer: one step at a time |
//! | `gate` | the store that the scheme sees: requests become numbered operations |
//! | `record` | what the journal holds |
//! | `session` | the loop of one opening |
//! | `fair_queue` | whose call is next |
//! | `recovery` | making and opening |
//! | `checkpoint` | the trusted state, padded and sealed; receipts |
//! | `restore` | a lost machine, from the store and the key |
//! | `check` | reading and authenticating everything |
//! | `orphans` | what the store holds and nobody needs |
//! | `newer` | what the store holds and the trusted disk does not know |
//! | `ownership` | one gateway at a time |
//! | `pace` | when a paced vault does what |
//! | `costs` | what full batches cost |
//! | `rows` | a small table beside the blocks |
//! | `successor` | a second vault that takes over while both serve |
//! | `disk` | the trusted disk |
//! | `pieces` | long values, cut to the database's pages |
#![forbid(unsafe_code)]

mod check;
mod checkpoint;
mod costs;
mod disk;
mod engine;
mod entropy;
mod error;
mod fair_queue;
#[cfg(test)]
mod fuzz;
mod gate;
mod header;
mod newer;
mod orphans;
mod ownership;
mod pace;
mod pieces;
mod record;
mod recovery;
mod restore;
mod rows;
mod scheme;
mod session;
mod status;
mod store;
mod successor;
mod vault;

pub use check::{Progress, Report};
pub use checkpoint::Receipt;
pub use disk::TrustedDisk;
pub use entropy::Entropy;
pub use error::VaultError;
pub use fair_queue::Flow;
pub use header::{FORMAT, VaultHeader, VaultParameters};
pub use orphans::{Orphans, Removed, Tally, find_orphans};
pub use pace::{Pace, PaceFigures};
pub use record::Call;
pub use recovery::{Setup, raw_header, raw_header_of_store, read_header};
pub use restore::{Restore, restore};
pub use scheme::SchemeParameters;
pub use status::Status;
pub use store::VaultStore;
pub use successor::{Copied, Copier, Stage, Succession, cut_over, rows_at_rest, stage};
pub use vault::{RowChange, Vault, draw_header};
