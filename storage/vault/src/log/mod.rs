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
//! | `objects` | the objects in the store: created, read, and ended |
//! | `merged_log` | the merged contents of the objects of several openings |

pub(crate) mod entry;
pub(crate) mod merged_log;
pub(crate) mod objects;

use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::trusted::disk::TrustedDisk;
use borsh::BorshDeserialize;

/// The name of a note on the trusted disk. The note holds the position after the last object that was started.
pub(crate) const NEXT_OBJECT_NOTE: &str = "log";
/// The name of the note of the first object that the shipped checkpoint does not hold.
pub(crate) const FIRST_NEEDED_NOTE: &str = "log-from";

/// Reads a note of the trusted disk. A missing note is the default.
pub(crate) fn read_note<T: BorshDeserialize + Default>(
    disk: &TrustedDisk,
    name: &str,
) -> Result<T, VaultError> {
    let damaged = |error: std::io::Error| VaultError::Damaged(ErrorReason::of(error));
    disk.meta(name)?.map_or(Ok(T::default()), |note| borsh::from_slice(&note).map_err(damaged))
}
