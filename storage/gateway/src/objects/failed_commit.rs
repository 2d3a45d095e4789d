//! The remains of a commit that failed.

use crate::catalogue::Change;
use crate::device::RowChange;

/// A commit of which it is not known whether the device has it.
///
/// Until the rows are as the catalogue in memory again, nothing else is committed, and the blocks that the change
/// names stay taken: were they given to another object, a reload could find them named twice.
pub(crate) struct FailedCommit {
    pub(crate) old_rows: Vec<RowChange>,
    pub(crate) _changes: Vec<Change>,
}
