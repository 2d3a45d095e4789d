//! Creating, opening and restoring a vault.
//!
//! | file | contents |
//! |---|---|
//! | `create` | an empty state, and the header on both sides |
//! | `header` | the check that the two sides belong together |
//! | `persisted_state` | the trusted state as the last opening left it |
//! | `state` | its checkpoint, and the scheme as it was then |
//! | `fence`, `newer_versions` | the check that nothing in the store is newer, and the claim of an epoch |
//! | `log` | the journal in the store: the check that nothing in it is newer, and the start of a new one |
//! | `resume` | the engine as it was at that checkpoint |
//! | `replay`, `heartbeats` | the replay of the journal, input by input, and the log objects meanwhile |
//! | `inventory` | the versions that the store holds and must hold |
//! | `recovery` | the steps of an opening, up to a complete start |
//! | `restore`, `previous_vault`, `rebuild_tree`, `restore_notes` | the restore of a lost machine, from the store and the key |
//! | `choose_checkpoint`, `restore_plan` | the checkpoint that a restore continues from, and what it will move |
//! | `shipped_checkpoint` | a checkpoint in the store |
//! | `in_flight` | the number of buckets that a restore fetches or writes in parallel |
//! | `local_copy` | a restore's local copy of the buckets |
//! | `restored_journal` | a restore that repeats what the lost machine did |
//! | `restored_stash` | the stash of a restore, with its payloads on a disk |
//! | `standby`, `journal_reader`, `follower`, `takeover` | a standby: how it follows the journal in the store, and takes the vault over |
//! | `service` | an opened vault on a thread of its own |

mod choose_checkpoint;
pub(crate) mod create;
pub(crate) mod fence;
mod follower;
pub(crate) mod header;
mod heartbeats;
mod in_flight;
pub(crate) mod inventory;
mod journal_reader;
mod local_copy;
mod log;
pub(crate) mod newer_versions;
pub(crate) mod persisted_state;
mod previous_vault;
mod rebuild_tree;
mod recovery;
mod replay;
pub(crate) mod restore;
pub(crate) mod restore_notes;
pub(crate) mod restore_plan;
mod restored_journal;
mod restored_stash;
mod resume;
mod service;
pub(crate) mod setup;
mod shipped_checkpoint;
pub(crate) mod standby;
pub(crate) mod state;
mod takeover;
