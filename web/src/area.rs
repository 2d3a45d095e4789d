//! The parts of untrusted memory as a reader of the paper knows them.

use ameles_core::tree::layout::Layout;
use ameles_core::types::Level;
use serde::Serialize;
use std::ops::Range;

/// The drawing of the buckets of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Shape {
    /// A level of a tree: the parts before and after it are its other levels.
    Tree,
    /// Rows of buckets, in their order.
    Row,
}

/// A part of untrusted memory: buckets of as many slots each.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Area {
    /// The name.
    pub name: String,
    /// The drawing of the buckets.
    pub shape: Shape,
    /// The number of the first slot.
    pub first_slot: u64,
    /// The number of buckets.
    pub buckets: u64,
    /// The number of slots of each bucket.
    pub slots: u32,
    /// The number of blocks in each slot that is not empty.
    pub entries: u32,
    /// The number of its first block, if all slots are full: the sum over all parts before it.
    pub first_entry: u64,
    /// The level of the hierarchy to which the area belongs, from 0, if levels fill and empty. The levels of a
    /// partition are counted after those of the partition before it.
    pub level: Option<usize>,
    /// The partition of the area, from 0: partitions are drawn next to each other.
    pub partition: Option<u64>,
    /// The word for a partition of this scheme.
    pub part: &'static str,
    /// The number of the position map whose PosMap blocks are in the area, from 1, the largest map. `None` if the area
    /// has the scheme's blocks.
    pub map: Option<u32>,
}

impl Area {
    /// The number of slots of all buckets.
    pub fn all_slots(&self) -> u64 {
        self.buckets * u64::from(self.slots)
    }

    /// The numbers of all slots.
    pub fn numbers(&self) -> Range<u64> {
        self.first_slot..self.first_slot + self.all_slots()
    }
}

/// The parts with this many blocks in each of their slots.
pub fn with_entries(mut areas: Vec<Area>, entries: u32) -> Vec<Area> {
    for area in &mut areas {
        area.entries = entries;
        area.first_entry = area.first_slot * u64::from(entries);
    }
    areas
}

/// The parts, and behind them the tree of a position map.
pub fn with_map(mut areas: Vec<Area>, map: u32, layout: &Layout, entries: u32) -> Vec<Area> {
    let first = areas.last().map_or((0, 0), |area| {
        (area.numbers().end, area.first_entry + area.all_slots() * u64::from(area.entries))
    });
    areas.extend(with_entries(tree(layout), entries).into_iter().map(|area| Area {
        map: Some(map),
        first_slot: first.0 + area.first_slot,
        first_entry: first.1 + area.first_entry,
        ..area
    }));
    areas
}

/// The levels of a tree, the root first: an extent for each.
pub fn tree(layout: &Layout) -> Vec<Area> {
    let extents = layout.extents().iter().enumerate();
    let levels = extents.map(|(level, extent)| (format!("level {level}"), extent.buckets, extent.slots));
    areas(Shape::Tree, levels)
}

/// Returns the consecutive parts: name, buckets, slots of each.
pub fn rows<N: Into<String>>(parts: impl IntoIterator<Item = (N, u64, u32)>) -> Vec<Area> {
    areas(Shape::Row, parts)
}

/// A tree of `levels` levels; each slot is a bucket of the layout.
pub fn tree_of_slots(levels: u32, slots: u32) -> Vec<Area> {
    areas(Shape::Tree, (0..levels).map(|level| (format!("level {level}"), 1 << level, slots)))
}

/// The buffer, the tables and lists of all levels, and the area for sorting of a hierarchical ORAM.
pub fn hierarchy(layout: &Layout) -> Vec<Area> {
    let last = layout.extents().len() - 1;
    let part = |(nth, extent): (usize, &ameles_core::tree::layout::Extent)| {
        let name = match nth {
            0 => "buffer".to_owned(),
            nth if nth == last => "room for sorting".to_owned(),
            nth if nth % 2 == 1 => format!("table of level {}", nth.div_ceil(2)),
            nth => format!("list of level {}", nth.div_ceil(2)),
        };
        (name, extent.buckets, extent.slots)
    };
    let mut areas = rows(layout.extents().iter().enumerate().map(part));
    for (nth, area) in areas.iter_mut().enumerate().take(last).skip(1) {
        area.level = Some((nth - 1) / 2);
    }
    areas
}

/// Returns the partitions, each a tree whose levels have this many buckets of one slot.
pub fn trees(partitions: u64, buckets: impl Iterator<Item = u64> + Clone) -> Vec<Area> {
    partitioned(Shape::Tree, partitions, 0, buckets)
}

/// The subtrees of processors, whose levels have this many buckets of one slot and begin at a level of the whole
/// tree.
pub fn subtrees(processors: u32, top: Level, buckets: impl Iterator<Item = u64> + Clone) -> Vec<Area> {
    let mut areas = partitioned(Shape::Tree, processors.into(), top.0, buckets);
    areas.iter_mut().for_each(|area| area.part = "processor");
    areas
}

/// Returns the partitions, each of levels of this many slots that fill and empty.
pub fn levels(partitions: u64, slots: impl Iterator<Item = u64> + Clone) -> Vec<Area> {
    let mut areas = partitioned(Shape::Row, partitions, 0, slots);
    for (nth, area) in areas.iter_mut().enumerate() {
        area.level = Some(nth);
    }
    areas
}

fn partitioned(
    shape: Shape,
    count: u64,
    first_level: u32,
    levels: impl Iterator<Item = u64> + Clone,
) -> Vec<Area> {
    let named = (first_level..).zip(levels).map(|(level, buckets)| (format!("level {level}"), buckets, 1));
    let each = (0..count).flat_map(|partition| named.clone().map(move |level| (partition, level)));
    let (partitions, levels): (Vec<u64>, Vec<_>) = each.unzip();
    let mut areas = areas(shape, levels);
    for (area, partition) in areas.iter_mut().zip(partitions) {
        area.partition = Some(partition);
    }
    areas
}

fn areas<N: Into<String>>(shape: Shape, parts: impl IntoIterator<Item = (N, u64, u32)>) -> Vec<Area> {
    let mut areas: Vec<Area> = Vec::new();
    for (name, buckets, slots) in parts.into_iter().filter(|(_, buckets, _)| *buckets > 0) {
        let first_slot = areas.last().map_or(0, |area| area.first_slot + area.all_slots());
        areas.push(Area {
            name: name.into(),
            shape,
            first_slot,
            buckets,
            slots,
            entries: 1,
            first_entry: first_slot,
            level: None,
            partition: None,
            part: "partition",
            map: None,
        });
    }
    areas
}
