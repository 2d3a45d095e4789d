//! The journal in the store, for owners who must not lose an acknowledged write with the machine.
//!
//! Each batch makes one object, whose length follows from the batch's length alone, before its callers are answered: its
//! writes, with padding in the place of reads, and the changes of rows since. An opening begins with objects of its own,
//! and ends the journals of the openings before it: it creates the object that comes next in each, so that a gateway that
//! is still there finds that name taken, and answers nothing.
//!
//! | file | idea |
//! |---|---|
//! | `entry` | an object's text |
//! | `objects` | the objects in the store, created, read, and ended |
//! | `fold` | what the objects of several openings come to together |

pub(crate) mod entry;
pub(crate) mod merged_log;
pub(crate) mod objects;

use crate::error::VaultError;
use crate::reason::Reason;
use crate::trusted::disk::TrustedDisk;
use borsh::BorshDeserialize;

/// The name of the note, on the trusted disk, of the objects begun.
pub(crate) const NEXT_OBJECT_NOTE: &str = "log";
/// The name of the note of the first object that the shipped checkpoint does not hold.
pub(crate) const FIRST_NEEDED_NOTE: &str = "log-from";

/// Reads a note of the trusted disk.
pub(crate) fn read_note<T: BorshDeserialize + Default>(
    disk: &TrustedDisk,
    name: &str,
) -> Result<T, VaultError> {
    let damaged = |error: std::io::Error| VaultError::Damaged(Reason::of(error));
    disk.meta(name)?.map_or(Ok(T::default()), |note| borsh::from_slice(&note).map_err(damaged))
}
