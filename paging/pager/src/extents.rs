//! The addresses at which a region's pages stand.
//!
//! An extent is a run of addresses. Pages of the region stand there, in a row; or it is open: it is given free pages
//! where it is touched; or it is reserved: the program has made it without the right to write, so that it holds nothing
//! yet. The pages that stand nowhere are free.
//!
//! Nothing here touches memory. Looking something up allocates nothing.

use crate::access::Access;
use crate::interval_set::IntervalSet;
use crate::page::PAGE_BYTES;
use std::collections::BTreeMap;
use std::ops::Range;

/// The addresses of a region's pages.
pub(crate) struct Extents {
    /// By their first addresses. No two overlap.
    extents: BTreeMap<usize, Extent>,
    /// The first addresses of those that have pages, by the first page.
    by_page: BTreeMap<u64, usize>,
    free: IntervalSet,
    free_pages: usize,
    pages: usize,
}

#[derive(Clone, Copy)]
struct Extent {
    bytes: usize,
    access: Access,
    contents: ExtentContents,
}

/// The contents of an extent's addresses.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ExtentContents {
    /// Pages in a row, from this one.
    Pages(u64),
    /// Nothing yet. Pages come at a touch.
    OnDemand(OnExhaustion),
    /// Nothing.
    Reserved,
}

/// The outcome of a touch of what is open, if no page is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnExhaustion {
    /// The program ends.
    End,
    /// It is the kernel's memory from now on, in the clear.
    Spill,
}

/// A part of an extent.
#[derive(Clone)]
pub(crate) struct ExtentPart {
    pub(crate) at: Range<usize>,
    pub(crate) access: Access,
    /// `None` if it is open or reserved.
    pub(crate) pages: Option<Range<u64>>,
    /// The outcome of a touch without a free page, if pages come at a touch.
    pub(crate) on_demand: Option<OnExhaustion>,
}

impl ExtentPart {
    /// Tells whether pages stand there, or come.
    pub(crate) fn is_paged(&self) -> bool {
        self.pages.is_some() || self.on_demand.is_some()
    }
}

/// The place where a page stands.
#[derive(Clone, Copy)]
pub(crate) struct PageMapping {
    pub(crate) at: usize,
    pub(crate) access: Access,
}

/// Pages in so many bytes.
fn page_count(bytes: usize) -> usize {
    bytes / PAGE_BYTES
}

impl Extent {
    /// Without its first so many bytes.
    fn skip(self, bytes: usize) -> Extent {
        Extent { bytes: self.bytes - bytes, contents: self.contents.skip(bytes), ..self }
    }

    fn first_page(&self) -> Option<u64> {
        match self.contents {
            ExtentContents::Pages(first) => Some(first),
            ExtentContents::OnDemand(_) | ExtentContents::Reserved => None,
        }
    }

    fn continues_into(&self, next: &Extent) -> bool {
        self.access == next.access && self.contents.skip(self.bytes) == next.contents
    }
}

impl ExtentContents {
    /// Behind so many bytes.
    fn skip(self, bytes: usize) -> ExtentContents {
        match self {
            ExtentContents::Pages(first) => ExtentContents::Pages(first + page_count(bytes) as u64),
            other => other,
        }
    }
}

impl Extents {
    /// So many pages, none of which stands anywhere.
    pub(crate) fn new(pages: u64) -> Self {
        let free = IntervalSet::of(0..pages as usize);
        Extents {
            extents: BTreeMap::new(),
            by_page: BTreeMap::new(),
            free,
            free_pages: pages as usize,
            pages: pages as usize,
        }
    }

    /// All pages of a region in a row.
    pub(crate) fn contiguous(start: usize, bytes: usize) -> Self {
        let mut extents = Extents::new(page_count(bytes) as u64);
        extents.bind(start..start + bytes, Access::READ_WRITE);
        extents
    }

    /// All pages.
    pub(crate) fn pages(&self) -> usize {
        self.pages
    }

    /// Pages that stand nowhere.
    pub(crate) fn free_pages(&self) -> usize {
        self.free_pages
    }

    /// Bytes on the trusted side.
    pub(crate) fn trusted_bytes(&self) -> usize {
        let extent = size_of::<(usize, Extent)>() + size_of::<(u64, usize)>();
        size_of::<Self>() + self.extents.len() * extent
    }

