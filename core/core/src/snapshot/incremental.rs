//! The interface of a scheme whose trusted state is written as changes: only what changed is written.
//!
//! The trusted state has three parts. **Words** are tables of fixed sizes, such as positions and bucket metadata: a
//! change is an index and a value. **Blocks** are those of the stash, in an order. The **rest** is small and written
//! whole each time. An owner who keeps these three can resume the scheme; [`FullSnapshot`](crate::snapshot::full)
//! returns the whole state at once.

use crate::position_map::flat::Positions;
use crate::snapshot::full::{FullSnapshot, SnapshotError};
use crate::snapshot::word_table::WordTable;
use crate::stash::Stash;
use crate::stash::changes::StashChanges;
use crate::stash::payloads::PayloadSource;
pub use crate::stash::payloads::Payloads;
use crate::types::{BlockId, Bucket, Slot};
use alloc::boxed::Box;
use alloc::vec::Vec;
use borsh::BorshDeserialize;
use core::cell::RefMut;
use core::error::Error;
use core::ops::Range;

/// The changes of a scheme's trusted state since they were last taken. Secret.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Changes {
    /// The indices of the words that may have changed, in ascending order, each once.
    pub words: Vec<u64>,
    /// The blocks that were added, removed or written.
    pub stash: StashChanges,
}

/// The parts of a trusted state from which a scheme is resumed.
pub struct Parts<'a> {
    /// The tables of words, of the sizes that [`IncrementalSnapshot::tables`] gives.
    pub tables: Vec<Vec<u32>>,
    /// The state that is in neither the tables nor the stash.
    pub rest: &'a [u8],
    /// The blocks of the stash in their order, the first of a list last.
    pub order: &'a [BlockId],
    /// The payloads of the scheme's blocks.
    pub payloads: &'a mut dyn Payloads,
    /// The source of the payloads that are not in memory, if there is one. It then has those of all these blocks, and
    /// none is read from `payloads`.
    pub payload_source: Option<Box<dyn PayloadSource>>,
}

impl Parts<'_> {
    /// Takes the positions out, the only table of a scheme with this many blocks.
    ///
    /// # Errors
    /// [`SnapshotError::Mismatch`].
    pub(crate) fn take_only_positions<P: Error + 'static>(
        &mut self,
        capacity: u64,
    ) -> Result<Positions, SnapshotError<P>> {
        match (self.tables.pop(), self.tables.is_empty()) {
            (Some(words), true) if words.len() as u64 == capacity => Ok(Positions::from_words(words)),
            _ => Err(SnapshotError::Mismatch),
        }
    }

    /// Reads the rest.
    ///
    /// # Errors
    /// [`SnapshotError::Mismatch`].
    pub(crate) fn read_rest<T: BorshDeserialize, P: Error + 'static>(&self) -> Result<T, SnapshotError<P>> {
        borsh::from_slice(self.rest).map_err(|_| SnapshotError::Mismatch)
    }

    /// Fills an empty stash with the blocks. Returns `false` if a stash with its parameters cannot hold them.
    #[must_use]
    pub(crate) fn fill_stash(self, stash: &mut Stash, positions: &Positions) -> bool {
        if let Some(payload_source) = self.payload_source {
            stash.set_payload_source(payload_source);
        }
        stash.refill(self.order, self.payloads, positions)
    }
}

/// The place of a block. Secret.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockPlace {
    /// The block was never accessed, and reads as zeros.
    Nowhere,
    /// The stash, on the trusted side.
    Stash,
    /// A slot of untrusted memory.
    Slot(Slot),
}

/// The slots of untrusted memory that still have the current payload of a block. The block is in the stash, or was put
/// into another bucket since.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Origins {
    /// The blocks with their slots. A block may be there more than once. Secret.
    pub slots: Vec<(BlockId, Slot)>,
    /// The maximum number of them. Public.
    pub max: u64,
}

/// An oblivious RAM whose trusted state can be written as changes. `R` is the randomness that it draws from.
pub trait IncrementalSnapshot<R>: FullSnapshot<R> {
    /// The scheme's public parameters.
    type Parameters;

    /// The sizes of its tables, in words of 32 bits. Public. A new scheme's words are all zeros.
    fn tables(parameters: &Self::Parameters) -> Vec<u64>;

    /// Lends its tables to the caller, one after the other.
    fn visit_tables(&self, visit: &mut dyn FnMut(&mut WordTable));

    /// Refuses while something is in flight, and after an operation that failed or was dropped half-way.
    ///
    /// # Errors
    /// [`SnapshotError::InFlight`], [`SnapshotError::Poisoned`].
    fn check_at_rest(&self) -> Result<(), SnapshotError<Self::ParametersError>>;

    /// Begins to record changes.
    fn track_changes(&self) {
        self.visit_tables(&mut WordTable::track_changes);
        if let Some(mut stash) = self.stash() {
            stash.track_changes();
        }
    }

