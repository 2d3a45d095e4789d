//! A Path ORAM over a store of your own: two methods, and an error type. This one stores its buckets in a map and
//! counts the requests.
//!
//! Nothing here is sealed. If your memory is untrusted, implement `Untrusted` instead, and put
//! `ameles_seal::sealed::Sealed` in between, as the example `oram_over_a_file` does.
//!
//!     cargo run -p ameles-examples --example store_of_your_own

#![allow(clippy::print_stdout, reason = "this is what the example is for")]

use ameles_core::oram::{Access, Oram};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::store::Store;
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket, Slot};
use futures::executor::block_on;
use rand_chacha::ChaCha20Rng;
use rand_core::{RngCore, SeedableRng};
use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::convert::Infallible;
use std::error::Error;

struct CountingMap {
    layout: Layout,
    buckets: RefCell<BTreeMap<Bucket, Vec<u8>>>,
    round_trips: Cell<u64>,
    bytes: Cell<u64>,
}

impl CountingMap {
    fn new(layout: Layout) -> Self {
        CountingMap { layout, buckets: RefCell::default(), round_trips: Cell::new(0), bytes: Cell::new(0) }
    }

    fn count(&self, bytes: usize) {
        self.round_trips.set(self.round_trips.get() + 1);
        self.bytes.set(self.bytes.get() + bytes as u64);
    }
}

impl Store for CountingMap {
    type Error = Infallible;

    /// The slots are needed together: a store with latency requests all of them at once.
    async fn read(&self, slots: &[Slot], into: &mut [u8]) -> Result<(), Infallible> {
        self.count(into.len());
        let buckets = self.buckets.borrow();
        let mut at = 0;
        for slot in slots {
            let bytes = self.layout.slot_bytes(*slot);
            let start = slot.index as usize * bytes;
            match buckets.get(&slot.bucket) {
                Some(bucket) => into[at..at + bytes].copy_from_slice(&bucket[start..start + bytes]),
                // Never written: zeros. So a new ORAM of any size is ready at once.
                None => into[at..at + bytes].fill(0),
            }
            at += bytes;
        }
        Ok(())
    }

    async fn write(&self, buckets: &[Bucket], mut from: &[u8]) -> Result<(), Infallible> {
        self.count(from.len());
        for bucket in buckets {
            let (bytes, rest) = from.split_at(self.layout.bucket_bytes(*bucket));
            self.buckets.borrow_mut().insert(*bucket, bytes.to_vec());
            from = rest;
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let (blocks, block_bytes, accesses) = (4096, 64, 20_000);
    let mut random = ChaCha20Rng::from_os_rng();
    let parameters = PathParameters::for_capacity(blocks, block_bytes as u32, blocks / 16, 1)?;
    let store = CountingMap::new(parameters.layout());
    let positions = FlatPositionMap::new(Positions::new(blocks));
    let expected = 2 * parameters.path_buckets() as u64 * parameters.layout().slot_bytes(FIRST) as u64;
    let oram = PathOram::new(parameters, Bucket(0), &store, positions, ChaCha20Rng::from_rng(&mut random))?;

    let mut plain = vec![[0u8; 64]; blocks as usize];
    block_on(async {
        for nth in 0..accesses {
            let block = random.next_u64() % blocks;
            if nth % 2 == 0 {
                random.fill_bytes(&mut plain[block as usize]);
                oram.access(&mut [Access::Write(BlockId(block), &plain[block as usize])]).await?;
            } else {
                let mut read = [0; 64];
                oram.access(&mut [Access::Read(BlockId(block), &mut read)]).await?;
                assert_eq!(read, plain[block as usize], "block {block} reads what was written last");
            }
            while oram.pending_steps() > 0 {
                oram.step().await?;
            }
        }
        Ok::<(), Box<dyn Error>>(())
    })?;

    let (trips, bytes) = (store.round_trips.get() / accesses, store.bytes.get() / accesses);
    println!("{accesses} accesses of blocks of {block_bytes} bytes agree with a plain array");
    println!(
        "each: {trips} round trips and {bytes} bytes, whatever was asked; {} blocks wait in the stash",
        oram.stash_blocks()
    );
    assert_eq!((trips, bytes), (2, expected), "a path is read and written back at each access");
    Ok(())
}

const FIRST: Slot = Slot { bucket: Bucket(0), index: 0 };
