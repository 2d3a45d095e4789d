//! The address space of a program: its pages, their access rights, and how many are committed.
//!
//! A page of an area gets one of the region's pages at its first access. Pages of ordinary areas are committed when
//! they are mapped. A program that requests more pages than there are gets `ENOMEM` then, and never runs out later.
//! Pages without rights are committed when they get some. Pages of the stack and of `MAP_NORESERVE` are committed at
//! their first access.

use crate::access::Access;
use alloc::collections::BTreeMap;
use core::ops::Range;

/// Pages of one kind, next to each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Area {
    /// The page after its last.
    pub end: u64,
    /// The area's access rights.
    pub access: Access,
    /// The time when its pages are committed.
    pub commit: CommitPolicy,
}

/// The time when pages are committed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommitPolicy {
    /// The pages are committed when they are mapped.
    Immediate,
    /// The pages are committed at the first change that gives the program a right. The policy then becomes `Immediate`.
    OnFirstRight,
    /// The pages are committed at the first access.
    OnTouch,
}

/// There are not enough pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OutOfPages;

/// The areas of a program by their first pages, none of them empty, no two overlapping.
#[derive(Debug)]
pub struct Space {
    areas: BTreeMap<u64, Area>,
    /// The number of committed pages.
    committed: u64,
    /// All pages.
    pages: u64,
    /// True if more pages were requested than there were.
    has_run_out: bool,
}

impl Area {
    fn committed_pages(&self, start: u64) -> u64 {
        match self.commit {
            CommitPolicy::Immediate => self.end - start,
            CommitPolicy::OnFirstRight | CommitPolicy::OnTouch => 0,
        }
    }

    fn with_access(self, access: Access) -> Self {
        let commit = match self.commit {
            CommitPolicy::OnFirstRight if access != Access::NONE => CommitPolicy::Immediate,
            other => other,
        };
        Area { access, commit, ..self }
    }
}

impl Space {
    /// A space without areas, over this many pages.
    pub fn new(pages: u64) -> Self {
        Space { areas: BTreeMap::new(), committed: 0, pages, has_run_out: false }
    }

    /// The area of a page.
    pub fn area_of(&self, page: u64) -> Option<Area> {
        let (_, area) = self.areas.range(..=page).next_back()?;
        (page < area.end).then_some(*area)
    }

    /// Returns the number of pages that can still be committed.
    pub fn available(&self) -> u64 {
        self.pages - self.committed
    }

    /// Returns whether more pages were requested than there were.
    pub fn has_run_out(&self) -> bool {
        self.has_run_out
    }

    fn run_out(&mut self) -> OutOfPages {
        self.has_run_out = true;
        OutOfPages
    }

    /// Maps an area at addresses that are not mapped yet.
    ///
    /// # Errors
    /// [`OutOfPages`]. On error nothing changes.
    pub fn map(&mut self, pages: Range<u64>, access: Access, commit: CommitPolicy) -> Result<(), OutOfPages> {
        let area = Area { end: pages.end, access: Access::NONE, commit }.with_access(access);
        let committed = area.committed_pages(pages.start);
        if committed > self.available() {
            return Err(self.run_out());
        }
        self.committed += committed;
        self.areas.insert(pages.start, area);
        self.join(pages.end);
        self.join(pages.start);
        Ok(())
    }

    /// Removes pages from all areas. The caller discards the pages that were accessed, and passes how many of them were
    /// committed at their first access.
    pub fn unmap(&mut self, pages: Range<u64>) {
        for start in self.cut(&pages) {
            if let Some(area) = self.areas.remove(&start) {
                self.committed -= area.committed_pages(start);
            }
        }
    }

    /// Changes the access rights of pages.
    ///
    /// # Errors
    /// [`OutOfPages`]; then only the ends of areas may have changed.
    pub fn protect(&mut self, pages: Range<u64>, access: Access) -> Result<(), OutOfPages> {
        let starts = self.cut(&pages);
        let mut committed = self.committed;
        for (start, area) in starts.iter().filter_map(|start| Some((*start, *self.areas.get(start)?))) {
            committed += area.with_access(access).committed_pages(start) - area.committed_pages(start);
        }
        if committed > self.pages {
            return Err(self.run_out());
        }
        self.committed = committed;
        for start in starts {
            if let Some(area) = self.areas.get_mut(&start) {
                *area = area.with_access(access);
            }
            self.join(start);
        }
        self.join(pages.end);
        Ok(())
    }

    /// Merges two adjacent areas of the same kind.
    fn join(&mut self, at: u64) {
        let Some(second) = self.areas.get(&at).copied() else { return };
        if let Some((_, first)) = self.areas.range_mut(..at).next_back()
            && (first.end, first.access, first.commit) == (at, second.access, second.commit)
        {
            first.end = second.end;
            self.areas.remove(&at);
        }
    }

    /// Commits a page at its first access.
    ///
    /// # Errors
    /// [`OutOfPages`].
    pub fn commit_touched(&mut self) -> Result<(), OutOfPages> {
        if self.available() == 0 {
            return Err(self.run_out());
        }
        self.committed += 1;
        Ok(())
    }

    /// Releases accessed pages that were committed at their first access.
    pub fn release_touched(&mut self, pages: u64) {
        self.committed -= pages;
    }

    /// Returns whether no area is there.
    pub fn is_free(&self, pages: &Range<u64>) -> bool {
        self.areas.range(..pages.end).next_back().is_none_or(|(_, area)| area.end <= pages.start)
    }

    /// The pages before the first that belongs to no area.
    pub fn before_hole(&self, pages: &Range<u64>) -> Range<u64> {
        let mut page = pages.start;
        while page < pages.end {
            match self.area_of(page) {
                Some(area) => page = area.end,
                None => break,
            }
        }
        pages.start..page.min(pages.end)
    }

    /// The highest free range of this many pages within the given ones.
    pub fn place(&self, count: u64, within: &Range<u64>) -> Option<u64> {
        let mut end = within.end;
        for (start, area) in self.areas.range(..within.end).rev() {
            if end.saturating_sub(area.end.max(within.start)) >= count {
                break;
            }
            end = end.min(*start);
        }
        end.checked_sub(count).filter(|start| *start >= within.start && self.is_free(&(*start..end)))
    }

    /// The areas within pages, cut to them.
    pub fn within(&self, pages: &Range<u64>) -> impl Iterator<Item = (Range<u64>, Area)> {
        let first = self.areas.range(..pages.start).next_back();
        let (from, to) = (pages.start, pages.end);
        let rest = if from < to { Some(self.areas.range(from..to)) } else { None };
        first.into_iter().chain(rest.into_iter().flatten()).filter_map(move |(start, area)| {
            let part = (*start).max(from)..area.end.min(to);
            (!part.is_empty()).then_some((part, *area))
        })
    }

    /// Splits areas so that they begin and end where the pages do. Returns the first pages of those within.
    fn cut(&mut self, pages: &Range<u64>) -> alloc::vec::Vec<u64> {
        for at in [pages.start, pages.end] {
            if let Some((start, area)) =
                self.areas.range(..at).next_back().map(|(start, area)| (*start, *area))
                && area.end > at
            {
                self.areas.insert(start, Area { end: at, ..area });
                self.areas.insert(at, area);
            }
        }
        if pages.is_empty() {
            return alloc::vec::Vec::new();
        }
        self.areas.range(pages.clone()).map(|(start, _)| *start).collect()
    }
}
