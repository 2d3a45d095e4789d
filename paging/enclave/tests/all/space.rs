//! The areas of a program, against a table that says of every page what it is.

use ameles_enclave::access::Access;
use ameles_enclave::space::{CommitPolicy, OutOfPages, Space};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::ops::Range;

const PAGES: u64 = 40;

#[derive(Clone, Debug)]
enum Act {
    Map(Range<u64>, Access, CommitPolicy),
    Unmap(Range<u64>),
    Protect(Range<u64>, Access),
}

fn pages() -> impl Strategy<Value = Range<u64>> {
    (0u64..60, 1u64..20).prop_map(|(start, count)| start..start + count)
}

fn act() -> impl Strategy<Value = Act> {
    let access = || prop_oneof![Just(Access::NONE), Just(Access::READ), Just(Access::READ_WRITE)];
    let commit = prop_oneof![
        Just(CommitPolicy::Immediate),
        Just(CommitPolicy::OnFirstRight),
        Just(CommitPolicy::OnTouch)
    ];
    prop_oneof![
        (pages(), access(), commit).prop_map(|(pages, access, commit)| Act::Map(pages, access, commit)),
        pages().prop_map(Act::Unmap),
        (pages(), access()).prop_map(|(pages, access)| Act::Protect(pages, access)),
    ]
}

/// Rights, and when the page is promised.
type Model = BTreeMap<u64, (Access, CommitPolicy)>;

fn given(access: Access, commit: CommitPolicy) -> (Access, CommitPolicy) {
    let commit = if commit == CommitPolicy::OnFirstRight && access != Access::NONE {
        CommitPolicy::Immediate
    } else {
        commit
    };
    (access, commit)
}

fn committed(model: &Model) -> u64 {
    model.values().filter(|(_, commit)| *commit == CommitPolicy::Immediate).count() as u64
}

proptest! {
    #[test]
    fn every_page_is_of_the_area_that_was_last_mapped_there_and_promises_are_kept(acts in proptest::collection::vec(act(), 1..60)) {
        let (mut space, mut model) = (Space::new(PAGES), Model::new());
        for act in acts {
            let mut next = model.clone();
            let done = match act {
                Act::Map(pages, access, commit) => {
                    if !space.is_free(&pages) {
                        prop_assert!(pages.clone().any(|page| model.contains_key(&page)));
                        continue;
                    }
                    prop_assert!(!pages.clone().any(|page| model.contains_key(&page)));
                    next.extend(pages.clone().map(|page| (page, given(access, commit))));
                    space.map(pages, access, commit)
                }
                Act::Unmap(pages) => {
                    next.retain(|page, _| !pages.contains(page));
                    space.unmap(pages);
                    Ok(())
                }
                Act::Protect(pages, access) => {
                    let hole = pages.clone().find(|page| !model.contains_key(page)).unwrap_or(pages.end);
                    prop_assert_eq!(space.before_hole(&pages), pages.start..hole);
                    for (_, state) in next.range_mut(pages.clone()) {
                        *state = given(access, state.1);
                    }
                    space.protect(pages, access)
                }
            };
            prop_assert_eq!(done, if committed(&next) > PAGES { Err(OutOfPages) } else { Ok(()) });
            if done.is_ok() {
                model = next;
            }
            prop_assert_eq!(space.available(), PAGES - committed(&model));
            for page in 0..90 {
                let found = space.area_of(page).map(|area| (area.access, area.commit));
                prop_assert_eq!(found, model.get(&page).copied(), "page {}", page);
            }
            // The highest free place for three pages below 70.
            let free = |start: u64| (start..start + 3).all(|page| !model.contains_key(&page));
            prop_assert_eq!(space.place(3, &(5..70)), (5..=67).rev().find(|start| free(*start)));
        }
    }
}

#[test]
fn pages_that_count_at_a_touch_are_refused_when_there_are_none() {
    let mut space = Space::new(3);
    space.map(0..100, Access::READ_WRITE, CommitPolicy::OnTouch).unwrap();
    space.map(200..202, Access::READ_WRITE, CommitPolicy::Immediate).unwrap();
    assert_eq!((space.commit_touched(), space.commit_touched()), (Ok(()), Err(OutOfPages)));
    space.release_touched(1);
    assert_eq!(space.commit_touched(), Ok(()));
}