    /// The page at an address, if one stands there that may be touched.
    pub(crate) fn page_at(&self, address: usize) -> Option<u64> {
        let (&first, extent) = self.extents.range(..=address).next_back()?;
        let offset = address - first;
        let is_here = offset < extent.bytes && extent.access != Access::NONE;
        is_here.then_some(extent.first_page()? + page_count(offset) as u64)
    }

    /// The place where a page stands, unless it is free.
    pub(crate) fn mapping_of(&self, page: u64) -> Option<PageMapping> {
        let (&first_page, first) = self.by_page.range(..=page).next_back()?;
        let extent = self.extents[first];
        let offset = (page - first_page) as usize * PAGE_BYTES;
        (offset < extent.bytes).then(|| PageMapping { at: first + offset, access: extent.access })
    }

    /// The spans where pages stand, or will.
    pub(crate) fn paged(&self) -> impl Iterator<Item = Range<usize>> {
        let paged = self.extents.iter().filter(|(_, extent)| extent.contents != ExtentContents::Reserved);
        paged.map(|(first, extent)| *first..first + extent.bytes)
    }

    /// The parts of a span that are there, in their order.
    pub(crate) fn parts(&self, span: Range<usize>) -> Vec<ExtentPart> {
        let begun = self.extents.range(..span.start).next_back();
        let begin = self.extents.range(span.start..span.end.max(span.start));
        let part = |(&first, extent): (&usize, &Extent)| {
            let at = first.max(span.start)..(first + extent.bytes).min(span.end);
            let page =
                |address: usize| extent.first_page().map(|page| page + page_count(address - first) as u64);
            (!at.is_empty()).then(|| ExtentPart {
                at: at.clone(),
                access: extent.access,
                pages: page(at.start).zip(page(at.end)).map(|(first, end)| first..end),
                on_demand: match extent.contents {
                    ExtentContents::OnDemand(on_exhaustion) => Some(on_exhaustion),
                    ExtentContents::Pages(_) | ExtentContents::Reserved => None,
                },
            })
        };
        begun.into_iter().chain(begin).filter_map(part).collect()
    }

    /// Puts free pages into a span of whole pages where nothing is. `false`, and nothing has changed, if there are too
    /// few.
    pub(crate) fn bind(&mut self, span: Range<usize>, access: Access) -> bool {
        debug_assert!(self.parts(span.clone()).is_empty(), "nothing stands there");
        let mut wanted = page_count(span.len());
        if wanted > self.free_pages {
            return false;
        }
        self.free_pages -= wanted;
        let mut at = span.start;
        while wanted > 0 {
            let pages = self.free.take_at_most(wanted).expect("so many are free");
            let bytes = pages.len() * PAGE_BYTES;
            self.insert(at, Extent { bytes, access, contents: ExtentContents::Pages(pages.start as u64) });
            at += bytes;
            wanted -= pages.len();
        }
        self.join(span);
        true
    }

    /// Notes a span without pages where nothing is.
    pub(crate) fn reserve(&mut self, span: Range<usize>, access: Access) {
        self.insert_span(span, access, ExtentContents::Reserved);
    }

    /// Notes a span where nothing is, to which pages come as it is touched.
    pub(crate) fn reserve_on_demand(
        &mut self,
        span: Range<usize>,
        access: Access,
        on_exhaustion: OnExhaustion,
    ) {
        self.insert_span(span, access, ExtentContents::OnDemand(on_exhaustion));
    }

    fn insert_span(&mut self, span: Range<usize>, access: Access, contents: ExtentContents) {
        debug_assert!(self.parts(span.clone()).is_empty(), "nothing stands there");
        if !span.is_empty() {
            self.insert(span.start, Extent { bytes: span.len(), access, contents });
            self.join(span);
        }
    }

    /// The outcome of a touch of this address without a free page, if a page comes at a touch.
    pub(crate) fn on_demand_at(&self, address: usize) -> Option<OnExhaustion> {
        let (_, on_exhaustion) =
            self.on_demand_extent(address).filter(|(access, _)| *access != Access::NONE)?;
        Some(on_exhaustion)
    }

    fn on_demand_extent(&self, address: usize) -> Option<(Access, OnExhaustion)> {
        let (&first, extent) = self.extents.range(..=address).next_back()?;
        match extent.contents {
            ExtentContents::OnDemand(on_exhaustion) if address - first < extent.bytes => {
                Some((extent.access, on_exhaustion))
            }
            _ => None,
        }
    }

