//! Small regions, and access to them in one line.

use ameles_core::store::Store;
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Slot};
use ameles_seal::pages::{
    AtomicMemory, PageCipher, PageError, PageKey, PagePool, SealedPages, SharedMemory, TableVersions,
    Workers, memory_bytes,
};
use futures::FutureExt;
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::sync::{Arc, LazyLock};

pub(crate) type Pages<M> = SealedPages<M, TableVersions>;

pub(crate) fn layout(buckets: u64, slots: u32, slot_bytes: u32) -> Layout {
    Layout::new(vec![Extent { buckets, slots, slot_bytes }])
}

/// The same seed draws the same key, which only a test may do.
pub(crate) fn key(cipher: PageCipher, seed: u64) -> PageKey {
    PageKey::draw(cipher, &mut ChaCha20Rng::seed_from_u64(seed))
}

pub(crate) fn memory(layout: &Layout, cipher: PageCipher) -> Arc<AtomicMemory> {
    Arc::new(AtomicMemory::new(memory_bytes(layout, cipher).unwrap()))
}

pub(crate) fn region<M: SharedMemory>(memory: M, layout: &Layout, cipher: PageCipher, seed: u64) -> Pages<M> {
    SealedPages::new(memory, layout, key(cipher, seed), TableVersions::new(layout.buckets())).unwrap()
}

pub(crate) fn pool(threads: usize) -> Arc<PagePool> {
    Arc::new(PagePool::new(threads).unwrap())
}

/// Three threads for all tests together, as if they were a platform's own processors.
pub(crate) fn workers() -> &'static dyn Workers {
    static WORKERS: LazyLock<ameles_fork_join::Pool> =
        LazyLock::new(|| ameles_fork_join::Pool::new(3, PagePool::SPIN_TIME).unwrap());
    &*WORKERS
}

pub(crate) fn slot(bucket: u64, index: u32) -> Slot {
    Slot { bucket: Bucket(bucket), index }
}

/// Reads into a buffer that does not begin as zeros.
pub(crate) fn read<S: Store<Error = PageError>>(
    pages: &S,
    slots: &[Slot],
    page_bytes: usize,
) -> Result<Vec<u8>, (PageError, Vec<u8>)> {
    let mut into = vec![0xee; slots.len() * page_bytes];
    match pages.read(slots, &mut into).now_or_never().expect("memory is always ready") {
        Ok(()) => Ok(into),
        Err(error) => Err((error, into)),
    }
}

pub(crate) fn write<S: Store<Error = PageError>>(
    pages: &S,
    buckets: &[u64],
    from: &[u8],
) -> Result<(), PageError> {
    let buckets: Vec<Bucket> = buckets.iter().copied().map(Bucket).collect();
    pages.write(&buckets, from).now_or_never().expect("memory is always ready")
}

/// All of shared memory, as its holder sees it.
pub(crate) fn snapshot<M: SharedMemory>(memory: &M) -> Vec<u8> {
    let mut bytes = vec![0; memory.bytes()];
    memory.load(0, &mut bytes);
    bytes
}

pub(crate) fn part<M: SharedMemory>(memory: &M, at: usize, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    memory.load(at, &mut bytes);
    bytes
}
