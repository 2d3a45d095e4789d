//! Deliberately broken vaults, which the tests must catch.

use crate::support::fragile_disk::FragileDisk;
use crate::support::intercepted::Intercepted;
use crate::support::intercepted::Request;
use crate::support::recorder::Recorder;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_store::{Blobs, Inventory, VersionedMemory, forward_blobs, forward_inventory};
use ameles_vault::Entropy;
use futures::FutureExt;
use rand_chacha::ChaCha20Rng;
use rand_core::{CryptoRng, RngCore, SeedableRng};
use redb::{ReadableDatabase, TableDefinition};
use std::cell::Cell;
use std::rc::Rc;
use tokio::task::yield_now;

/// A vault's flaw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A killed process, or a lost machine, loses the last record of its journal although the record's requests were sent. So announced
    /// requests are not repeated, and the same positions are used for something else.
    LosesLastRecord,
    /// A recovery does not repeat its reads, but reads other slots.
    ReadsOtherSlots,
    /// A recovery continues without repeating anything: it has kept the answers.
    RepeatsNothing,
    /// A recovery, or a standby, leaves out reads that it does not need: every third one.
    RepeatsSome,
    /// A recovery, or a standby, sends its reads twice.
    RepeatsTwice,
    /// A restore that draws positions again leaves out buckets that have no block.
    LeavesOutBuckets,
    /// Every opening uses the same randomness, except the salt of its key.
    SameRandomness,
    /// The scheme draws one number for all the dummies of a batch: see
    /// [`redraw_slots`](super::altered_traces::redraw_slots).
    OneDraw,
    /// An access sometimes reads the first unread slot of a bucket.
    FirstSlotSometimes,
    /// An access reads the first unread slot of a bucket that may have no dummy left.
    FirstSlotOfFew,
    /// The first leaf is drawn a little more often than the others.
    FirstLeafOften,
    /// A batch that requests a block of the previous batch delays for a step after its first answer.
    DelaysHits,
    /// A second request for a block in a batch is not made.
    Deduplicates,
}

impl Flaw {
    /// Changes the trusted disk as the flaw does when the vault is killed in service, or the journal in the store if the
    /// vault announces there.
    pub fn after_death(self, disk: &FragileDisk, journal: Option<&VersionedMemory>, recorder: &Recorder) {
        // If the lost record had announced a write, the vault would detect it: the store has a version that is too new.
        let last = recorder.last_requests();
        let reads_only = !last.is_empty() && last.iter().all(|request| matches!(request, Request::Read(_)));
        if self == Flaw::LosesLastRecord && reads_only {
            match journal {
                Some(memory) => lose_last_object(memory),
                None => lose_last_record(disk),
            }
        }
    }

    /// Returns whether the flaw shows only in which slots are drawn.
    pub fn is_of_slots(self) -> bool {
        matches!(self, Flaw::OneDraw | Flaw::FirstSlotSometimes | Flaw::FirstSlotOfFew)
    }

    /// The source of randomness that the vault uses in an opening.
    pub fn entropy(self, fresh: u64) -> Option<Entropy> {
        let stale = ChaCha20Rng::seed_from_u64(1);
        let of = || Entropy::of(StaleRng { first: Some(ChaCha20Rng::seed_from_u64(fresh)), stale });
        (self == Flaw::SameRandomness).then(of)
    }
}

/// Removes the last object of the journal in the store.
fn lose_last_object(memory: &VersionedMemory) {
    let listed = memory.list("log/").now_or_never().expect("memory does not wait");
    let names = listed.expect("memory does not fail").into_iter().map(|blob| blob.name);
    if let Some(last) = names.max() {
        let removed = Blobs::remove(memory, &last).now_or_never().expect("memory does not wait");
        removed.expect("memory does not fail");
    }
}

