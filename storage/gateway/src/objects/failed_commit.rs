//! The state after a failed commit.

use crate::catalogue::Change;
use crate::device::RowChange;

/// A failed commit: it is unknown whether the device has its rows.
///
/// Until the earlier rows are written again, nothing else is committed, and the blocks of the change stay taken. If
/// they were given to another object, a reload could find them in two rows.
pub(crate) struct FailedCommit {
    pub(crate) old_rows: Vec<RowChange>,
    pub(crate) _changes: Vec<Change>,
}
