//! A file of a [fragile disk](super::fragile_disk): its bytes, and the changes that a power loss may lose.

use super::rng::TestRng;
use std::collections::{BTreeMap, BTreeSet};

/// The bytes that a disk writes atomically.
const SECTOR: usize = 512;

/// A file of the disk.
#[derive(Clone, Debug, Default)]
pub(super) struct FileState {
    /// The bytes that survive a power loss.
    pub(super) durable: Vec<u8>,
    /// The bytes that a reader sees.
    pub(super) cached: Vec<u8>,
    /// The changes from `durable` to `cached`, in order.
    pub(super) unsynced: Vec<Change>,
    /// The pages that have been written to; the others use no space.
    pub(super) pages: BTreeSet<usize>,
}

/// A change of the bytes that a reader sees.
#[derive(Clone, Debug)]
pub enum Change {
    Write(usize, Vec<u8>),
    Resize(usize),
}

impl FileState {
    /// The number of the last whole group, in a file of a journal.
    pub(super) fn last_group(&self) -> Option<u64> {
        let mut groups: BTreeMap<u64, (usize, usize)> = BTreeMap::new();
        for sector in self.cached.chunks_exact(SECTOR) {
            let (group, left) = group_of(sector);
            let (count, of) = groups.entry(group).or_default();
            (*count, *of) = (*count + 1, (*of).max(left + 1));
        }
        groups
            .into_iter()
            .rev()
            .find(|(group, (count, of))| *group > 0 && count == of)
            .map(|(group, _)| group)
    }

    /// Removes a group permanently, and those after it, in a file of a journal.
    pub(super) fn remove_groups(&mut self, first: u64) {
        for bytes in [&mut self.cached, &mut self.durable] {
            let sectors = bytes.chunks_exact_mut(SECTOR).filter(|sector| group_of(sector).0 >= first);
            sectors.for_each(|sector| sector.fill(0));
        }
    }

    /// Makes everything durable.
    pub(super) fn sync(&mut self) {
        let FileState { durable, unsynced, .. } = self;
        unsynced.drain(..).for_each(|change| apply(durable, &change));
    }

    pub(super) fn lose_power(&mut self, rng: &mut TestRng) {
        let unsynced = std::mem::take(&mut self.unsynced);
        // All, none, a prefix, or any subset of them.
        let (kind, cut) = (rng.below(4), rng.below(unsynced.len() as u64 + 1) as usize);
        for (nth, change) in unsynced.into_iter().enumerate() {
            match kind {
                0 => {}
                1 => apply(&mut self.durable, &change),
                2 if nth < cut => apply(&mut self.durable, &change),
                2 if nth == cut => apply_some(&mut self.durable, change, rng),
                2 => {}
                _ => apply_some(&mut self.durable, change, rng),
            }
        }
        self.cached = self.durable.clone();
    }
}

impl Change {
    /// The ways in which a crash can tear a write, at each boundary of its sectors. Only the sectors before it are
    /// written, or only those after it. Empty if the write has one sector, or changes nothing.
    pub fn torn(&self) -> Vec<Change> {
        let Change::Write(at, data) = self else { return Vec::new() };
        let cuts = (SECTOR..data.len()).step_by(SECTOR).filter(|_| data.iter().any(|byte| *byte != 0));
        let torn = |cut| {
            let (before, after) = (data[..cut].to_vec(), data[cut..].to_vec());
            [Change::Write(*at, before), Change::Write(at + cut, after)]
        };
        cuts.flat_map(torn).collect()
    }

    pub(super) fn bytes(&self) -> usize {
        match self {
            Change::Write(_, data) => data.len(),
            Change::Resize(_) => 0,
        }
    }
}

/// The number of a group in a sector of the journal, and of its sectors after this one. Both are 0 if it is blank.
fn group_of(sector: &[u8]) -> (u64, usize) {
    let left = u32::from_le_bytes(sector[4..8].try_into().expect("4 bytes"));
    (u64::from_le_bytes(sector[8..16].try_into().expect("8 bytes")), left as usize)
}

pub(super) fn apply(bytes: &mut Vec<u8>, change: &Change) {
    match change {
        Change::Write(at, data) => {
            let end = at + data.len();
            if bytes.len() < end {
                bytes.resize(end, 0);
            }
            bytes[*at..end].copy_from_slice(data);
        }
        Change::Resize(len) => resize(bytes, *len),
    }
}

/// Does what `Vec::resize` does, which would fill a new database byte by byte in a build for tests.
fn resize(bytes: &mut Vec<u8>, len: usize) {
    let mut resized = vec![0; len];
    let kept = len.min(bytes.len());
    resized[..kept].copy_from_slice(&bytes[..kept]);
    *bytes = resized;
}

/// Applies any subset of the change's sectors.
fn apply_some(bytes: &mut Vec<u8>, change: Change, rng: &mut TestRng) {
    match change {
        Change::Write(at, data) => {
            for (nth, sector) in data.chunks(SECTOR).enumerate() {
                if rng.percent(50) {
                    apply(bytes, &Change::Write(at + nth * SECTOR, sector.to_vec()));
                }
            }
        }
        resize @ Change::Resize(_) if rng.percent(50) => apply(bytes, &resize),
        Change::Resize(_) => {}
    }
}
