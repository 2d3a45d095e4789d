//! Accesses that the object layer made for a job.

/// Blocks that are asked for at once, and whether each is written.
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
