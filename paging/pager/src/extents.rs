//! The addresses of a region's pages.
//!
//! An extent is a run of addresses. There are three kinds. Pages of the region are mapped there, in a row. Or it is on
//! demand: free pages are assigned at the first access. Or it is reserved: the program has mapped it without the right
//! to write, so it is still empty. Pages without an address are free.
//!
//! Nothing here accesses the memory. Lookups do not allocate.

use crate::access::Access;
use crate::interval_set::IntervalSet;
use crate::page::PAGE_BYTES;
use std::collections::BTreeMap;
use std::ops::Range;

/// The addresses of a region's pages.
pub(crate) struct Extents {
    /// The extents by their first addresses. No two overlap.
    extents: BTreeMap<usize, Extent>,
    /// The first addresses of the extents that have pages, by the first page.
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
    /// No pages yet. They are assigned at an access.
    OnDemand(OnExhaustion),
    /// The extent is reserved: nothing is in it.
    Reserved,
}

/// The effect of an access to on-demand memory if no page is free.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OnExhaustion {
    /// The program ends.
    End,
    /// The kernel gets the memory, unencrypted.
    Spill,
}

/// A part of an extent.
#[derive(Clone)]
pub(crate) struct ExtentPart {
    pub(crate) at: Range<usize>,
    pub(crate) access: Access,
    /// `None` if it is open or reserved.
    pub(crate) pages: Option<Range<u64>>,
    /// The effect of an access without a free page, if pages are assigned at an access.
    pub(crate) on_demand: Option<OnExhaustion>,
}

impl ExtentPart {
    /// Returns whether pages are mapped there, or will be.
    pub(crate) fn is_paged(&self) -> bool {
        self.pages.is_some() || self.on_demand.is_some()
    }
}

/// The address of a page.
#[derive(Clone, Copy)]
pub(crate) struct PageMapping {
    pub(crate) at: usize,
    pub(crate) access: Access,
}

/// The number of pages in a number of bytes.
fn page_count(bytes: usize) -> usize {
    bytes / PAGE_BYTES
}

impl Extent {
    /// The extent without its first bytes.
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
    /// The contents after a number of bytes.
    fn skip(self, bytes: usize) -> ExtentContents {
        match self {
            ExtentContents::Pages(first) => ExtentContents::Pages(first + page_count(bytes) as u64),
            other => other,
        }
    }
}

impl Extents {
    /// All pages of a region, none of them mapped.
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

    /// Returns the number of pages that are not mapped.
    pub(crate) fn free_pages(&self) -> usize {
        self.free_pages
    }

    /// Returns the trusted memory in bytes.
    pub(crate) fn trusted_bytes(&self) -> usize {
        let extent = size_of::<(usize, Extent)>() + size_of::<(u64, usize)>();
        size_of::<Self>() + self.extents.len() * extent
    }

    /// The page at an address, if one is mapped there and may be accessed.
    pub(crate) fn page_at(&self, address: usize) -> Option<u64> {
        let (&first, extent) = self.extents.range(..=address).next_back()?;
        let offset = address - first;
        let is_here = offset < extent.bytes && extent.access != Access::NONE;
        is_here.then_some(extent.first_page()? + page_count(offset) as u64)
    }

    /// The address of a page, unless it is free.
    pub(crate) fn mapping_of(&self, page: u64) -> Option<PageMapping> {
        let (&first_page, first) = self.by_page.range(..=page).next_back()?;
        let extent = self.extents[first];
        let offset = (page - first_page) as usize * PAGE_BYTES;
        (offset < extent.bytes).then(|| PageMapping { at: first + offset, access: extent.access })
    }

    /// The spans where pages are mapped, or will be.
    pub(crate) fn paged(&self) -> impl Iterator<Item = Range<usize>> {
        let paged = self.extents.iter().filter(|(_, extent)| extent.contents != ExtentContents::Reserved);
        paged.map(|(first, extent)| *first..first + extent.bytes)
    }

    /// The extents in a span, in order.
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

    /// Maps free pages at an empty span of whole pages. Returns `false` and changes nothing if there are too few.
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

    /// Records a reserved span, which was empty before.
    pub(crate) fn reserve(&mut self, span: Range<usize>, access: Access) {
        self.insert_span(span, access, ExtentContents::Reserved);
    }

    /// Records a span, which was empty before, whose pages are assigned at their first access.
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

    /// The effect of an access to this address without a free page, if pages are assigned there at an access.
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

    /// Maps a free page at an on-demand address. Returns `false` and changes nothing if none is free.
    pub(crate) fn bind_touched(&mut self, address: usize) -> bool {
        let Some((access, _)) = self.on_demand_extent(address).filter(|_| self.free_pages > 0) else {
            return false;
        };
        let page = address - address % PAGE_BYTES;
        self.extract(page..page + PAGE_BYTES);
        // A program that accesses one page after the other gets the first free ones, in a row: one extent.
        self.bind(page..page + PAGE_BYTES, access)
    }

    /// Unmaps an empty page. Another is assigned at the next access.
    pub(crate) fn release_page(&mut self, page: u64, on_exhaustion: OnExhaustion) {
        let Some(PageMapping { at, access }) = self.mapping_of(page) else { return };
        self.remove(at..at + PAGE_BYTES);
        self.reserve_on_demand(at..at + PAGE_BYTES, access, on_exhaustion);
    }

    /// Removes a span. Its pages become free.
    pub(crate) fn remove(&mut self, span: Range<usize>) {
        for part in self.extract(span) {
            if let Some(pages) = part.pages {
                let pages = pages.start as usize..pages.end as usize;
                self.free_pages += pages.len();
                self.free.insert(pages);
            }
        }
    }

    /// Changes the access rights of a span.
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

    /// Removes a span without freeing its pages.
    fn extract(&mut self, span: Range<usize>) -> Vec<ExtentPart> {
        self.split(span.start);
        self.split(span.end);
        let parts = self.parts(span);
        for part in &parts {
            self.remove_at(part.at.start);
        }
        parts
    }

    /// Splits an extent at this address, if it lies within one.
    fn split(&mut self, at: usize) {
        let Some((&first, &extent)) = self.extents.range(..at).next_back() else { return };
        if first + extent.bytes > at {
            self.remove_at(first);
            self.insert(first, Extent { bytes: at - first, ..extent });
            self.insert(at, extent.skip(at - first));
        }
    }

    /// Merges neighbours with consecutive contents, in a span and at its ends.
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
mod tests;
