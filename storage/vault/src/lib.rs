//! A durable oblivious block device.
//!
//! A vault runs a scheme of `ameles-core` over sealed, versioned buckets in an untrusted store, and keeps the trusted
//! state on a local disk so that no acknowledged write is ever lost. Because a scheme owns no effect and is
//! deterministic in its inputs, the journal holds the inputs, and recovery is running the scheme again:
//!
//! 1. [`session`](self) steps the scheme by one input, journals the input with the requests it causes, and only then
//!    sends them;
//! 2. a checkpoint holds the whole trusted state and empties the journal;
//! 3. after a crash, the journal's inputs are stepped through again. The reads that were announced go out again as
//!    they were; bucket versions stand beside one another in the store, so all of them can.
//!
//! | room | idea |
//! |---|---|
//! | `engine` | the scheme, its futures, the sealing layer: one step at a time |
//! | `trusted` | the trusted side at rest: disk, header, rows, checkpoints |
//! | `claims` | one gateway at a time: the opening claims, and the session checks that no other has |
//! | `log` | the journal in the store: its objects, and what they come to |
//! | `lease` | how long a gateway answers after such a check, and which opening waits for an earlier gateway |
//! | `session` | the loop of one opening, and its parts: journal, outbox, checkpoints, garbage, queue, pace, checks |
//! | `vault` | the handle that callers hold |
//! | `open` | making a vault, opening it, and bringing a lost one back |
//! | `maintain` | what the owner does beside serving: orphans, costs, migration |
//!
//! A room uses those above it in this table, and none below.
#![forbid(unsafe_code)]

mod any_store;
mod claims;
mod engine;
mod entropy;
mod error;
#[cfg(test)]
mod fuzz;
mod lease;
mod log;
mod maintain;
mod open;
mod reason;
mod session;
mod store;
mod store_room;
mod trusted;
mod vault;

pub use any_store::AnyStore;
pub use engine::record::Call;
pub use engine::scheme::SchemeParameters;
pub use entropy::Entropy;
pub use error::{ExistsIn, VaultError};
pub use lease::{Host, LEASE};
pub use maintain::costs::usage_of_lease_checks;
pub use maintain::migration::{
    Copier, CopyProgress, MigrationStage, MirroredVaults, cut_over, migration_stage, rows_at_rest,
};
pub use maintain::new_key::{NewKey, change_key, change_under_way, complete_change};
pub use maintain::orphans::{Orphans, Removed, Tally, find_orphans};
pub use open::create::draw_header;
pub use open::header::{raw_header, raw_header_of_store, read_header};
pub use open::restore::{Restore, restore, restored};
pub use open::restore_notes::is_unfinished;
pub use open::setup::Setup;
pub use reason::Reason;
pub use session::check::{Progress, Report};
pub use session::pace::{Pace, PaceFigures};
pub use session::queue::Flow;
pub use session::status::{
    CheckpointFigures, KeyChangeFigures, OpeningFigures, RowFigures, StashFigures, Status,
};
pub use store::VaultStore;
pub use store_room::StoreFigures;
pub use trusted::checkpoint::Receipt;
pub use trusted::checkpoint_bytes::CheckpointBytes;
pub use trusted::disk::{DATABASE_CACHE, TrustedDisk};
pub use trusted::header::{FORMAT, JournalPlace, STASH_ENTRY, TreeTopPlace, VaultHeader, VaultParameters};
pub use trusted::room::{Reserve, ReserveSizes, RoomFigures};
pub use trusted::row::{Row, RowChange};
pub use vault::Vault;
