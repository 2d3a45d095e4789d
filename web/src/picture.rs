//! The state of a simulation, to be drawn.

use crate::area::Area;
use crate::instance::{Instance, Processors};
use crate::simulation::Simulation;
use crate::stepped_scheme::{BLOCK_BYTES, number};
use ameles_core::inspect::{Inspection, Position, TrustedBlock};
use ameles_core::tree::block_header::{self, HEADER_BYTES};
use serde::Serialize;
use std::collections::{BTreeMap, BTreeSet};

/// An entry in which no block is.
pub const EMPTY: i64 = -1;

/// All that the owner knows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Picture {
    /// The number of steps so far.
    pub step: u64,
    /// The block in each entry of each slot, slot by slot; [`EMPTY`] if there is none.
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
    /// The slots that the store is reading now: their contents are not yet on the trusted side.
    pub asked: Vec<u64>,
    /// The blocks on the trusted side.
    pub stash: Vec<Trusted>,
    /// The place of each block; `None` if it has none.
    pub positions: Vec<Option<u64>>,
    /// The word for a place: leaf, slot or partition.
    pub place: &'static str,
    /// True if stash and positions are those from before the current operation, which owns them.
    pub is_outdated: bool,
    /// The levels that hold something.
    pub levels: Vec<bool>,
    /// The numbers that the scheme counts.
    pub counters: Vec<(&'static str, u64)>,
    /// The PosMap blocks of a recursive position map.
    pub maps: Maps,
}

/// The PosMap blocks of a recursive position map.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Maps {
    /// The leaves in each occupied entry; `None` for one that was never mapped.
    pub leaves: BTreeMap<usize, Vec<Option<u64>>>,
    /// The PosMap blocks on the trusted side, of each tree of the map, the largest first.
    pub stashes: Vec<Vec<TrustedMap>>,
}

/// A PosMap block on the trusted side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TrustedMap {
    /// The block.
    pub block: u64,
    /// The leaf of the PosMap block.
    pub leaf: Option<u64>,
    /// The leaves in the block.
    pub leaves: Vec<Option<u64>>,
}

/// A block on the trusted side.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Trusted {
    /// The block.
    pub block: u64,
    /// The leaf of the block, if it has one.
    pub leaf: Option<u64>,
    /// The number in the block.
    pub number: u32,
    /// The processor that holds it, in a scheme of many.
    pub processor: Option<u64>,
}

impl Picture {
    /// The picture of the current state.
    pub fn of(simulation: &Simulation) -> Self {
        let (instance, inspection) = (simulation.instance(), simulation.last_inspection());
        let entries = Entries::of(instance, inspection);
        let place = |position: &Option<Position>| match position.as_ref()? {
            Position::Leaf(leaf) => Some(leaf.0),
            Position::Bucket(bucket) => instance.memory.numbers(*bucket).next(),
            Position::Partition(partition) => Some(*partition),
        };
        let positions: Vec<Option<u64>> = inspection.positions.iter().map(place).collect();
        let stash: Vec<Trusted> =
            inspection.stash.iter().map(|held| trusted(held, instance.processors)).collect();
        let word = word(&inspection.positions);
        let used: Vec<u64> = inspection.used.iter().map(|slot| instance.memory.number(*slot)).collect();
        let asked = instance.memory.being_read();
        let mut old = emptied(simulation, &used, &asked);
        if word == "slot" && !simulation.is_outdated() {
            old.extend(elsewhere(&entries.blocks, &positions, &stash));
        }
        let old = (0..entries.blocks.len())
            .filter(|entry| entries.blocks[*entry] != EMPTY && old.contains(&entries.slots[*entry]))
            .collect();
        let stale = inspection.stale.iter().chain(inspection.maps.iter().flat_map(|map| &map.stale));
        let stashes = inspection.maps.iter().map(|map| map.stash.iter().map(trusted_map).collect());
        Picture {
            step: simulation.steps(),
            blocks: entries.blocks,
            numbers: entries.numbers,
            old,
            written: (0..).zip(&entries.written).filter(|(_, was)| **was).map(|(slot, _)| slot).collect(),
            stale: stale.flat_map(|bucket| instance.memory.numbers(*bucket)).collect(),
            used,
            asked,
            stash,
            positions,
            place: word,
            is_outdated: simulation.is_outdated(),
            levels: inspection.levels.clone(),
            counters: inspection.counters.clone(),
            maps: Maps { leaves: entries.leaves, stashes: stashes.collect() },
        }
    }
}

