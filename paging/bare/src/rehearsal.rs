//! A program under heavy paging that checks what it reads, and a digest of what its untrusted memory holds in the end.

use crate::page_table::{PAGE_BYTES, Page, PageTable};
use alloc::sync::Arc;
use alloc::vec;
use ameles_core::oram::Oram;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::detworam::{DetWoOram, DetWoParameters};
use ameles_core::schemes::eager::{EagerOram, EagerParameters};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::plain::{Plain, PlainParameters};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use ameles_pager::fault::path::FaultPath;
use ameles_pager::fault::policy::{Policy, frames};
use ameles_seal::pages::{
    AtomicMemory, PageCipher, PageKey, ScheduledVersions, SealedPages, SharedMemory, TableVersions, Versions,
    memory_bytes,
};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use sha2::{Digest, Sha256};

/// Pages of the program.
const PAGES: u64 = 23;
/// Pages that are resident.
const RESIDENT: usize = 5;
/// Pages that the program touches, one after the other.
const TOUCHES: u64 = 200;

/// The schemes that are rehearsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// No ORAM.
    Plain,
    /// DetWoORAM.
    DetWoOram,
    /// DetWoORAM with its preload buffer.
    Eager,
    /// Path ORAM.
    Path,
}

impl Scheme {
    /// The schemes, all of them.
    pub const ALL: [Scheme; 4] = [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager, Scheme::Path];
}

/// SHA-256 of untrusted memory after the program has run. Keys are drawn from a fixed seed, so that it is the same on
/// every machine.
///
/// # Panics
/// If a page reads as anything but what was last stored there, or a fault is not served.
pub fn digest(scheme: Scheme, cipher: PageCipher) -> [u8; 32] {
    let block_bytes = PAGE_BYTES as u32;
    let areas = DetWoParameters { capacity: PAGES, holding: 7, block_bytes, max_batch: 1 };
    match scheme {
        Scheme::Plain => {
            let parameters = PlainParameters { capacity: PAGES, block_bytes, max_batch: 1 };
            let (memory, store) = sealed(&parameters.layout(), cipher, TableVersions::new(PAGES));
            run(Plain::new(parameters, store).expect("good parameters"), &memory)
        }
        Scheme::DetWoOram => {
            let (memory, store) = sealed(&areas.layout(), cipher, scheduled(&areas));
            run(DetWoOram::new(areas, store).expect("good parameters"), &memory)
        }
        Scheme::Eager => {
            let (memory, store) = sealed(&areas.layout(), cipher, scheduled(&areas));
            let parameters = EagerParameters { areas, step_pages: 2 };
            run(EagerOram::new(parameters, store).expect("good parameters"), &memory)
        }
        Scheme::Path => {
            let parameters = PathParameters::for_capacity(PAGES, block_bytes, 0, 1).expect("good parameters");
            let layout = parameters.layout();
            let (memory, store) = sealed(&layout, cipher, TableVersions::new(layout.buckets()));
            let positions = FlatPositionMap::new(Positions::new(PAGES));
            let rng = ChaCha20Rng::seed_from_u64(2);
            run(
                PathOram::new(parameters, Bucket(0), store, positions, rng).expect("good parameters"),
                &memory,
            )
        }
    }
}

fn scheduled(areas: &DetWoParameters) -> ScheduledVersions {
    ScheduledVersions::new(&areas.schedule().expect("good parameters"))
}

type Sealed<V> = (Arc<AtomicMemory>, SealedPages<Arc<AtomicMemory>, V>);

fn sealed<V: Versions>(layout: &Layout, cipher: PageCipher, versions: V) -> Sealed<V> {
    let memory = Arc::new(AtomicMemory::new(memory_bytes(layout, cipher).expect("a small region")));
    let key = PageKey::draw(cipher, &mut ChaCha20Rng::seed_from_u64(1));
    let pages = SealedPages::new(Arc::clone(&memory), layout, key, versions).expect("a region that fits");
    (memory, pages)
}

/// A load and a store for each touch, off-line work after some, and in the end a load of every page.
fn run<O: Oram>(oram: O, memory: &AtomicMemory) -> [u8; 32] {
    let policy = Policy::SecondChance { unmapped: 2 };
    let mut path = FaultPath::new(oram, RESIDENT, policy).expect("enough resident pages");
    let mut table = PageTable::new(PAGES, frames(policy));
    let mut expected = vec![[0u8; PAGE_BYTES]; PAGES as usize];
    for touch in 0..TOUCHES + PAGES {
        let page = if touch < TOUCHES { touch * touch % PAGES } else { touch - TOUCHES };
        let found = touched(&mut path, &mut table, page);
        assert!(*found == expected[page as usize], "page {page} is not what was stored there");
        if touch < TOUCHES {
            found[touch as usize % PAGE_BYTES] ^= touch as u8 + 1;
            expected[page as usize] = *found;
        }
        if touch % 3 == 0 && path.pending_steps() > 0 {
            path.step(&table).expect("off-line work is done");
        }
    }
    let mut held = vec![0; memory.bytes()];
    memory.load(0, &mut held);
    Sha256::digest(&held).into()
}

/// The page, brought in if it is not there.
fn touched<'a, O: Oram>(path: &mut FaultPath<O>, table: &'a mut PageTable, page: u64) -> &'a mut Page {
    if table.page(page).is_none() {
        path.fault(page, table).expect("the fault is served");
    }
    table.page(page).expect("a page that was brought in is there")
}
