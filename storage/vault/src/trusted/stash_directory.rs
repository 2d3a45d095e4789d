//! The directory of the stash: the slot on the trusted disk of each block, with what is needed to open it.

use super::slots::StashSlot;
use crate::error::VaultError;
use crate::trusted::header::VaultHeader;
use crate::trusted::seal_context::SealContext;
use ameles_core::stash::changes::StashChanges;
use ameles_core::types::BlockId;
use ameles_seal::cipher::TAG_BYTES;
use ameles_seal::derive::{Purpose, Salt};
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::{RecordOpener, RecordSealer};
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, MutexGuard};

/// The number of words of an entry in the trusted state.
pub(crate) const ENTRY_WORDS: u64 = 10;

/// The words of an entry; all zeros for a vacant slot.
type Words = [u32; ENTRY_WORDS as usize];

/// A key for payloads: its number and its salt.
pub(crate) type StashKey = (u32, Salt);

/// The entry of a slot with a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Entry {
    pub(crate) block: BlockId,
    /// The number of the payload's key, and the nonce.
    key: u32,
    nonce: u64,
    /// The order in which blocks came into their lists.
    linked_at: u64,
    tag: [u8; TAG_BYTES],
}

impl Entry {
    fn to_words(self) -> Words {
        let halves = |long: u64| [long as u32, (long >> 32) as u32];
        let ([nonce, nonce_high], [linked_at, linked_at_high]) = (halves(self.nonce), halves(self.linked_at));
        let tag = |at: usize| u32::from_le_bytes([0, 1, 2, 3].map(|byte| self.tag[4 * at + byte]));
        let block = self.block.0 as u32 + 1;
        [block, self.key, nonce, nonce_high, linked_at, linked_at_high, tag(0), tag(1), tag(2), tag(3)]
    }

    /// The tag of the payload, which differs from that of every other payload.
    pub(crate) fn tag(&self) -> [u8; TAG_BYTES] {
        self.tag
    }

    /// The entry of a placeholder payload, sealed first under key number 0.
    pub(crate) fn placeholder(tag: [u8; TAG_BYTES]) -> Self {
        Entry { block: BlockId(0), key: 0, nonce: 0, linked_at: 0, tag }
    }

    /// The entry of these words; `None` for a vacant slot.
    fn from_words(words: &Words) -> Option<Entry> {
        let [block, key, nonce, nonce_high, linked_at, linked_at_high, tag @ ..] = *words;
        let long = |low: u32, high: u32| u64::from(high) << 32 | u64::from(low);
        let mut bytes = [0; TAG_BYTES];
        for (into, word) in bytes.chunks_exact_mut(4).zip(tag) {
            into.copy_from_slice(&word.to_le_bytes());
        }
        let block = BlockId(block.checked_sub(1)?.into());
        Some(Entry {
            block,
            key,
            nonce: long(nonce, nonce_high),
            linked_at: long(linked_at, linked_at_high),
            tag: bytes,
        })
    }
}

/// A function that shows the payload of a block in the stash.
pub(crate) type ShowPayload<'a> = &'a mut dyn FnMut(BlockId, &mut dyn FnMut(&[u8]));

/// The slots and their blocks. Between checkpoints it is the state of the last one. The reader of payloads shares it.
#[derive(Default)]
pub(crate) struct SlotMap {
    /// The entry of each slot, as words: a third less than an [`Entry`] takes in memory.
    entries: Vec<Words>,
    /// The slot of each block.
    slots: HashMap<u32, StashSlot>,
    keys: Vec<StashKey>,
}

impl SlotMap {
    /// The slot of a block, and its entry.
    pub(crate) fn find(&self, block: BlockId) -> Option<(StashSlot, Entry)> {
        let slot = *self.slots.get(&(block.0 as u32))?;
        Some((slot, self.entry(slot)))
    }

