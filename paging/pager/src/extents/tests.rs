//! Tests of the extents.

use super::*;
use proptest::prelude::*;
use std::collections::{BTreeMap, BTreeSet};

const PAGES: u64 = 24;
/// The number of pages of addresses, more than the region has.
const ADDRESSES: usize = 40;

#[derive(Clone, Debug)]
enum Step {
    Bind(Range<usize>),
    Reserve(Range<usize>),
    OnDemand(Range<usize>),
    Touch(usize),
    GiveUp(u64),
    Remove(Range<usize>),
    SetAccess(Range<usize>, bool),
}

fn step() -> impl Strategy<Value = Step> {
    let span = || (0..ADDRESSES, 1..12_usize).prop_map(|(first, len)| first..(first + len).min(ADDRESSES));
    prop_oneof![
        3 => span().prop_map(Step::Bind),
        1 => span().prop_map(Step::Reserve),
        2 => span().prop_map(Step::OnDemand),
        3 => (0..ADDRESSES).prop_map(Step::Touch),
        2 => (0..PAGES).prop_map(Step::GiveUp),
        2 => span().prop_map(Step::Remove),
        2 => (span(), any::<bool>()).prop_map(|(span, writes)| Step::SetAccess(span, writes)),
    ]
}

fn access(writes: bool) -> Access {
    if writes { Access::READ_WRITE } else { Access::NONE }
}

fn bytes(span: &Range<usize>) -> Range<usize> {
    span.start * PAGE_BYTES..span.end * PAGE_BYTES
}

/// The state of a page of addresses: which page is there (`MAX` if unknown), whether it may be written, and whether it
/// is open.
type Model = BTreeMap<usize, (Option<u64>, bool, bool)>;

/// Compares every address and every page, and records in the model which page was found at which address.
fn compare(extents: &Extents, model: &mut Model) -> Result<(), TestCaseError> {
    let mut seen = BTreeSet::new();
    for address in 0..ADDRESSES {
        let span = bytes(&(address..address + 1));
        let found = extents.parts(span.clone());
        prop_assert_eq!(found.len(), usize::from(model.contains_key(&address)));
        let Some((page, writes, is_on_demand)) = model.get_mut(&address) else { continue };
        prop_assert!(!*is_on_demand || page.is_none());
        prop_assert_eq!(found[0].on_demand, is_on_demand.then_some(OnExhaustion::Spill));
        prop_assert_eq!(
            extents.on_demand_at(span.start),
            (*is_on_demand && *writes).then_some(OnExhaustion::Spill)
        );
        prop_assert!(found[0].at == span && found[0].access == access(*writes));
        let found_page = found[0].pages.as_ref().map(|pages| pages.start);
        prop_assert_eq!(found_page.is_some(), page.is_some());
        let Some(found_page) = found_page else { continue };
        // A page that was put there stays there.
        prop_assert!(*page == Some(u64::MAX) || *page == Some(found_page));
        *page = Some(found_page);
        prop_assert!(seen.insert(found_page), "one page stands at two addresses");
        prop_assert_eq!(extents.page_at(span.end - 1), writes.then_some(found_page));
        let place = extents.mapping_of(found_page).unwrap();
        prop_assert!(place.at == span.start && place.access == access(*writes));
    }
    prop_assert_eq!(extents.free_pages(), PAGES as usize - seen.len());
    for page in (0..PAGES).filter(|page| !seen.contains(page)) {
        prop_assert!(extents.mapping_of(page).is_none());
    }
    Ok(())
}

/// Binds a page to an open span, if a page is free.
fn bind_touched(extents: &mut Extents, model: &mut Model, address: usize) -> Result<(), TestCaseError> {
    let state =
        model.get_mut(&address).filter(|(_, _, is_on_demand)| *is_on_demand && extents.free_pages() > 0);
    prop_assert_eq!(extents.bind_touched(address * PAGE_BYTES + 7), state.is_some());
    if let Some((page, _, is_on_demand)) = state {
        (*page, *is_on_demand) = (Some(u64::MAX), false);
    }
    Ok(())
}

proptest! {
    #[test]
    fn every_page_stands_at_one_address_at_most_and_stays_there(steps in prop::collection::vec(step(), 1..40)) {
        let (mut extents, mut model) = (Extents::new(PAGES), Model::new());
        for step in steps {
            match step {
                Step::Bind(span) => {
                    let here: Vec<usize> = span.clone().filter(|address| model.contains_key(address)).collect();
                    if here.is_empty() {
                        let room = extents.free_pages() >= span.len();
                        prop_assert_eq!(extents.bind(bytes(&span), Access::READ_WRITE), room);
                        if room {
                            model.extend(span.map(|address| (address, (Some(u64::MAX), true, false))));
                        }
                    }
                }
                Step::Reserve(span) => {
                    if span.clone().all(|address| !model.contains_key(&address)) {
                        extents.reserve(bytes(&span), Access::NONE);
                        model.extend(span.map(|address| (address, (None, false, false))));
                    }
                }
                Step::OnDemand(span) => {
                    if span.clone().all(|address| !model.contains_key(&address)) {
                        extents.reserve_on_demand(bytes(&span), Access::READ_WRITE, OnExhaustion::Spill);
                        model.extend(span.map(|address| (address, (None, true, true))));
                    }
                }
                Step::Touch(address) => bind_touched(&mut extents, &mut model, address)?,
                Step::GiveUp(page) => {
                    extents.release_page(page, OnExhaustion::Spill);
                    for state in model.values_mut().filter(|(found_page, ..)| *found_page == Some(page)) {
                        (state.0, state.2) = (None, true);
                    }
                }
                Step::Remove(span) => {
                    extents.remove(bytes(&span));
                    model.retain(|address, _| !span.contains(address));
                }
                Step::SetAccess(span, writes) => {
                    extents.set_access(bytes(&span), access(writes));
                    for (_, state) in model.range_mut(span) {
                        state.1 = writes;
                    }
                }
            }
            compare(&extents, &mut model)?;
        }
    }
}

#[test]
fn what_is_touched_in_a_row_is_one() {
    let mut extents = Extents::new(8);
    extents.reserve_on_demand(bytes(&(10..20)), Access::READ_WRITE, OnExhaustion::End);
    assert!(
        (10..18).all(|address| extents.bind_touched(address * PAGE_BYTES))
            && !extents.bind_touched(18 * PAGE_BYTES)
    );
    assert_eq!((extents.extents.len(), extents.by_page.len()), (2, 1));
}

#[test]
fn neighbours_that_go_on_as_one_another_are_one() {
    let mut extents = Extents::new(8);
    for page in 0..8 {
        assert!(extents.bind(bytes(&(page..page + 1)), Access::READ_WRITE));
    }
    assert_eq!(extents.extents.len(), 1);
    extents.set_access(bytes(&(3..5)), Access::NONE);
    assert_eq!(extents.extents.len(), 3);
    extents.set_access(bytes(&(2..6)), Access::READ_WRITE);
    assert_eq!((extents.extents.len(), extents.by_page.len()), (1, 1));
}
