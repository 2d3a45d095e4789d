//! A trusted state that is written as changes, as an owner of a scheme keeps it.

use ameles_core::snapshot::full::SnapshotError;
use ameles_core::snapshot::incremental::{IncrementalSnapshot, Origins, Parts, Payloads};
use ameles_core::types::BlockId;
use std::collections::BTreeMap;

/// The words, blocks and rest that were written down. Unchanged parts were not read again.
pub struct DeltaCopy {
    tables: Vec<u64>,
    words: Vec<u32>,
    rest: Vec<u8>,
    /// The payload of each block, and when it came into its list.
    blocks: BTreeMap<BlockId, (u64, Vec<u8>)>,
    insertions: u64,
}

impl DeltaCopy {
    /// Begins to write down a scheme that is new.
    pub fn begin<R, O: IncrementalSnapshot<R>>(scheme: &O, parameters: &O::Parameters) -> Self {
        scheme.track_changes();
        let tables = O::tables(parameters);
        let words = vec![0; tables.iter().sum::<u64>() as usize];
        DeltaCopy { tables, words, rest: scheme.rest(), blocks: BTreeMap::new(), insertions: 0 }
    }

    /// Writes down what changed since the last call.
    pub fn write<R, O: IncrementalSnapshot<R>>(&mut self, scheme: &O) {
        let changes = scheme.take_changes().expect("nothing is in flight");
        let mut word = Vec::new();
        for place in changes.words {
            word.clear();
            scheme.copy_words(place..place + 1, &mut word);
            self.words[place as usize] = word[0];
        }
        for removed in changes.stash.removed {
            self.blocks.remove(&removed);
        }
        for block in changes.stash.linked {
            self.insertions += 1;
            self.blocks.entry(block).or_default().0 = self.insertions;
        }
        for block in changes.stash.written {
            let entry = self.blocks.get_mut(&block).expect("a block that is written came into a list");
            scheme.with_payload(block, &mut |payload| entry.1 = payload.to_vec());
        }
        self.rest = scheme.rest();
        let mut whole = Vec::new();
        scheme.copy_words(0..self.words.len() as u64, &mut whole);
        assert_eq!(whole, self.words, "no change went by");
        assert_eq!(scheme.stash_order().len(), self.blocks.len());
    }

    /// The origins of blocks in what was written down.
    pub fn origins<R, O: IncrementalSnapshot<R>>(
        &self,
        _: &O,
        parameters: &O::Parameters,
    ) -> Option<Origins> {
        let mut words = self.words.iter().copied();
        let tables = self.tables.iter().map(|size| words.by_ref().take(*size as usize).collect());
        O::origins_of(parameters, &tables.collect::<Vec<_>>(), &self.rest)
    }

    /// Takes the scheme up again, with one word changed by the caller.
    pub fn resume<R, O: IncrementalSnapshot<R>>(
        &self,
        parameters: O::Parameters,
        (store, random): (O::Store, R),
        corrupt: impl FnOnce(&mut Vec<u32>),
    ) -> Result<O, SnapshotError<O::ParametersError>> {
        let mut words = self.words.clone();
        corrupt(&mut words);
        let mut words = words.into_iter();
        let tables = self.tables.iter().map(|size| words.by_ref().take(*size as usize).collect()).collect();
        let mut blocks: Vec<_> = self.blocks.iter().collect();
        blocks.sort_by_key(|(_, (insertion, _))| *insertion);
        let order: Vec<BlockId> = blocks.iter().map(|(block, _)| **block).collect();
        let mut payloads =
            Pages(self.blocks.iter().map(|(block, (_, payload))| (*block, &payload[..])).collect());
        let parts =
            Parts { tables, rest: &self.rest, order: &order, payloads: &mut payloads, payload_source: None };
        O::resume(parameters, parts, store, random)
    }
}

/// The payloads in a notebook, by block.
struct Pages<'a>(Vec<(BlockId, &'a [u8])>);

impl Payloads for Pages<'_> {
    fn next_block(&mut self) -> Option<BlockId> {
        self.0.last().map(|(block, _)| *block)
    }

    fn fill(&mut self, payload: &mut [u8]) -> bool {
        self.0.pop().is_some_and(|(_, from)| {
            payload.copy_from_slice(from);
            true
        })
    }
}
