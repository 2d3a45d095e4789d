//! The program's memory, over every scheme, compared to an array.

use crate::support::{SCHEMES, memory};
use ameles_enclave::access::{Access, Touch};
use ameles_enclave::paging::AccessError;
use ameles_enclave::space::CommitPolicy;
use ameles_enclave_boundary::exit::{Ending, Failure};
use ameles_enclave_boundary::launch::PagingMode;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::SharedMemory;
use proptest::prelude::*;

const PAGE: u64 = 4096;
/// The first page of the tests' area.
const FIRST: u64 = 0x4_0000;

fn at(page: u64) -> u64 {
    (FIRST + page) * PAGE
}

#[test]
fn under_every_scheme_and_page_table_memory_reads_as_it_was_written() {
    for scheme in SCHEMES {
        for mode in [PagingMode::Sv39, PagingMode::Sv48] {
            let (mut memory, _) = memory(scheme, 40, mode);
            memory.space.map(FIRST..FIRST + 30, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
            let text: Vec<u8> =
                (0..30 * PAGE as u32 - 100).map(|nth| (nth.wrapping_mul(nth) >> 7) as u8).collect();
            memory.write(at(0) + 50, &text).unwrap();
            let mut found = vec![1; 30 * PAGE as usize];
            memory.read(at(0), &mut found).unwrap();
            assert!(found == [&[0; 50], &text[..], &[0; 50]].concat(), "{scheme}");
            assert!(memory.counters().faults >= 60, "{scheme} paged");
        }
    }
}

#[test]
fn touches_without_a_right_are_illegal_and_show_nothing() {
    let (mut memory, untrusted) = memory(Scheme::Plain, 40, PagingMode::Sv39);
    memory.space.map(FIRST..FIRST + 1, Access::READ, CommitPolicy::Immediate).unwrap();
    memory.space.map(FIRST + 1..FIRST + 2, Access::NONE, CommitPolicy::OnFirstRight).unwrap();
    assert_eq!(memory.fault(at(0), Touch::Store), Err(AccessError::Illegal));
    assert_eq!(memory.fault(at(0), Touch::Fetch), Err(AccessError::Illegal));
    assert_eq!(memory.fault(at(1), Touch::Load), Err(AccessError::Illegal));
    for address in [at(2), 0, 0x8000_0000, 0xC000_0000, 1 << 38, u64::MAX] {
        for touch in [Touch::Load, Touch::Store, Touch::Fetch] {
            assert_eq!(memory.fault(address, touch), Err(AccessError::Illegal), "{address:#x}");
        }
    }
    assert_eq!(memory.read(u64::MAX - 1, &mut [0; 9]), Err(AccessError::Illegal));
    assert_eq!(memory.counters().faults, 0);
    assert_eq!(memory.fault(at(0), Touch::Load), Ok(()));
    assert_eq!(memory.fault(at(0), Touch::Store), Err(AccessError::Illegal));
    let mut seen = vec![0; untrusted.bytes()];
    untrusted.load(0, &mut seen);
    assert!(seen.iter().all(|byte| *byte == 0));
}

#[test]
fn a_page_that_was_changed_outside_ends_the_run() {
    for scheme in SCHEMES {
        let (mut memory, untrusted) = memory(scheme, 40, PagingMode::Sv39);
        memory.space.map(FIRST..FIRST + 30, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
        memory.write(at(0), &vec![3; 30 * PAGE as usize]).unwrap();
        untrusted.store(0, &vec![0x5a; untrusted.bytes()]);
        let failed = memory.read(at(0), &mut vec![0; 30 * PAGE as usize]).unwrap_err();
        let is_forged = matches!(&failed, AccessError::End(Ending::Failed { kind: Failure::Forged, .. }));
        assert!(is_forged, "{scheme}: {failed:?}");
    }
}

#[test]
fn memory_that_counts_at_a_touch_ends_the_run_when_there_is_none() {
    let (mut memory, _) = memory(Scheme::DetWoOram, 20, PagingMode::Sv39);
    memory.space.map(FIRST..FIRST + 100, Access::READ_WRITE, CommitPolicy::OnTouch).unwrap();
    for page in 0..20 {
        memory.fault(at(page), Touch::Store).unwrap();
    }
    let ended = memory.fault(at(20), Touch::Store).unwrap_err();
    assert!(
        matches!(ended, AccessError::End(Ending::Failed { kind: Failure::OutOfMemory, .. })),
        "{ended:?}"
    );
    memory.discard(FIRST + 3..FIRST + 5).unwrap();
    assert_eq!(memory.fault(at(20), Touch::Store), Ok(()));
    let mut page = [1; PAGE as usize];
    memory.read(at(20), &mut page).unwrap();
    assert_eq!(page, [0; PAGE as usize], "a page that was given up is given with nothing in it");
}

#[derive(Clone, Debug)]
enum Act {
    Write(u64, u16, u8),
    GiveUp(u64, u64),
    Protect(u64, u64, bool),
    PageJob(u64, u64, u64),
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        6 => (0u64..24, 0u16..5000, any::<u8>()).prop_map(|(page, bytes, value)| Act::Write(page, bytes, value)),
        1 => (0u64..24, 1u64..4).prop_map(|(page, count)| Act::GiveUp(page, count)),
        1 => (0u64..24, 1u64..4, any::<bool>()).prop_map(|(page, count, all)| Act::Protect(page, count, all)),
        1 => (0u64..20, 1u64..4, 0u64..20).prop_map(|(page, count, to)| Act::PageJob(page, count, to)),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn memory_is_an_array_whatever_is_done_to_its_pages(
        acts in proptest::collection::vec(act(), 1..60), nth in 0..SCHEMES.len(),
    ) {
        const PAGES: u64 = 24;
        let (mut memory, _) = memory(SCHEMES[nth], 30, PagingMode::Sv39);
        memory.space.map(FIRST..FIRST + PAGES, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
        let mut model = vec![0u8; (PAGES * PAGE) as usize];
        let bytes = |pages: std::ops::Range<u64>| (pages.start * PAGE) as usize..(pages.end * PAGE) as usize;
        for act in acts {
            match act {
                Act::Write(page, count, value) => {
                    let from = (page * PAGE + 99) as usize;
                    let to = (from + usize::from(count)).min(model.len());
                    model[from..to].fill(value);
                    memory.write(at(0) + from as u64, &model[from..to]).unwrap();
                }
                Act::GiveUp(page, count) => {
                    let pages = page..(page + count).min(PAGES);
                    memory.discard(FIRST + pages.start..FIRST + pages.end).unwrap();
                    model[bytes(pages)].fill(0);
                }
                Act::Protect(page, count, none) => {
                    let pages = FIRST + page..(FIRST + page + count).min(FIRST + PAGES);
                    let access = if none { Access::NONE } else { Access::READ };
                    memory.protect(pages.clone(), access);
                    if memory.space.protect(pages.clone(), access).is_ok() {
                        prop_assert_eq!(memory.fault(pages.start * PAGE, Touch::Store), Err(AccessError::Illegal));
                    }
                    memory.space.protect(pages.clone(), Access::READ_WRITE).unwrap();
                    memory.protect(pages, Access::READ_WRITE);
                }
                Act::PageJob(page, count, to) => {
                    if to < page + count && page < to + count {
                        continue;
                    }
                    memory.discard(FIRST + to..FIRST + to + count).unwrap();
                    memory.move_pages(FIRST + page..FIRST + page + count, FIRST + to).unwrap();
                    model.copy_within(bytes(page..page + count), (to * PAGE) as usize);
                    model[bytes(page..page + count)].fill(0);
                }
            }
        }
        let mut found = vec![1; model.len()];
        memory.read(at(0), &mut found).unwrap();
        prop_assert!(found == model);
    }
}
