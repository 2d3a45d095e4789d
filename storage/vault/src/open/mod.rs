//! Making a vault, opening it, and bringing a lost one back.
//!
//! | file | step |
//! |---|---|
//! | `create` | an empty state, and the header on both sides |
//! | `header` | the two sides belong together |
//! | `at_rest` | what the last opening left on the trusted disk |
//! | `state` | its checkpoint, and the scheme as it was then |
//! | `fence`, `newer` | nothing in the store is newer; an epoch is claimed |
//! | `log` | the journal in the store: nothing in it is newer, and it begins anew |
//! | `replay` | the journal, input after input |
//! | `inventory` | what the store holds and must hold |
//! | `recovery` | the steps of an opening, up to a complete start |
//! | `restore`, `previous_vault`, `refill`, `restore_notes` | a lost machine, from the store and the key |
//! | `shipped` | a checkpoint in the store |
//! | `in_flight` | how many buckets a restore fetches or writes at a time |
//! | `local_copy` | what went wrong with a restore's copy, and not with the store |
//! | `restored_stash` | a stash whose payloads lie on a disk, while a vault is restored |
//! | `service` | an opened vault on a thread of its own |

pub(crate) mod at_rest;
pub(crate) mod create;
pub(crate) mod fence;
pub(crate) mod header;
mod in_flight;
pub(crate) mod inventory;
mod local_copy;
mod log;
pub(crate) mod newer_versions;
mod previous_vault;
mod recovery;
mod refill;
mod replay;
pub(crate) mod restore;
pub(crate) mod restore_notes;
mod restored_stash;
mod service;
pub(crate) mod setup;
mod shipped_checkpoint;
pub(crate) mod state;
