//! The state of a simulation, to be drawn.

use crate::area::Area;
use crate::driven::number;
use crate::made::Processors;
use crate::simulation::Simulation;
use lethe_core::block_header::{self, HEADER_BYTES};
use lethe_core::inspect::{Position, TrustedBlock};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An entry in which no block is.
pub const EMPTY: i64 = -1;

/// All that the owner knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// Steps so far.
    pub step: u64,
    /// The block in each entry of each slot, one slot after the other; [`EMPTY`] if there is none.
    pub blocks: Vec<i64>,
    /// The number in each entry.
    pub numbers: Vec<u32>,
    /// The entries that hold an old copy of their block.
    pub old: Vec<usize>,
    /// The slots that were ever written.
    pub written: Vec<u64>,
    /// The slots whose contents are on the trusted side for now.
    pub stale: Vec<u64>,
    /// The slots that were read, and are not read again before they are written.
    pub used: Vec<u64>,
    /// The slots that the store is asked to read now: what is in them is not yet on the trusted side.
    pub asked: Vec<u64>,
    /// The blocks on the trusted side.
    pub stash: Vec<Trusted>,
    /// The place of each block; `None` if it has none.
    pub positions: Vec<Option<u64>>,
    /// The word for a place: leaf, slot or partition.
    pub place: &'static str,
    /// True if stash and positions are those from before the operation under way, which has them.
    pub is_taken: bool,
    /// The levels that hold something.
    pub levels: Vec<bool>,
    /// Numbers that the scheme counts.
    pub counters: Vec<(&'static str, u64)>,
}

/// A block on the trusted side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trusted {
    /// The block.
    pub block: u64,
    /// Its leaf, if it has one.
    pub leaf: Option<u64>,
    /// The number in it.
    pub number: u32,
    /// The processor that has it, in a scheme of many.
    pub processor: Option<u64>,
}

impl Picture {
    /// The picture of this moment.
    pub fn of(simulation: &Simulation) -> Self {
        let (made, known) = (simulation.made(), simulation.known());
        let contents = made.memory.contents();
        let entries = made.blocks_per_slot as usize;
        let entry_bytes = made.entry_bytes();
        let header_bytes = if made.has_headers { HEADER_BYTES } else { 0 };
        let placed: Option<BTreeMap<u64, u64>> = known
            .placed
            .as_ref()
            .map(|placed| placed.iter().map(|(slot, block)| (made.memory.number(*slot), block.0)).collect());
        let (mut blocks, mut numbers) = (Vec::new(), Vec::new());
        for (slot, bytes) in (0u64..).zip(&contents.slots) {
            for entry in 0..entries {
                let bytes = bytes.get(entry * entry_bytes..(entry + 1) * entry_bytes).unwrap_or_default();
                let block = match &placed {
                    Some(placed) => placed.get(&slot).copied(),
                    None if bytes.len() < HEADER_BYTES => None,
                    None => block_header::read(bytes).map(|(block, _)| block.0),
                };
                blocks.push(block.map_or(EMPTY, |block| block as i64));
                numbers.push(number(bytes.get(header_bytes..).unwrap_or_default()));
            }
        }
        let place = |position: &Option<Position>| match position.as_ref()? {
            Position::Leaf(leaf) => Some(leaf.0),
            Position::Bucket(bucket) => made.memory.numbers(*bucket).next(),
            Position::Partition(partition) => Some(*partition),
        };
        let positions: Vec<Option<u64>> = known.positions.iter().map(place).collect();
        let stash: Vec<Trusted> = known.stash.iter().map(|held| trusted(held, made.processors)).collect();
        let word = word(&known.positions);
        let used: Vec<u64> = known.used.iter().map(|slot| made.memory.number(*slot)).collect();
        let asked = made.memory.being_read();
        let mut old = emptied(simulation, &used, &asked);
        if word == "slot" && !simulation.is_taken() {
            old.extend(elsewhere(&blocks, &positions, &stash));
        }
        let old = (0..blocks.len())
            .filter(|entry| blocks[*entry] != EMPTY && old.contains(&(entry / entries)))
            .collect();
        Picture {
            step: simulation.steps(),
            blocks,
            numbers,
            old,
            written: (0..).zip(&contents.written).filter(|(_, was)| **was).map(|(slot, _)| slot).collect(),
            stale: known.stale.iter().flat_map(|bucket| made.memory.numbers(*bucket)).collect(),
            used,
            asked,
            stash,
            positions,
            place: word,
            is_taken: simulation.is_taken(),
            levels: known.levels.clone(),
            counters: known.counters.clone(),
        }
    }
}

fn trusted(held: &TrustedBlock, processors: Option<Processors>) -> Trusted {
    let leaf = held.leaf.map(|leaf| leaf.0);
    let processor = processors.and_then(|Processors { leaves, .. }| leaf.map(|leaf| leaf / leaves));
    Trusted { block: held.block.0, leaf, number: number(&held.payload), processor }
}

/// The word for places.
fn word(positions: &[Option<Position>]) -> &'static str {
    match positions.iter().flatten().next() {
        Some(Position::Leaf(_)) => "leaf",
        Some(Position::Partition(_)) => "partition",
        Some(Position::Bucket(_)) | None => "slot",
    }
}

/// The slots whose blocks were taken out: they were read, or their level holds nothing. Those that are only asked for
/// still hold theirs.
fn emptied(simulation: &Simulation, used: &[u64], asked: &[u64]) -> BTreeSet<usize> {
    let levels = &simulation.known().levels;
    let is_empty = |area: &&Area| area.level.and_then(|level| levels.get(level)) == Some(&false);
    let empty = simulation.made().areas.iter().filter(is_empty);
    let emptied = empty.flat_map(|area| area.first_slot..area.first_slot + area.all_slots());
    let emptied: BTreeSet<u64> = emptied.chain(used.iter().copied()).collect();
    let asked = asked.iter().copied().collect();
    emptied.difference(&asked).map(|slot| *slot as usize).collect()
}

/// The slots, of one entry each, whose block has its newest copy elsewhere: where the position map says, or in the stash.
fn elsewhere(blocks: &[i64], positions: &[Option<u64>], stash: &[Trusted]) -> Vec<usize> {
    if positions.is_empty() {
        return Vec::new();
    }
    let trusted: BTreeSet<u64> = stash.iter().map(|held| held.block).collect();
    let is_old = |slot: usize, block: i64| {
        let Ok(block) = u64::try_from(block) else { return false };
        let newest = positions.get(block as usize).copied().flatten();
        trusted.contains(&block) || newest.is_some_and(|newest| newest != slot as u64)
    };
    blocks.iter().enumerate().filter(|(slot, block)| is_old(*slot, **block)).map(|(slot, _)| slot).collect()
}
