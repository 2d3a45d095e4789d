//! The clients' knowledge: the names, and what each holds. Blocks are used as the gateway uses them. Only a block
//! without a name is written, and it gets its name when its write is acknowledged.

use crate::support::rng::TestRng;
use ameles_vault::{Row, RowChange};
use std::collections::{BTreeMap, BTreeSet};

/// A block, and the number of the write that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NamedBlock {
    pub block: u64,
    pub content: u64,
}

/// The names and what each holds.
pub struct NameModel {
    blocks: u64,
    acknowledged: BTreeMap<u8, NamedBlock>,
    /// The changes of names that were sent and not acknowledged.
    sent: BTreeMap<u8, Option<NamedBlock>>,
    free: BTreeSet<u64>,
    contents: u64,
    /// The number of puts and deletes that were acknowledged, and reads that were compared.
    pub changed: u64,
    pub read: u64,
}

impl NameModel {
    pub fn new(blocks: u64) -> Self {
        NameModel {
            blocks,
            acknowledged: BTreeMap::new(),
            sent: BTreeMap::new(),
            free: (0..blocks).collect(),
            contents: 0,
            changed: 0,
            read: 0,
        }
    }

    /// A free block, which no other caller gets until its name was changed or the process was killed, and unique
    /// contents for it.
    pub fn take(&mut self, rng: &mut TestRng) -> Option<NamedBlock> {
        let nth = rng.below(self.free.len().max(1) as u64) as usize;
        let block = *self.free.iter().nth(nth)?;
        self.free.remove(&block);
        self.contents += 1;
        Some(NamedBlock { block, content: self.contents })
    }

    pub fn get(&self, name: u8) -> Option<NamedBlock> {
        self.acknowledged.get(&name).copied()
    }

    pub fn all(&self) -> Vec<NamedBlock> {
        self.acknowledged.values().copied().collect()
    }

    /// Records that a change of a name is sent, and returns the row.
    pub fn send(&mut self, name: u8, named: Option<NamedBlock>) -> RowChange {
        self.sent.insert(name, named);
        RowChange { key: key(name).into(), value: named.map(|named| value(named).into()) }
    }

    /// Records that the change was acknowledged.
    pub fn acknowledge(&mut self, name: u8) {
        let Some(named) = self.sent.remove(&name) else { return };
        let before = match named {
            Some(named) => self.acknowledged.insert(name, named),
            None => self.acknowledged.remove(&name),
        };
        self.free.extend(before.map(|named| named.block));
        self.changed += 1;
    }

    /// Adopts the rows that are found after the process was killed: each as it was acknowledged, or as it was sent.
    /// Blocks that no row names are free.
    ///
    /// # Panics
    /// If a row is neither.
    pub fn adopt(&mut self, rows: &[Row]) {
        let found: BTreeMap<&[u8], &[u8]> = rows.iter().map(|row| (&row.key[..], &row.value[..])).collect();
        for name in 0..=u8::MAX {
            let row = found.get(&key(name)[..]).copied();
            let is = |named: Option<NamedBlock>| row == named.map(value).as_deref();
            if is(self.get(name)) {
                self.sent.remove(&name);
                continue;
            }
            let sent = self.sent.get(&name).copied().unwrap_or_else(|| panic!("name {name} was changed"));
            assert!(is(sent), "name {name} was lost");
            self.acknowledge(name);
        }
        let known = (0..=u8::MAX).map(key).collect::<BTreeSet<_>>();
        let strange = rows.iter().filter(|row| !known.contains(&row.key[..])).count();
        assert!(strange <= 1, "there are {strange} rows beside the names");
        let named: BTreeSet<u64> = self.acknowledged.values().map(|named| named.block).collect();
        assert_eq!(named.len(), self.acknowledged.len(), "a block has two names");
        self.free = (0..self.blocks).filter(|block| !named.contains(block)).collect();
    }
}

/// The payload for these contents.
pub fn payload(content: u64, block_bytes: usize) -> Vec<u8> {
    content.to_le_bytes().into_iter().cycle().take(block_bytes).collect()
}

fn key(name: u8) -> Vec<u8> {
    vec![b'n', name]
}

fn value(named: NamedBlock) -> Vec<u8> {
    [named.block.to_le_bytes(), named.content.to_le_bytes()].concat()
}