    /// The first slot with a block from this number on, wrapping around at the end.
    pub(crate) fn next_from(&self, number: usize) -> Option<(StashSlot, Entry)> {
        let (before, from) = self.entries.split_at(number.min(self.entries.len()));
        let wrapped = (number..).zip(from).chain((0..).zip(before));
        wrapped.into_iter().find_map(|(at, words)| Some((StashSlot(at as u32), Entry::from_words(words)?)))
    }

    /// The number of slots, vacant ones included.
    pub(crate) fn len(&self) -> usize {
        self.entries.len()
    }

    /// The keys of the payloads.
    pub(crate) fn keys(&self) -> &[StashKey] {
        &self.keys
    }

    fn entry(&self, slot: StashSlot) -> Entry {
        Entry::from_words(&self.entries[slot.0 as usize]).expect("a block's place has an entry")
    }

    fn set(&mut self, slot: StashSlot, entry: Entry) {
        self.entries[slot.0 as usize] = entry.to_words();
        self.slots.insert(entry.block.0 as u32, slot);
    }

    /// Adds a vacant slot.
    fn push(&mut self) -> StashSlot {
        self.entries.push(Words::default());
        StashSlot(self.entries.len() as u32 - 1)
    }
}

/// The directory of a stash.
pub(crate) struct StashDirectory {
    map: Arc<Mutex<SlotMap>>,
    /// The slots that no checkpoint names.
    free_slots: BTreeSet<StashSlot>,
    /// The slots that only the last checkpoint names.
    vacated: Vec<StashSlot>,
    /// The slots that only an uploading checkpoint names, while there is one.
    pinned: Option<Vec<StashSlot>>,
    link_count: u64,
    sealing: Option<Sealing>,
}

/// The sealing key of this opening.
struct Sealing {
    number: u32,
    next: u64,
    sealer: RecordSealer,
}

/// The changes of a checkpoint to the slots.
#[derive(Default)]
pub(crate) struct SlotChanges {
    /// Sealed payloads with their slots.
    pub(crate) writes: Vec<(StashSlot, Vec<u8>)>,
    /// The slots whose entries have changed, in ascending order.
    pub(crate) entries: BTreeSet<StashSlot>,
}

impl StashDirectory {
    /// The directory of an empty stash.
    pub(crate) fn empty() -> Self {
        StashDirectory::of(&[], Vec::new()).expect("nothing contradicts itself")
    }

    /// The directory with these entries. `None` if a block has two slots, or a key is unknown.
    pub(crate) fn of(words: &[u32], mut keys: Vec<StashKey>) -> Option<Self> {
        let (mut slots, mut free_slots, mut used) = (HashMap::new(), BTreeSet::new(), BTreeSet::new());
        let (entries, rest) = words.as_chunks();
        if !rest.is_empty() {
            return None;
        }
        let (entries, mut link_count) = (entries.to_vec(), 0);
        for (slot, words) in (0..).map(StashSlot).zip(&entries) {
            match Entry::from_words(words) {
                Some(entry) => {
                    used.insert(entry.key);
                    link_count = link_count.max(entry.linked_at);
                    if slots.insert(entry.block.0 as u32, slot).is_some() {
                        return None;
                    }
                }
                None => drop(free_slots.insert(slot)),
            }
        }
        keys.retain(|(number, _)| used.contains(number));
        if keys.len() != used.len() {
            return None;
        }
        let (vacated, pinned, sealing) = (Vec::new(), None, None);
        let map = Arc::new(Mutex::new(SlotMap { entries, slots, keys }));
        Some(StashDirectory { map, free_slots, vacated, pinned, link_count, sealing })
    }

    /// The slots and their blocks, to be shared with a reader.
    pub(crate) fn slot_map(&self) -> Arc<Mutex<SlotMap>> {
        self.map.clone()
    }

