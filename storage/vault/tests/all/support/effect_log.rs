//! The log of every effect on a trusted disk and on a store, in one order. A test replays it to get the state as it was
//! between any two effects: what a crash at that point would leave.

use super::fragile_disk::{Change, FragileDisk};
use super::rng::TestRng;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_store::{Blob, BlobError, Blobs, Inventory, VersionedMemory};
use futures::FutureExt;
use std::cell::RefCell;
use std::sync::{Arc, Mutex};

/// An effect.
#[derive(Clone, Debug)]
pub enum Effect {
    /// A change to this file of the disk, which is still in its cache.
    Change(usize, Change),
    /// A sync of this file of the disk.
    Sync(usize),
    /// A bucket version written to the store.
    Wrote(BucketVersion, Vec<u8>),
    /// A bucket version deleted from the store.
    Deleted(BucketVersion),
    /// A blob written to the store.
    Put(String, Vec<u8>),
    /// A blob removed from the store.
    Removed(String),
    /// A request that did not change the store.
    Asked,
}

/// The log. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct EffectLog(Arc<Mutex<Vec<Effect>>>);

impl EffectLog {
    /// Appends an effect.
    pub fn push(&self, effect: Effect) {
        self.0.lock().expect("no holder of the tape panicked").push(effect);
    }

    /// The number of effects so far.
    pub fn len(&self) -> usize {
        self.0.lock().expect("no holder of the tape panicked").len()
    }

    /// All effects.
    pub fn effects(&self) -> Vec<Effect> {
        self.0.lock().expect("no holder of the tape panicked").clone()
    }
}

/// The state that a machine and its provider have: a disk and a store.
pub struct MachineState {
    pub disk: FragileDisk,
    pub store: VersionedMemory,
}

impl MachineState {
    /// An empty disk and an empty store for this layout.
    pub fn new(layout: Layout) -> Self {
        MachineState { disk: FragileDisk::default(), store: VersionedMemory::new(layout) }
    }

    /// An independent copy, with its own disk and store.
    pub fn fork(&self) -> MachineState {
        let store = VersionedMemory::new(Untrusted::layout(&self.store).clone());
        store.restore(&self.store.snapshot());
        MachineState { disk: self.disk.fork(), store }
    }

    /// Applies a logged effect.
    pub fn replay(&self, effect: &Effect) {
        let store = &self.store;
        match effect {
            Effect::Change(file, change) => self.disk.replay(*file, Some(change)),
            Effect::Sync(file) => self.disk.replay(*file, None),
            Effect::Wrote(of, bytes) => {
                at_once(Untrusted::write(store, &[*of], bytes)).expect("it was written")
            }
            Effect::Deleted(of) => at_once(Untrusted::delete(store, &[*of])).expect("it was deleted"),
            Effect::Put(name, bytes) => at_once(store.put(name, bytes)).expect("it was put"),
            Effect::Removed(name) => at_once(Blobs::remove(store, name)).expect("it was removed"),
            Effect::Asked => {}
        }
    }
}

/// The outcome of a call to memory, which is ready at once.
fn at_once<T>(call: impl Future<Output = T>) -> T {
    call.now_or_never().expect("memory does not wait")
}

/// A store that logs each of its effects, object by object. Requests run concurrently and can overtake one another.
pub struct LoggingStore {
    store: VersionedMemory,
    effect_log: EffectLog,
    rng: RefCell<TestRng>,
}

impl LoggingStore {
    pub fn over(store: VersionedMemory, effect_log: EffectLog, rng: TestRng) -> Self {
        LoggingStore { store, effect_log, rng: RefCell::new(rng) }
    }

    /// Yields a few times, so that other requests can overtake this one.
    async fn delay(&self) {
        let turns = self.rng.borrow_mut().below(4);
        for _ in 0..turns {
            tokio::task::yield_now().await;
        }
    }

    /// Runs a request and logs that it was made.
    async fn ask<T>(&self, answer: impl Future<Output = T>) -> T {
        self.delay().await;
        let answer = answer.await;
        self.effect_log.push(Effect::Asked);
        self.delay().await;
        answer
    }
}

impl Untrusted for LoggingStore {
    fn layout(&self) -> &Layout {
        self.store.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.ask(self.store.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        for (of, bytes) in split_buckets(self.layout(), buckets, from) {
            self.delay().await;
            self.store.write(&[of], bytes).await?;
            self.effect_log.push(Effect::Wrote(of, bytes.to_vec()));
        }
        self.delay().await;
        Ok(())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        for of in buckets {
            self.delay().await;
            Untrusted::delete(&self.store, &[*of]).await?;
            self.effect_log.push(Effect::Deleted(*of));
        }
        self.delay().await;
        Ok(())
    }
}

impl Blobs for LoggingStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.delay().await;
        self.store.put(name, bytes).await?;
        self.effect_log.push(Effect::Put(name.to_owned(), bytes.to_vec()));
        self.delay().await;
        Ok(())
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.delay().await;
        let is_new = self.store.put_if_absent(name, bytes).await?;
        self.effect_log.push(if is_new {
            Effect::Put(name.to_owned(), bytes.to_vec())
        } else {
            Effect::Asked
        });
        self.delay().await;
        Ok(is_new)
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.ask(self.store.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        self.ask(self.store.list(prefix)).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.delay().await;
        Blobs::remove(&self.store, name).await?;
        self.effect_log.push(Effect::Removed(name.to_owned()));
        self.delay().await;
        Ok(())
    }
}

impl Inventory for LoggingStore {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, ameles_core::types::Bytes),
    ) -> Result<u64, UntrustedError> {
        self.ask(self.store.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.ask(self.store.sweep_unfinished()).await
    }
}
