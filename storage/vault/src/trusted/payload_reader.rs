//! The reader of payloads that are on the trusted disk and not in memory.
//!
//! The departure of a request shows how long it waited for local reads. So the engine makes as many reads at each step
//! as the public part of the step determines. If fewer are needed, it reads random slots in addition, with the same
//! work.

use super::disk::TrustedDisk;
use super::slots::StashSlot;
use super::stash_directory::{Entry, PayloadOpener, SlotMap};
use crate::entropy::Entropy;
use crate::error::VaultError;
use crate::trusted::header::{TreeTopPlace, VaultHeader};
use ameles_core::stash::payloads::PayloadSource;
use ameles_core::types::{BlockId, Bytes};
use ameles_seal::cipher::TAG_BYTES;
use ameles_seal::derive::Purpose;
use ameles_seal::master_key::MasterKey;
use ameles_seal::record::RecordSealer;
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use std::sync::{Arc, Mutex};

/// Reads payloads from the slots of the trusted disk. Clones share it.
#[derive(Clone)]
pub(crate) struct PayloadReader(Arc<Mutex<Inner>>);

struct Inner {
    disk: TrustedDisk,
    map: Arc<Mutex<SlotMap>>,
    header: VaultHeader,
    master: MasterKey,
    opener: PayloadOpener,
    /// Draws the slots of padding reads. No replay repeats them.
    random: ChaCha20Rng,
    /// Opened instead of a payload while the disk holds none.
    placeholder: (PayloadOpener, Entry, Vec<u8>),
    sealed: Vec<u8>,
    opened: Vec<u8>,
    /// The number of reads since the counter was last reset.
    reads: usize,
    failure: Option<VaultError>,
}

impl PayloadReader {
    /// The reader of a vault with these slots, if its tree top is on the trusted disk.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(crate) fn of(
        side: (&TrustedDisk, &VaultHeader, &MasterKey),
        map: Arc<Mutex<SlotMap>>,
        entropy: &mut Entropy,
    ) -> Result<Option<Self>, VaultError> {
        match side.1.parameters.tree_top {
            TreeTopPlace::Disk => Self::new(side, map, entropy).map(Some),
            TreeTopPlace::Memory => Ok(None),
        }
    }

    /// The reader of a vault with these slots.
    ///
    /// # Errors
    /// The errors of the disk.
    pub(crate) fn new(
        (disk, header, master): (&TrustedDisk, &VaultHeader, &MasterKey),
        map: Arc<Mutex<SlotMap>>,
        entropy: &mut Entropy,
    ) -> Result<Self, VaultError> {
        disk.set_slots_uncached();
        let (block, cipher) = (header.parameters.block(), header.parameters.cipher()?);
        let guard = map.lock().expect("no thread panics while it holds this lock");
        let opener = PayloadOpener::new(header, master, guard.keys())?;
        let is_empty = guard.len() == 0;
        drop(guard);
        if is_empty {
            // So there is always a slot to read. No checkpoint names this one.
            disk.write_slots(block, &[(StashSlot(0), vec![0; block.0 as usize])])?;
        }
        let salt = entropy.salt();
        let mut sealer = RecordSealer::new(master, Purpose::STASH, cipher, &salt, &header.vault.0);
        let mut sealed = Vec::new();
        sealer.seal(0, &vec![0; block.0 as usize], &mut sealed).expect("a fresh key can seal a payload");
        let tag = sealed.split_off(sealed.len() - TAG_BYTES).try_into().expect("a tag has this many bytes");
        let entry = Entry::placeholder(tag);
        let placeholder = (PayloadOpener::new(header, master, &[(0, salt)])?, entry, sealed);
        let random = ChaCha20Rng::from_seed(entropy.seed());
        let (disk, header, master) = (disk.clone(), header.clone(), master.clone());
        let (sealed, opened, reads, failure) = (Vec::new(), Vec::new(), 0, None);
        let reader =
            Inner { disk, map, header, master, opener, random, placeholder, sealed, opened, reads, failure };
        Ok(PayloadReader(Arc::new(Mutex::new(reader))))
    }

    /// Makes the one read of a call. It reads `block` if only the disk has it, and passes its payload to `take`.
    /// Otherwise it reads a random slot.
    pub(crate) fn read_for_call(&self, block: Option<BlockId>, take: impl FnOnce(BlockId, &[u8])) {
        let mut reader = self.reader();
        match block {
            Some(block) => {
                reader.read(block);
                take(block, &reader.opened);
            }
            None => reader.read_random(),
        }
    }

    /// Makes padding reads up to this number of reads since the last call.
    pub(crate) fn pad_reads(&self, reads: usize) {
        let mut reader = self.reader();
        debug_assert!(reader.reads <= reads, "{} reads, and {reads} are public", reader.reads);
        while reader.reads < reads {
            reader.read_random();
        }
        reader.reads = 0;
    }

    /// Returns an error if a payload could not be read. Then the payloads that were read since are wrong.
    ///
    /// # Errors
    /// [`VaultError::Damaged`], and the errors of the disk.
    pub(crate) fn check(&self) -> Result<(), VaultError> {
        self.reader().failure.clone().map_or(Ok(()), Err)
    }

    /// Resets the counter after the reads of a checkpoint.
    pub(crate) fn reset_counter(&self) {
        self.reader().reads = 0;
    }

    fn reader(&self) -> std::sync::MutexGuard<'_, Inner> {
        self.0.lock().expect("no thread panics while it holds this lock")
    }
}