    fn map(&self) -> MutexGuard<'_, SlotMap> {
        self.map.lock().expect("no thread panics while it holds this lock")
    }

    /// The number of slots in the file, vacant ones included.
    pub(crate) fn len(&self) -> u64 {
        self.map().len() as u64
    }

    /// The first slot after those in the directory.
    pub(crate) fn end(&self) -> StashSlot {
        StashSlot(self.map().len() as u32)
    }

    /// The keys of the payloads on the disk.
    pub(crate) fn keys(&self) -> Vec<StashKey> {
        self.map().keys.clone()
    }

    /// The slots with blocks, in order.
    pub(crate) fn entries(&self) -> Vec<(StashSlot, Entry)> {
        let map = self.map();
        let slots = (0..).map(StashSlot).zip(&map.entries);
        slots.filter_map(|(slot, words)| Some((slot, Entry::from_words(words)?))).collect()
    }

    /// The blocks in the order of the stash; the first block of a list is last.
    pub(crate) fn stash_order(&self) -> Vec<BlockId> {
        let mut blocks: Vec<(u64, BlockId)> =
            self.entries().into_iter().map(|(_, entry)| (entry.linked_at, entry.block)).collect();
        blocks.sort_unstable();
        blocks.into_iter().map(|(_, block)| block).collect()
    }

    /// Appends the words of a slot.
    pub(crate) fn copy_words(&self, slot: StashSlot, into: &mut Vec<u32>) {
        into.extend_from_slice(&self.map().entries[slot.0 as usize]);
    }

    /// Applies the changes of a stash. `with_payload` shows the payload of a block in the stash.
    pub(crate) fn apply_changes(
        &mut self,
        changes: StashChanges,
        seal: &mut SealContext<'_>,
        with_payload: ShowPayload<'_>,
    ) -> Result<SlotChanges, VaultError> {
        let mut changed = SlotChanges::default();
        for block in changes.removed {
            self.vacate(block, &mut changed);
        }
        let mut linked: HashMap<BlockId, u64> = HashMap::new();
        for block in changes.linked {
            self.link_count += 1;
            let mut map = self.map();
            match map.find(block) {
                Some((slot, entry)) => {
                    map.set(slot, Entry { linked_at: self.link_count, ..entry });
                    changed.entries.insert(slot);
                }
                None => drop(linked.insert(block, self.link_count)),
            }
        }
        for block in changes.written {
            let linked_at = match self.map().find(block) {
                Some((_, entry)) => entry.linked_at,
                None => linked.get(&block).copied().expect("each new block is put into a list"),
            };
            // The block's payload may still be in its old slot, which is vacated afterwards.
            let (key, nonce, mut sealed) = self.seal(block, seal, with_payload)?;
            self.vacate(block, &mut changed);
            let tag = sealed.split_off(sealed.len() - TAG_BYTES);
            let tag = tag.try_into().expect("a tag has this many bytes");
            let slot = self.take_free_slot();
            self.map().set(slot, Entry { block, key, nonce, linked_at, tag });
            changed.entries.insert(slot);
            changed.writes.push((slot, sealed));
        }
        Ok(changed)
    }

    /// Records that the checkpoint with the last changes is durable: the slots that it vacated may be written.
    pub(crate) fn on_committed(&mut self) {
        let vacated = std::mem::take(&mut self.vacated);
        match &mut self.pinned {
            Some(pinned) => pinned.extend(vacated),
            None => self.free_slots.extend(vacated),
        }
    }

    /// Keeps all slots of the last checkpoint unchanged, until [`unpin`](Self::unpin).
    pub(crate) fn pin(&mut self) {
        self.pinned.get_or_insert_default();
    }

    /// Frees the slots that [`pin`](Self::pin) has kept.
    pub(crate) fn unpin(&mut self) {
        self.free_slots.extend(self.pinned.take().into_iter().flatten());
    }

    /// Makes the next payload use a new key.
    pub(crate) fn rotate_key(&mut self) {
        self.sealing = None;
    }

    /// Returns the slots that no checkpoint names. After [`on_committed`](Self::on_committed), no slot is named by only
    /// the last one.
    pub(crate) fn free_slots(&self) -> Vec<StashSlot> {
        self.free_slots.iter().copied().collect()
    }

    /// Returns this many slots that no checkpoint names. Adds slots if there are too few.
    pub(crate) fn spare_slots(&mut self, count: usize) -> Vec<StashSlot> {
        while self.free_slots.len() < count {
            let slot = self.map().push();
            self.free_slots.insert(slot);
        }
        self.free_slots.iter().take(count).copied().collect()
    }

    /// Returns the number of bytes of the directory in memory.
    pub(crate) fn bytes(&self) -> u64 {
        let map = self.map();
        // Bytes of a slot in the map: key, value, and the map's spare room, as it is at most seven eighths full.
        let slots = map.slots.capacity() * (size_of::<(u32, StashSlot)>() + 1) * 8 / 7;
        (map.entries.capacity() * size_of::<Words>() + slots) as u64
    }

    /// Vacates the slot of a block, if it has one.
    fn vacate(&mut self, block: BlockId, changed: &mut SlotChanges) {
        let mut map = self.map();
        let Some(slot) = map.slots.remove(&(block.0 as u32)) else { return };
        map.entries[slot.0 as usize] = Words::default();
        drop(map);
        self.vacated.push(slot);
        changed.entries.insert(slot);
    }

    fn take_free_slot(&mut self) -> StashSlot {
        self.free_slots.pop_first().unwrap_or_else(|| self.map().push())
    }

    /// Seals the payload of a block under the key of this opening. Returns the key's number and the nonce, too.
    fn seal(
        &mut self,
        block: BlockId,
        SealContext { header, master, entropy }: &mut SealContext<'_>,
        with_payload: ShowPayload<'_>,
    ) -> Result<(u32, u64, Vec<u8>), VaultError> {
        let cipher = header.parameters.cipher()?;
        loop {
            let sealing = match &mut self.sealing {
                Some(sealing) => sealing,
                None => {
                    let mut map = self.map.lock().expect("no thread panics while it holds this lock");
                    let number = map.keys.last().map_or(0, |(number, _)| number + 1);
                    let salt = entropy.salt();
                    map.keys.push((number, salt));
                    let sealer = RecordSealer::new(master, Purpose::STASH, cipher, &salt, &header.vault.0);
                    self.sealing.insert(Sealing { number, next: 0, sealer })
                }
            };
            let mut sealed = Vec::with_capacity(header.parameters.scheme.block_bytes() as usize + TAG_BYTES);
            let mut sealing_went = Ok(());
            with_payload(block, &mut |payload| {
                sealing_went = sealing.sealer.seal(sealing.next, payload, &mut sealed);
            });
            if sealing_went.is_ok() {
                sealing.next += 1;
                return Ok((sealing.number, sealing.next - 1, sealed));
            }
            // The key has reached its limit.
            self.sealing = None;
        }
    }
}

