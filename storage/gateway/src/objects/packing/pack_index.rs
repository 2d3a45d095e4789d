//! The index of packs: the place of every fragment, and the contents of every pack.

use super::PackedUsage;
use crate::objects::allocate::Allocation;
use bytes::Bytes;
use parking_lot::Mutex;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The name of a fragment: a number that is used once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FragmentId(pub(crate) u64);

/// The bytes of a small object, or of a small part of one.
#[derive(Debug)]
pub(crate) struct Fragment {
    id: FragmentId,
    bytes: u64,
    location: Mutex<Location>,
}

/// The place of a fragment's bytes now.
#[derive(Clone, Debug)]
pub(crate) enum Location {
    /// The object is in its row.
    Waiting(Bytes),
    /// The object is in a shared block, from this byte on.
    Packed { pack: Arc<Pack>, offset: u64 },
}

/// A block that fragments share. It is free again when no fragment and no reader holds it.
#[derive(Debug)]
pub(crate) struct Pack {
    allocation: Allocation,
}

impl Pack {
    /// Creates a pack; `allocation` has one block.
    pub(crate) fn new(allocation: Allocation) -> Arc<Self> {
        Arc::new(Pack { allocation })
    }

    pub(crate) fn block(&self) -> u64 {
        self.allocation.blocks().next().expect("a pack holds a block")
    }
}

impl Fragment {
    pub(crate) fn new(id: FragmentId, bytes: u64, location: Location) -> Arc<Self> {
        Arc::new(Fragment { id, bytes, location: Mutex::new(location) })
    }

    pub(crate) fn id(&self) -> FragmentId {
        self.id
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the present place of the fragment. The caller can read there even if the fragment moves meanwhile.
    pub(crate) fn location(&self) -> Location {
        self.location.lock().clone()
    }
}

/// All fragments of the catalogue.
#[derive(Debug, Default)]
pub(crate) struct PackIndex {
    fragments: BTreeMap<FragmentId, Arc<Fragment>>,
    /// The fragments that wait in rows, the oldest first.
    waiting: BTreeSet<FragmentId>,
    waiting_bytes: u64,
    /// The packs, by their blocks.
    packs: BTreeMap<u64, Packed>,
}

/// A pack and its live fragments.
#[derive(Debug)]
struct Packed {
    pack: Arc<Pack>,
    live: BTreeSet<FragmentId>,
    live_bytes: u64,
}

impl PackIndex {
    pub(crate) fn get(&self, id: FragmentId) -> Option<&Arc<Fragment>> {
        self.fragments.get(&id)
    }

    /// Returns the number after the largest one in use.
    pub(crate) fn next_id(&self) -> u64 {
        self.fragments.last_key_value().map_or(0, |(id, _)| id.0 + 1)
    }

    /// Adds a fragment, which may exist already.
    pub(crate) fn add(&mut self, fragment: &Arc<Fragment>) {
        if self.fragments.insert(fragment.id, Arc::clone(fragment)).is_none() {
            self.place(fragment);
        }
    }

    /// Removes a fragment, and its pack with the last fragment in it.
    pub(crate) fn remove(&mut self, id: FragmentId) {
        if let Some(fragment) = self.fragments.remove(&id) {
            self.unindex(&fragment);
        }
    }

    /// Moves fragments to their new places. Skips those that no longer exist.
    pub(crate) fn relocate(&mut self, locations: Vec<(FragmentId, Location)>) {
        for (id, location) in locations {
            if let Some(fragment) = self.fragments.get(&id).cloned() {
                self.unindex(&fragment);
                *fragment.location.lock() = location;
                self.place(&fragment);
            }
        }
    }

    fn place(&mut self, fragment: &Fragment) {
        match fragment.location() {
            Location::Waiting(_) => {
                self.waiting.insert(fragment.id);
                self.waiting_bytes += fragment.bytes;
            }
            Location::Packed { pack, .. } => {
                let packed = self.packs.entry(pack.block()).or_insert_with(|| Packed {
                    pack,
                    live: BTreeSet::new(),
                    live_bytes: 0,
                });
                packed.live.insert(fragment.id);
                packed.live_bytes += fragment.bytes;
            }
        }
    }

    fn unindex(&mut self, fragment: &Fragment) {
        match fragment.location() {
            Location::Waiting(_) => {
                self.waiting.remove(&fragment.id);
                self.waiting_bytes -= fragment.bytes;
            }
            Location::Packed { pack, .. } => {
                let Some(packed) = self.packs.get_mut(&pack.block()) else { return };
                packed.live.remove(&fragment.id);
                packed.live_bytes -= fragment.bytes;
                if packed.live.is_empty() {
                    self.packs.remove(&pack.block());
                }
            }
        }
    }

    pub(crate) fn waiting_bytes(&self) -> u64 {
        self.waiting_bytes
    }

    /// Returns waiting fragments for one block, each with its bytes and its offset: the oldest first, as far as they
    /// fit.
    pub(crate) fn fill(&self, block_bytes: u64) -> Vec<(FragmentId, Bytes, u64)> {
        let mut chosen = Vec::new();
        let mut offset = 0;
        for id in &self.waiting {
            if let Some(fragment) = self.fragments.get(id)
                && offset + fragment.bytes <= block_bytes
                && let Location::Waiting(bytes) = fragment.location()
            {
                chosen.push((*id, bytes, offset));
                offset += fragment.bytes;
            }
        }
        chosen
    }

    /// Returns the pack with the fewest live bytes, if it has at most `max` of them.
    pub(crate) fn emptiest(&self, max: u64) -> Option<Arc<Pack>> {
        let emptiest = self.packs.values().min_by_key(|packed| packed.live_bytes)?;
        (emptiest.live_bytes <= max).then(|| Arc::clone(&emptiest.pack))
    }

    /// Returns the fragments of a pack with their offsets.
    pub(crate) fn fragments_in(&self, pack: &Pack) -> Vec<(Arc<Fragment>, u64)> {
        let live = self.packs.get(&pack.block()).into_iter().flat_map(|packed| &packed.live);
        live.filter_map(|id| {
            let fragment = self.fragments.get(id)?;
            match fragment.location() {
                Location::Packed { offset, .. } => Some((Arc::clone(fragment), offset)),
                Location::Waiting(_) => None,
            }
        })
        .collect()
    }

    pub(crate) fn usage(&self) -> PackedUsage {
        PackedUsage {
            blocks: self.packs.len() as u64,
            live_bytes: self.packs.values().map(|packed| packed.live_bytes).sum(),
            waiting_bytes: self.waiting_bytes,
        }
    }
}
