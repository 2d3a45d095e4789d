//! The accesses of the object layer for a job.

/// Blocks of one batch, each with true if it is written.
pub(super) type Batch = Vec<(u64, bool)>;

/// The accesses of each step of a job.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RecordedAccesses(pub(super) Vec<Vec<Batch>>);

impl RecordedAccesses {
    /// The number of accesses of all steps.
    pub(super) fn accesses(&self) -> u64 {
        self.0.iter().flatten().map(|batch| batch.len() as u64).sum()
    }
}
