//! A workload under heavy paging that checks each page that it reads, and a digest of untrusted memory at its end.

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

/// The number of pages of the workload.
const PAGES: u64 = 23;
/// The number of pages that are resident.
const RESIDENT: usize = 5;
/// The number of accesses to pages, one after the other.
const ACCESSES: u64 = 200;

/// The schemes that the workload runs over.
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
    /// All schemes.
    pub const ALL: [Scheme; 4] = [Scheme::Plain, Scheme::DetWoOram, Scheme::Eager, Scheme::Path];
}

/// Returns the SHA-256 of untrusted memory after the workload has run. Keys are drawn from a fixed seed, so that it is
/// the same on every machine.
///
/// # Panics
/// If a page does not hold what was last stored there, or a fault cannot be handled.
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

/// Does a load and a store for each access, offline work after some, and at the end a load of every page.
fn run<O: Oram>(oram: O, memory: &AtomicMemory) -> [u8; 32] {
    let policy = Policy::SecondChance { unmapped: 2 };
    let mut path = FaultPath::new(oram, RESIDENT, policy).expect("enough resident pages");
    let mut table = PageTable::new(PAGES, frames(policy));
    let mut expected = vec![[0u8; PAGE_BYTES]; PAGES as usize];
    for access in 0..ACCESSES + PAGES {
        let page = if access < ACCESSES { access * access % PAGES } else { access - ACCESSES };
        let found = access_page(&mut path, &mut table, page);
        assert!(*found == expected[page as usize], "page {page} does not hold what was stored there");
        if access < ACCESSES {
            found[access as usize % PAGE_BYTES] ^= access as u8 + 1;
            expected[page as usize] = *found;
        }
        if access % 3 == 0 && path.pending_steps() > 0 {
            path.step(&table).expect("offline work succeeds");
        }
    }
    let mut sealed_bytes = vec![0; memory.bytes()];
    memory.load(0, &mut sealed_bytes);
    Sha256::digest(&sealed_bytes).into()
}

/// The page, after a fault if it is not resident.
fn access_page<'a, O: Oram>(path: &mut FaultPath<O>, table: &'a mut PageTable, page: u64) -> &'a mut Page {
    if table.page(page).is_none() {
        path.fault(page, table).expect("the fault is handled");
    }
    table.page(page).expect("a page is resident after its fault")
}
