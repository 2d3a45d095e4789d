//! A durable oblivious block device.
//!
//! A vault runs a scheme of `ameles-core` over sealed, versioned buckets in an untrusted store. It keeps the trusted
//! state on a local disk, so that no acknowledged write is ever lost. A scheme performs no input or output of its own,
//! and is deterministic in its inputs. So the journal holds these inputs, and recovery runs the scheme again:
//!
//! 1. [`session`](self) steps the scheme by one input, journals the input with the requests it causes, and only then
//!    sends them.
//! 2. A checkpoint holds the whole trusted state and empties the journal.
//! 3. After a crash, the scheme is stepped through the journal's inputs again. The reads that were announced are sent
//!    again. This is possible because the store keeps all versions of a bucket that are still needed.
//!
//! | module | contents |
//! |---|---|
//! | `engine` | the scheme, its futures, the sealing layer: one step at a time |
//! | `trusted` | the trusted state at rest: disk, header, rows, checkpoints |
//! | `claims` | one gateway at a time: an opening claims an epoch, and a session checks that no other has |
//! | `log` | the journal in the store: its objects, and their merged contents |
//! | `lease` | how long a gateway answers after a check of the claims, and which opening waits for an earlier gateway |
//! | `session` | the loop of one opening, and its parts: journal, dispatcher, checkpoints, garbage, queue, pace, checks |
//! | `vault` | the handle that callers hold |
//! | `open` | creating, opening and restoring a vault |
//! | `maintain` | what the owner does besides serving: orphans, costs, migration, a new key |
//!
//! A module uses only modules above it in this table.
#![forbid(unsafe_code)]

mod any_store;
mod claims;
mod engine;
mod entropy;
mod error;
mod error_reason;
#[cfg(test)]
mod fuzz;
mod lease;
mod log;
mod maintain;
mod open;
mod session;
mod store;
mod store_space;
mod trusted;
mod vault;

pub use any_store::AnyStore;
pub use engine::record::Call;
pub use engine::scheme::{SchemeParameters, with_default_slices};
pub use entropy::Entropy;
pub use error::{ExistsIn, VaultError};
pub use error_reason::ErrorReason;
pub use lease::{HEARTBEAT_EVERY, Host, LEASE, STANDBY_LEASE};
pub use maintain::costs::{usage_of_heartbeats, usage_of_lease_checks};
pub use maintain::migration::{
    Copier, CopyProgress, MigrationStage, MirroredVaults, cut_over, migration_stage, rows_at_rest,
};
pub use maintain::move_journal::move_journal;
pub use maintain::new_key::{NewKey, change_key, change_under_way, complete_change};
pub use maintain::orphans::{Orphans, Removed, Tally, find_orphans};
pub use open::create::draw_header;
pub use open::header::{raw_header, raw_header_of_store, read_header};
pub use open::restore::{Restore, WAITING, restore, restored};
pub use open::restore_notes::is_unfinished;
pub use open::restore_plan::RestorePlan;
pub use open::setup::Setup;
pub use open::standby::{Standby, StandbyStage};
pub use session::SHIP_AFTER;
pub use session::check::{Progress, Report};
pub use session::pace::{Pace, PaceFigures};
pub use session::queue::Flow;
pub use session::status::{
    CheckpointFigures, KeyChangeFigures, LogFigures, OpeningFigures, RowFigures, StashFigures, Status,
    UploadFigures,
};
pub use store::VaultStore;
pub use store_space::StoreFigures;
pub use trusted::checkpoint::Receipt;
pub use trusted::checkpoint_bytes::CheckpointBytes;
pub use trusted::disk::{DATABASE_CACHE, TrustedDisk};
pub use trusted::disk_reserve::{Reserve, ReserveFigures, ReserveSizes};
pub use trusted::header::{FORMAT, JournalPlace, STASH_ENTRY, TreeTopPlace, VaultHeader, VaultParameters};
pub use trusted::position::PREFIX as LOG_PREFIX;
pub use trusted::row::{Row, RowChange};
pub use vault::Vault;
