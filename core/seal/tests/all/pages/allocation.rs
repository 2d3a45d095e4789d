//! A fault may be an allocator's: after construction, pages come and go without the heap, also when they are forged.
//!
//! The counter counts the calling thread's allocations. A pool's threads run the same closure over the same pages.

use super::setup::{layout, memory, pool, region, slot};
use ameles_core::store::Store;
use ameles_core::types::{Bucket, Slot};
use ameles_seal::pages::{PageCipher, SharedMemory};
use futures::FutureExt;
use std::sync::Arc;

#[test]
fn no_read_no_write_and_no_forged_page_allocates() {
    for (cipher, threads) in PageCipher::ALL.into_iter().flat_map(|c| [(c, 1), (c, 2), (c, 3)]) {
        let layout = layout(20, 1, 4096);
        let memory = memory(&layout, cipher);
        let pool = pool(threads);
        let pages = region(Arc::clone(&memory), &layout, cipher, 1).with_pool(Arc::clone(&pool));
        let buckets: Vec<Bucket> = (0..16).map(Bucket).collect();
        let slots: Vec<Slot> = (0..16).map(|bucket| slot(bucket, 0)).collect();
        let mut page = vec![1; 16 * 4096];
        let mut forged = 0;
        let measured = allocation_counter::measure(|| {
            for round in 0..30 {
                pool.wake();
                let many = 1 + round % 16;
                let part = &mut page[..many * 4096];
                pages.write(&buckets[..many], part).now_or_never().expect("ready").expect("it writes");
                if round % 7 == 6 {
                    memory.store(0, &[0; 4096]);
                }
                let read = pages.read(&slots[..many], part).now_or_never().expect("ready");
                forged += usize::from(read.is_err());
            }
        });
        assert_eq!((measured.count_total, forged), (0, 4), "{cipher}, {threads} threads");
    }
}