/// Removes the last group of the journal, unless the database holds it.
fn lose_last_record(disk: &FragileDisk) {
    const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
    let number = |bytes: &[u8], at: usize| u64::from_le_bytes(bytes[at..at + 8].try_into().expect("8 bytes"));
    let database = disk.database().expect("the disk is sound");
    let table = database.begin_read().expect("it can begin").open_table(META).expect("there is a table");
    let mark = table.get("journal").expect("it can be read").map(|mark| mark.value().to_vec());
    drop((table, database));
    disk.unplug();
    let Some(mark) = mark else { return };
    // After the name of a file, which is empty here, come three numbers. They are the last group that is not needed, a
    // position, and the last group whose other changes the database holds.
    let held = number(&mark, 4).max(number(&mark, 20));
    if let Some(last) = disk.last_group_of_journal().filter(|last| *last > held) {
        disk.remove_groups_of_journal(last);
    }
}

/// A random number generator of which only the first draw is fresh.
struct StaleRng {
    first: Option<ChaCha20Rng>,
    stale: ChaCha20Rng,
}

impl RngCore for StaleRng {
    fn next_u32(&mut self) -> u32 {
        self.stale.next_u32()
    }

    fn next_u64(&mut self) -> u64 {
        self.stale.next_u64()
    }

    fn fill_bytes(&mut self, bytes: &mut [u8]) {
        match self.first.take() {
            Some(mut first) => first.fill_bytes(bytes),
            None => self.stale.fill_bytes(bytes),
        }
    }
}

impl CryptoRng for StaleRng {}

/// A store that makes a vault look as if it had the flaw.
pub struct FlawedStore<S> {
    shown: Intercepted<S, Recorder>,
    flaw: Option<Flaw>,
    recorder: Recorder,
    unseen: VersionedMemory,
    /// True if a batch with a hit has not read yet.
    hits: Rc<Cell<bool>>,
    /// The number of reads.
    repeats: Cell<u64>,
}

impl<S> FlawedStore<S> {
    pub fn new(
        shown: Intercepted<S, Recorder>,
        flaw: Option<Flaw>,
        recorder: &Recorder,
        unseen: &VersionedMemory,
        hits: &Rc<Cell<bool>>,
    ) -> Self {
        let (recorder, unseen, hits) = (recorder.clone(), unseen.clone(), Rc::clone(hits));
        FlawedStore { shown, flaw, recorder, unseen, hits, repeats: Cell::default() }
    }
}

impl<S: Untrusted> Untrusted for FlawedStore<S> {
    fn layout(&self) -> &Layout {
        self.shown.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let delays = self.hits.take() && self.flaw == Some(Flaw::DelaysHits);
        let flaw = self.flaw.filter(|_| self.recorder.is_opening());
        if flaw == Some(Flaw::ReadsOtherSlots) {
            let mut others = places.to_vec();
            for place in &mut others {
                let slots = self.layout().extent(place.slot.bucket).slots;
                place.slot.index = (place.slot.index + 1) % slots;
            }
            self.shown.read(&others, into).await?;
        }
        self.repeats.set(self.repeats.get() + 1);
        let leaves_out = match flaw {
            Some(Flaw::ReadsOtherSlots | Flaw::RepeatsNothing) => true,
            Some(Flaw::RepeatsSome) => self.repeats.get().is_multiple_of(3),
            _ => false,
        };
        if leaves_out {
            return self.unseen.read(places, into).await;
        }
        if flaw == Some(Flaw::RepeatsTwice) {
            self.shown.read(places, into).await?;
        }
        let outcome = self.shown.read(places, into).await;
        if delays {
            yield_now().await;
        }
        outcome
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let is_left_out = |at: &BucketVersion| at.bucket.0 % 8 == 5;
        if self.flaw == Some(Flaw::LeavesOutBuckets)
            && self.recorder.is_opening()
            && buckets.iter().all(is_left_out)
        {
            return self.unseen.write(buckets, from).await;
        }
        self.shown.write(buckets, from).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.shown.delete(buckets).await
    }
}

forward_blobs!([S: Blobs] FlawedStore<S>, shown);

forward_inventory!([S: Inventory] FlawedStore<S>, shown);