    /// Puts a free page to an address that is open. `false`, and nothing has changed, if none is free.
    pub(crate) fn bind_touched(&mut self, address: usize) -> bool {
        let Some((access, _)) = self.on_demand_extent(address).filter(|_| self.free_pages > 0) else {
            return false;
        };
        let page = address - address % PAGE_BYTES;
        self.extract(page..page + PAGE_BYTES);
        // Who touches one page after the other gets the first free ones, in a row: one extent.
        self.bind(page..page + PAGE_BYTES, access)
    }

    /// Takes a page, which holds nothing, away from where it stands. Another comes there at a touch.
    pub(crate) fn release_page(&mut self, page: u64, on_exhaustion: OnExhaustion) {
        let Some(PageMapping { at, access }) = self.mapping_of(page) else { return };
        self.remove(at..at + PAGE_BYTES);
        self.reserve_on_demand(at..at + PAGE_BYTES, access, on_exhaustion);
    }

    /// Forgets what is there of a span. Its pages are free.
    pub(crate) fn remove(&mut self, span: Range<usize>) {
        for part in self.extract(span) {
            if let Some(pages) = part.pages {
                let pages = pages.start as usize..pages.end as usize;
                self.free_pages += pages.len();
                self.free.insert(pages);
            }
        }
    }

    /// Changes what may be done with all that is there of a span.
    pub(crate) fn set_access(&mut self, span: Range<usize>, access: Access) {
        for ExtentPart { at, pages, on_demand, .. } in self.extract(span.clone()) {
            let contents = match (pages, on_demand) {
                (Some(pages), _) => ExtentContents::Pages(pages.start),
                (None, Some(on_exhaustion)) => ExtentContents::OnDemand(on_exhaustion),
                (None, None) => ExtentContents::Reserved,
            };
            self.insert(at.start, Extent { bytes: at.len(), access, contents });
        }
        self.join(span);
    }

    fn insert(&mut self, at: usize, extent: Extent) {
        if let Some(page) = extent.first_page() {
            self.by_page.insert(page, at);
        }
        self.extents.insert(at, extent);
    }

    fn remove_at(&mut self, at: usize) -> Option<Extent> {
        let extent = self.extents.remove(&at)?;
        if let Some(page) = extent.first_page() {
            self.by_page.remove(&page);
        }
        Some(extent)
    }

    /// Takes a span out, without freeing its pages.
    fn extract(&mut self, span: Range<usize>) -> Vec<ExtentPart> {
        self.split(span.start);
        self.split(span.end);
        let parts = self.parts(span);
        for part in &parts {
            self.remove_at(part.at.start);
        }
        parts
    }

    /// Lets an extent begin at this address, if it lies within one.
    fn split(&mut self, at: usize) {
        let Some((&first, &extent)) = self.extents.range(..at).next_back() else { return };
        if first + extent.bytes > at {
            self.remove_at(first);
            self.insert(first, Extent { bytes: at - first, ..extent });
            self.insert(at, extent.skip(at - first));
        }
    }

    /// Makes one of neighbours that go on as one another, in a span and at its ends.
    fn join(&mut self, span: Range<usize>) {
        let firsts: Vec<usize> = self.extents.range(span.start..=span.end).map(|(first, _)| *first).collect();
        for first in firsts {
            let next = self.extents[&first];
            let Some((&before, &one)) = self.extents.range(..first).next_back() else { continue };
            if before + one.bytes == first && one.continues_into(&next) {
                self.remove_at(first);
                self.insert(before, Extent { bytes: one.bytes + next.bytes, ..one });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::{BTreeMap, BTreeSet};

    const PAGES: u64 = 24;
    /// Pages of addresses, more than the region has.
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
        let span =
            || (0..ADDRESSES, 1..12_usize).prop_map(|(first, len)| first..(first + len).min(ADDRESSES));
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

    /// The state of a page of addresses: which page stands there (`MAX` if that is not known), whether it may be
    /// written, and whether it is open.
    type Model = BTreeMap<usize, (Option<u64>, bool, bool)>;

    /// Compares every address and every page; keeps which page was found where.
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

    /// A page comes to what is open, if one is free.
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
}