/// Opens payloads from slots.
pub(crate) struct PayloadOpener {
    openers: HashMap<u32, RecordOpener>,
}

impl PayloadOpener {
    /// An opener for payloads under these keys.
    pub(crate) fn new(
        header: &VaultHeader,
        master: &MasterKey,
        keys: &[StashKey],
    ) -> Result<Self, VaultError> {
        let cipher = header.parameters.cipher()?;
        let opener = |salt: &Salt| RecordOpener::new(master, Purpose::STASH, cipher, salt, &header.vault.0);
        Ok(PayloadOpener { openers: keys.iter().map(|(number, salt)| (*number, opener(salt))).collect() })
    }

    /// Returns whether it has the key of an entry.
    pub(crate) fn knows(&self, entry: &Entry) -> bool {
        self.openers.contains_key(&entry.key)
    }

    /// Opens the sealed payload of an entry, and appends it.
    pub(crate) fn open(
        &self,
        entry: &Entry,
        sealed: &mut Vec<u8>,
        out: &mut Vec<u8>,
    ) -> Result<(), VaultError> {
        sealed.extend_from_slice(&entry.tag);
        let opener = self.openers.get(&entry.key);
        let opened = opener.is_some_and(|opener| opener.open(entry.nonce, sealed, out).is_ok());
        if opened { Ok(()) } else { Err(VaultError::Damaged("a block of its stash does not open".into())) }
    }
}
