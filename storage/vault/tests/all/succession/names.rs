//! The owner's knowledge: which names there are, and what each holds. Blocks are used as the gateway uses them: only a
//! block that no name holds is written, and it gets its name when its write was acknowledged.

use crate::support::chance::Chance;
use ameles_vault::{Row, RowChange};
use std::collections::{BTreeMap, BTreeSet};

/// A block, and the number of the write that it holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    pub block: u64,
    pub content: u64,
}

/// See the module.
pub struct Names {
    blocks: u64,
    acknowledged: BTreeMap<u8, Held>,
    /// Changes of names that were sent and not acknowledged.
    sent: BTreeMap<u8, Option<Held>>,
    free: BTreeSet<u64>,
    contents: u64,
    /// Puts and deletes that were acknowledged, and reads that were compared.
    pub changed: u64,
    pub read: u64,
}

impl Names {
    pub fn new(blocks: u64) -> Self {
        Names {
            blocks,
            acknowledged: BTreeMap::new(),
            sent: BTreeMap::new(),
            free: (0..blocks).collect(),
            contents: 0,
            changed: 0,
            read: 0,
        }
    }

    /// A free block, which no other caller gets until its name was changed or the process has died, and a content of
    /// its own.
    pub fn take(&mut self, chance: &mut Chance) -> Option<Held> {
        let nth = chance.below(self.free.len().max(1) as u64) as usize;
        let block = *self.free.iter().nth(nth)?;
        self.free.remove(&block);
        self.contents += 1;
        Some(Held { block, content: self.contents })
    }

    pub fn get(&self, name: u8) -> Option<Held> {
        self.acknowledged.get(&name).copied()
    }

    pub fn all(&self) -> Vec<Held> {
        self.acknowledged.values().copied().collect()
    }

    /// Notes that a change of a name sets out, and returns the row.
    pub fn send(&mut self, name: u8, held: Option<Held>) -> RowChange {
        self.sent.insert(name, held);
        RowChange { key: key(name).into(), value: held.map(|held| value(held).into()) }
    }

    /// Notes that the change was acknowledged.
    pub fn acknowledge(&mut self, name: u8) {
        let Some(held) = self.sent.remove(&name) else { return };
        let before = match held {
            Some(held) => self.acknowledged.insert(name, held),
            None => self.acknowledged.remove(&name),
        };
        self.free.extend(before.map(|held| held.block));
        self.changed += 1;
    }

    /// Adopts the rows as they are found after the process has died: each as it was acknowledged, or as it was sent.
    /// Blocks that no row names are free.
    ///
    /// # Panics
    /// If that is not so.
    pub fn adopt(&mut self, rows: &[Row]) {
        let found: BTreeMap<&[u8], &[u8]> = rows.iter().map(|row| (&row.key[..], &row.value[..])).collect();
        for name in 0..=u8::MAX {
            let row = found.get(&key(name)[..]).copied();
            let is = |held: Option<Held>| row == held.map(value).as_deref();
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
        let named: BTreeSet<u64> = self.acknowledged.values().map(|held| held.block).collect();
        assert_eq!(named.len(), self.acknowledged.len(), "a block has two names");
        self.free = (0..self.blocks).filter(|block| !named.contains(block)).collect();
    }
}

/// The payload that a content is told by.
pub fn payload(content: u64, block_bytes: usize) -> Vec<u8> {
    content.to_le_bytes().into_iter().cycle().take(block_bytes).collect()
}

fn key(name: u8) -> Vec<u8> {
    vec![b'n', name]
}

fn value(held: Held) -> Vec<u8> {
    [held.block.to_le_bytes(), held.content.to_le_bytes()].concat()
}
