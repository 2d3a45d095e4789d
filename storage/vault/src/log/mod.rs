//! The journal in the store, for owners who must not lose an acknowledged write with the machine.
//!
//! Each batch makes one object before its callers are answered. The length of the object follows only from the length
//! of the batch. The object holds the batch's writes, with padding in place of reads, and the changes of rows since the
//! last object. A few objects may be on their way at once. A batch is answered when its object and all before it are in
//! the store. So a crash may leave a gap; the journal ends before it, and what comes after was not answered. An opening
//! starts with objects of its own. It ends the journals of earlier openings by creating the next object in each. A
//! gateway that is still running then finds that name taken, and answers nothing.
//!
//! | file | contents |
//! |---|---|
//! | `entry` | the text of an object |
//! | `access_fields` | the accesses in it |
//! | `announcements` | the records in it, in a vault that announces in the store |
//! | `payloads` | the payloads in an object of their own, in a vault whose journal is in etcd |
//! | `objects` | the objects in the store: created, read, and ended |
//! | `merged_log` | the merged contents of the objects of several openings |

mod access_fields;
pub(crate) mod announcements;
pub(crate) mod entry;
pub(crate) mod merged_log;
pub(crate) mod objects;
pub(crate) mod payloads;

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::disk::TrustedDisk;
use crate::trusted::header::VaultHeader;
use crate::trusted::position::Position;
use crate::trusted::seal_context::context;
use ameles_seal::blob;
use ameles_seal::derive::Purpose;
use ameles_seal::key_ring::KeyRing;
use borsh::{BorshDeserialize, BorshSerialize};

/// Opens an object of the journal. It may be written long after its epoch, and it may be resealed.
fn open_named(
    (header, ring): (&VaultHeader, &KeyRing),
    (purpose, name, epoch): (Purpose, &str, u32),
    sealed: &[u8],
) -> Result<Vec<u8>, VaultError> {
    let context = context(header, name);
    let open = |key| blob::open(key, purpose, &context, sealed);
    let opened = ring
        .keys_that_open(epoch)
        .skip(1)
        .fold(open(ring.newest()), |opened, key| opened.or_else(|_| open(key)));
    opened.map_err(|error| {
        let why = ErrorReason::of(error).about(format_args!("{name} in the store"));
        VaultError::Tampered(why.followed_by("it was planted or damaged"))
    })
}

/// The next object of the journal, as the trusted disk notes it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub(crate) struct NextObject {
    /// The position after the last object that was started.
    pub(crate) at: Position,
    /// The sequence of the first object that the store is not known to hold with its payloads, in a vault that announces
    /// in the store.
    pub(crate) in_doubt: u64,
    /// The number of the first record that the store is not known to hold, in such a vault.
    pub(crate) recorded: u64,
}

impl NextObject {
    /// The text of the note.
    pub(crate) fn encode(self) -> Vec<u8> {
        borsh::to_vec(&self).expect("a write to memory does not fail")
    }
}

/// The name of the note of the [next object](NextObject) on the trusted disk.
pub(crate) const NEXT_OBJECT_NOTE: &str = "log";
/// The name of the note of the first object that the shipped checkpoint does not hold.
pub(crate) const FIRST_NEEDED_NOTE: &str = "log-from";

/// The name of the note of the first object that is kept, in a vault with heartbeats: a standby may be as far behind as the
/// checkpoint that was shipped before the last one.
pub(crate) const FIRST_KEPT_NOTE: &str = "log-kept";

/// Reads a note of the trusted disk. A missing note is the default.
pub(crate) fn read_note<T: BorshDeserialize + Default>(
    disk: &TrustedDisk,
    name: &str,
) -> Result<T, VaultError> {
    let damaged = |error: std::io::Error| VaultError::Damaged(ErrorReason::of(error));
    disk.meta(name)?.map_or(Ok(T::default()), |note| borsh::from_slice(&note).map_err(damaged))
}