/// The blocks of all slots, slot by slot.
#[derive(Default)]
struct Entries {
    /// The block of each entry.
    blocks: Vec<i64>,
    /// The numbers of the entries.
    numbers: Vec<u32>,
    /// The slots of the entries.
    slots: Vec<usize>,
    /// The leaves of each entry that holds a PosMap block.
    leaves: BTreeMap<usize, Vec<Option<u64>>>,
    /// Tells of each slot whether it was ever written.
    written: Vec<bool>,
}

impl Entries {
    fn of(instance: &Instance, inspection: &Inspection) -> Self {
        let contents = instance.memory.contents();
        let placed: Option<BTreeMap<u64, u64>> = inspection.placed.as_ref().map(|placed| {
            placed.iter().map(|(slot, block)| (instance.memory.number(*slot), block.0)).collect()
        });
        let header_bytes = if instance.has_headers { HEADER_BYTES } else { 0 };
        let mut all = Entries { written: contents.written, ..Entries::default() };
        for (area, slot) in
            instance.areas.iter().flat_map(|area| area.numbers().map(move |slot| (area, slot)))
        {
            let (bytes, entry_bytes) = (&contents.slots[slot as usize], instance.entry_bytes(area));
            for entry in 0..area.entries as usize {
                let bytes = bytes.get(entry * entry_bytes..(entry + 1) * entry_bytes).unwrap_or_default();
                let block = match &placed {
                    Some(placed) if area.map.is_none() => placed.get(&slot).copied(),
                    _ if bytes.len() < HEADER_BYTES => None,
                    _ => block_header::read(bytes).map(|(block, _)| block.0),
                };
                let payload = bytes.get(header_bytes..).unwrap_or_default();
                if area.map.is_some() && block.is_some() {
                    all.leaves.insert(all.blocks.len(), leaves(payload));
                }
                all.blocks.push(block.map_or(EMPTY, |block| block as i64));
                all.numbers.push(number(payload));
                all.slots.push(slot as usize);
            }
        }
        all
    }
}

/// The leaves in a PosMap block: a word is 0 for none, otherwise leaf + 1.
fn leaves(payload: &[u8]) -> Vec<Option<u64>> {
    payload.chunks(BLOCK_BYTES as usize).map(|word| number(word).checked_sub(1).map(u64::from)).collect()
}

fn trusted_map(held: &TrustedBlock) -> TrustedMap {
    let leaf = held.leaf.map(|leaf| leaf.0);
    TrustedMap { block: held.block.0, leaf, leaves: leaves(&held.payload) }
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

/// The slots whose blocks were taken out: they were read, or their level holds nothing. Those that are only requested
/// still hold theirs.
fn emptied(simulation: &Simulation, used: &[u64], asked: &[u64]) -> BTreeSet<usize> {
    let levels = &simulation.last_inspection().levels;
    let is_empty = |area: &&Area| area.level.and_then(|level| levels.get(level)) == Some(&false);
    let empty = simulation.instance().areas.iter().filter(is_empty);
    let emptied = empty.flat_map(Area::numbers);
    let emptied: BTreeSet<u64> = emptied.chain(used.iter().copied()).collect();
    let asked = asked.iter().copied().collect();
    emptied.difference(&asked).map(|slot| *slot as usize).collect()
}

/// The slots, of one entry each, whose block has its newest copy elsewhere: where the position map points, or in the
/// stash.
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