impl PayloadSource for PayloadReader {
    fn read(&self, block: BlockId, into: &mut [u8]) {
        let mut reader = self.reader();
        reader.read(block);
        into.copy_from_slice(&reader.opened);
    }
}

impl Inner {
    fn block(&self) -> Bytes {
        self.header.parameters.block()
    }

    fn find(&self, block: BlockId) -> Option<(StashSlot, Entry)> {
        self.map.lock().expect("no thread panics while it holds this lock").find(block)
    }

    /// Reads the payload of a block. If that fails, the result is zeros.
    fn read(&mut self, block: BlockId) {
        let read = match self.find(block) {
            Some((slot, entry)) => self.open(slot, &entry),
            None => Err(VaultError::Damaged("a block of its stash has no place".into())),
        };
        if let Err(error) = read {
            self.failure.get_or_insert(error);
            self.opened.clear();
            let block = self.block().0 as usize;
            self.opened.resize(block, 0);
        }
    }

    /// Reads and opens a random slot with a payload. An error counts as in a needed read: whether a fault of the disk
    /// stops the vault must not depend on the calls.
    fn read_random(&mut self) {
        let drawn = {
            let map = self.map.lock().expect("no thread panics while it holds this lock");
            let number = self.random.next_u64() as usize % map.len().max(1);
            map.next_from(number)
        };
        let read = match drawn {
            Some((slot, entry)) => self.open(slot, &entry),
            None => self.open_placeholder(),
        };
        if let Err(error) = read {
            self.failure.get_or_insert(error);
        }
    }

    fn open(&mut self, slot: StashSlot, entry: &Entry) -> Result<(), VaultError> {
        if !self.opener.knows(entry) {
            let map = self.map.lock().expect("no thread panics while it holds this lock");
            self.opener = PayloadOpener::new(&self.header, &self.master, map.keys())?;
        }
        self.load(slot)?;
        self.opener.open(entry, &mut self.sealed, &mut self.opened)
    }

    fn open_placeholder(&mut self) -> Result<(), VaultError> {
        self.load(StashSlot(0))?;
        let (opener, entry, sealed) = &self.placeholder;
        self.sealed.copy_from_slice(sealed);
        opener.open(entry, &mut self.sealed, &mut self.opened)
    }

    fn load(&mut self, slot: StashSlot) -> Result<(), VaultError> {
        self.reads += 1;
        let block = self.block().0 as usize;
        self.opened.clear();
        self.sealed.clear();
        self.sealed.resize(block, 0);
        self.disk.read_slot(slot, &mut self.sealed)
    }
}
