//! The promise of a fault path builder: a fault path of every scheme by its name, on any platform.

use ameles_core::oram::Oram;
use ameles_pager::fault::error::FaultError;
use ameles_pager::fault::frames::{Frames, TakeOutcome};
use ameles_pager::fault::path::FaultPath;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_path_builder::{FaultPathBuilder, Platform};
use ameles_pager::page::PAGE_BYTES;
use ameles_pager::scheme::Scheme;
use ameles_pager::scheme_error::SchemeError;
use ameles_seal::pages::{AtomicMemory, PageCipher, PageError, SharedMemory};
use rand_chacha::ChaCha20Rng;
use rand_chacha::rand_core::SeedableRng;
use std::convert::Infallible;
use std::sync::Arc;

const PAGES: u64 = 40;

/// Page tables in an array, and one frame.
struct Table {
    pages: Vec<Option<Box<[u8]>>>,
    frame: Option<Box<[u8]>>,
}

impl Frames for Table {
    type Error = Infallible;

    fn take(&mut self, page: u64, _: usize) -> Result<TakeOutcome, Infallible> {
        self.frame = self.pages[page as usize].take();
        Ok(TakeOutcome::Out)
    }

    fn prepare(&mut self, _: usize) -> Result<(), Infallible> {
        self.frame = Some(vec![0; PAGE_BYTES].into());
        Ok(())
    }

    fn bytes(&mut self, _: usize) -> &mut [u8] {
        self.frame.as_mut().expect("the frame has memory")
    }

    fn put(&mut self, _: usize, page: u64) -> Result<(), Infallible> {
        self.pages[page as usize] = self.frame.take();
        Ok(())
    }

    fn confirm(&mut self, _: u64) -> Result<(), Infallible> {
        Ok(())
    }

    fn clear(&mut self, page: u64) -> Result<(), Infallible> {
        self.pages[page as usize] = Some(vec![0; PAGE_BYTES].into());
        Ok(())
    }
}

type Error = FaultError<PageError, Infallible>;
type HandleFault = Box<dyn FnMut(u64, &mut Table) -> Result<(), Error>>;

/// A platform that handles a fault and then does all pending work.
struct LocalPlatform;

impl<M> Platform<M> for LocalPlatform {
    type Built = (HandleFault, usize);

    fn take<O>(self, mut path: FaultPath<O>, trusted_bytes: usize) -> (HandleFault, usize)
    where
        O: Oram<Error = PageError> + Send + 'static,
    {
        let handle = move |page, table: &mut Table| {
            path.fault(page, table)?;
            while path.pending_steps() > 0 {
                path.step(table)?;
            }
            Ok(())
        };
        (Box::new(handle), trusted_bytes)
    }
}

fn builder(scheme: Scheme) -> FaultPathBuilder {
    FaultPathBuilder {
        scheme,
        pages: PAGES,
        ratio: 3,
        cipher: PageCipher::ChaCha20HmacSha256,
        resident: 4,
        policy: Policy::Fifo,
        step_pages: None,
        filled: false,
    }
}

fn build_scheme(scheme: Scheme) -> (Arc<AtomicMemory>, HandleFault, usize) {
    build(&builder(scheme))
}

fn build(builder: &FaultPathBuilder) -> (Arc<AtomicMemory>, HandleFault, usize) {
    let memory = Arc::new(AtomicMemory::new(builder.untrusted_bytes(u64::MAX).unwrap()));
    let rng = ChaCha20Rng::seed_from_u64(1);
    let (handle, trusted_bytes) = builder.build(Arc::clone(&memory), rng, LocalPlatform).unwrap();
    (memory, handle, trusted_bytes)
}

fn table() -> Table {
    Table { pages: vec![None; PAGES as usize], frame: None }
}

#[test]
fn under_every_scheme_each_page_reads_as_it_was_stored() {
    for scheme in Scheme::ALL {
        let (memory, mut handle, trusted_bytes) = build_scheme(scheme);
        assert!(trusted_bytes > PAGE_BYTES && memory.bytes() > PAGES as usize * PAGE_BYTES, "{scheme}");
        let mut table = table();
        for touch in 0..3 * PAGES {
            let page = touch * 7 % PAGES;
            if table.pages[page as usize].is_none() {
                handle(page, &mut table).unwrap();
            }
            let found = table.pages[page as usize].as_mut().unwrap();
            let expected = if touch < PAGES { 0 } else { (page + touch / PAGES) as u8 };
            assert!(found.iter().all(|byte| *byte == expected), "{scheme}, page {page}");
            found.fill((page + touch / PAGES + 1) as u8);
        }
    }
}

#[test]
fn under_every_scheme_all_slots_were_written_before_the_first_fault_if_that_is_asked_for() {
    for scheme in Scheme::ALL {
        let filled = FaultPathBuilder { filled: true, ..builder(scheme) };
        let (memory, mut handle, _) = build(&filled);
        let slots = scheme.layout(PAGES, filled.ratio).unwrap().slots() as usize;
        let stride = memory.bytes() / slots;
        let mut slot = vec![0; stride];
        for number in 0..slots {
            memory.load(number * stride, &mut slot);
            assert!(slot.iter().any(|byte| *byte != 0), "{scheme}, slot {number} of {slots}");
        }
        let mut table = table();
        for page in (0..PAGES).chain(0..PAGES) {
            handle(page, &mut table).unwrap();
            let found = table.pages[page as usize].as_ref().unwrap();
            assert!(found.iter().all(|byte| *byte == 0), "{scheme}, page {page}");
        }
    }
}

#[test]
fn under_every_scheme_a_page_that_was_changed_is_an_error() {
    for scheme in Scheme::ALL {
        let (memory, mut handle, _) = build_scheme(scheme);
        let mut table = table();
        for page in 0..PAGES {
            handle(page, &mut table).unwrap();
        }
        memory.store(0, &vec![0x5a; memory.bytes()]);
        let failed = (0..PAGES).find_map(|page| handle(page, &mut table).err());
        let of_page = |error: &Error| error.to_string().contains("was forged");
        assert!(failed.as_ref().is_some_and(of_page), "{scheme}: {failed:?}");
    }
}

#[test]
fn too_little_untrusted_memory_is_refused_before_anything_is_built() {
    for scheme in Scheme::ALL {
        let needed = builder(scheme).untrusted_bytes(u64::MAX).unwrap() as u64;
        assert_eq!(builder(scheme).untrusted_bytes(needed).unwrap() as u64, needed);
        let refused = builder(scheme).untrusted_bytes(needed - 1).unwrap_err();
        assert!(
            matches!(refused, SchemeError::UntrustedMemory { needed: n, .. } if n == needed),
            "{refused}"
        );
        let memory = AtomicMemory::new(needed as usize - 1);
        let built = builder(scheme).build(memory, ChaCha20Rng::seed_from_u64(1), LocalPlatform).err();
        assert!(matches!(built, Some(SchemeError::Sealing(_))), "{scheme}");
    }
}