    /// Takes the changes since the last call, or since [`track_changes`](Self::track_changes).
    ///
    /// # Errors
    /// [`SnapshotError::InFlight`], [`SnapshotError::Poisoned`]; in this case nothing is taken.
    fn take_changes(&self) -> Result<Changes, SnapshotError<Self::ParametersError>> {
        self.check_at_rest()?;
        let (mut words, mut before) = (Vec::new(), 0);
        self.visit_tables(&mut |table| {
            append_places(&mut words, before, table.take_changes());
            before += table.len();
        });
        let stash = self.stash().map(|mut stash| stash.take_changes()).unwrap_or_default();
        Ok(Changes { words, stash })
    }

    /// Copies neighbouring words; the tables follow one another.
    fn copy_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        let mut before = 0;
        self.visit_tables(&mut |table| {
            table.copy(before, &words, into);
            before += table.len();
        });
    }

    /// Holds all words as they are now, for [`copy_held_words`](Self::copy_held_words).
    fn hold_words(&self) {
        self.visit_tables(&mut WordTable::hold);
    }

    /// Copies neighbouring words as they were when they were held. Ranges follow one another from the first word to
    /// the last; accesses may continue meanwhile.
    fn copy_held_words(&self, words: Range<u64>, into: &mut Vec<u32>) {
        let mut before = 0;
        self.visit_tables(&mut |table| {
            table.copy_held(before, &words, into);
            before += table.len();
        });
    }

    /// The rest of the state: small, for any requests.
    fn rest(&self) -> Vec<u8>;

    /// The stash, if the scheme has one. The caller must not call the scheme while it holds this reference.
    fn stash(&self) -> Option<RefMut<'_, Stash>> {
        None
    }

    /// Lends the payload of a block of the stash to the caller.
    ///
    /// # Panics
    /// If the stash does not have the block.
    fn with_payload(&self, block: BlockId, visit: &mut dyn FnMut(&[u8])) {
        if let Some(stash) = self.stash() {
            stash.with_payload(stash.find(block).expect("the block is in the stash"), visit);
        }
    }

    /// All blocks of the stash; within a list the first block comes last.
    fn stash_order(&self) -> Vec<BlockId> {
        self.stash().map(|stash| stash.order()).unwrap_or_default()
    }

    /// The place of a block, if the trusted state knows it. By default it does not.
    fn locate(&self, _block: BlockId) -> Option<BlockPlace> {
        None
    }

    /// Notes [origins](Self::origins) from now on, if the scheme can do it.
    fn note_origins(&self) {}

    /// The origins of blocks, between two steps: none, unless they are [noted](Self::note_origins).
    fn origins(&self) -> Origins {
        Origins::default()
    }

    /// The origins in a written state. `None` if the state is not one of a scheme with these parameters.
    fn origins_of(_parameters: &Self::Parameters, _tables: &[Vec<u32>], _rest: &[u8]) -> Option<Origins> {
        Some(Origins::default())
    }

    /// Returns whether the payload of a block is in the stash, and with its source only. Secret.
    fn is_payload_external(&self, block: BlockId) -> bool {
        self.stash().is_some_and(|stash| stash.is_payload_external(block))
    }

    /// Loads the payload of a block into memory, if only its source has the payload.
    fn load_payload(&self, block: BlockId, payload: &[u8]) {
        if let Some(mut stash) = self.stash() {
            stash.load_payload(block, payload);
        }
    }

    /// Drops the payloads from memory that the source has: those that did not change since the changes were last taken.
    fn release_payloads(&self) {
        if let Some(mut stash) = self.stash() {
            stash.release_payloads();
        }
    }

    /// The maximum number of blocks that a write of these buckets takes from the stash. Public.
    fn max_blocks_in(&self, _buckets: &[Bucket]) -> usize {
        0
    }

    /// Resumes the scheme from a written state, over the store as it was when the state was written.
    ///
    /// # Errors
    /// [`SnapshotError::Parameters`], [`SnapshotError::Mismatch`].
    fn resume(
        parameters: Self::Parameters,
        parts: Parts<'_>,
        store: Self::Store,
        random: R,
    ) -> Result<Self, SnapshotError<Self::ParametersError>>;
}

/// Appends the places of the changed words of a table that begins at word `before`, in ascending order, each once.
fn append_places(words: &mut Vec<u64>, before: u64, mut places: Vec<u64>) {
    places.sort_unstable();
    places.dedup();
    words.extend(places.into_iter().map(|place| before + place));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_counted_through_all_tables() {
        let mut words = Vec::new();
        append_places(&mut words, 0, [3, 1, 3].into());
        append_places(&mut words, 4, [0, 9].into());
        assert_eq!(words, [1, 3, 4, 13]);
    }
}
