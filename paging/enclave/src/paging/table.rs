//! The page table of the program: three levels (Sv39) or four (Sv48).
//!
//! All of its nodes are adjacent, so that the node of an entry is found by its address.

use super::entry::Entry;
use alloc::boxed::Box;
use alloc::vec;
use ameles_enclave_boundary::launch::PagingMode;
use core::ops::Range;

const ENTRIES: u64 = 512;
const BITS: u32 = 9;
/// The number of pages of a gigabyte.
const GIGABYTE: u64 = ENTRIES * ENTRIES;

#[derive(Clone)]
#[repr(C, align(4096))]
struct Node([u64; ENTRIES as usize]);

/// There is no room for another node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NoNode;

/// A page table.
pub(crate) struct PageTable {
    nodes: Box<[Node]>,
    used: usize,
    levels: u32,
}

impl PageTable {
    /// A table with room for this many nodes, which maps the given gigabytes one to one for the runtime.
    pub(crate) fn new(mode: PagingMode, nodes: usize, kernel: &Range<u64>) -> Result<Self, NoNode> {
        let levels = match mode {
            PagingMode::Sv39 => 3,
            PagingMode::Sv48 => 4,
        };
        let nodes = vec![Node([0; ENTRIES as usize]); nodes.max(1)].into();
        let mut table = PageTable { nodes, used: 1, levels };
        for address in kernel.clone().step_by(1 << 30) {
            let page = address / crate::layout::PAGE;
            let (node, at) = table.make(page, 2)?;
            table.nodes[node].0[at] = Entry::gigabyte(address);
        }
        Ok(table)
    }

    /// The physical address of its root.
    pub(crate) fn root(&self) -> u64 {
        self.nodes.as_ptr() as u64
    }

    /// The levels: 3 or 4.
    pub(crate) fn levels(&self) -> u32 {
        self.levels
    }

    /// Returns the page table's size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        size_of_val(&*self.nodes)
    }

    /// The entry of a page. The runtime's own gigabytes have none.
    pub(crate) fn entry(&self, page: u64) -> Entry {
        self.find(page).map_or(Entry::EMPTY, |(node, at)| Entry(self.nodes[node].0[at]))
    }

    /// Replaces the entry of a page.
    pub(crate) fn set(&mut self, page: u64, entry: Entry) -> Result<(), NoNode> {
        let (node, at) = match self.find(page) {
            Some(found) => found,
            None => self.make(page, 0)?,
        };
        self.nodes[node].0[at] = entry.0;
        Ok(())
    }

    /// Replaces a present entry.
    pub(crate) fn replace(&mut self, page: u64, entry: Entry) {
        self.update(page, |_| Some(entry));
    }

    /// Replaces an entry by the result of a function, if the function returns one. If so, returns the old entry.
    pub(crate) fn update(&mut self, page: u64, turn: impl FnOnce(Entry) -> Option<Entry>) -> Option<Entry> {
        let (node, at) = self.find(page)?;
        let entry = &mut self.nodes[node].0[at];
        let before = Entry(*entry);
        *entry = turn(before)?.0;
        Some(before)
    }

    /// The first of these pages at which there is a page, or was since its node was made.
    pub(crate) fn next(&self, pages: Range<u64>) -> Option<u64> {
        let mut page = pages.start;
        while page < pages.end {
            match self.missing(page) {
                None if self.entry(page).has_page() => return Some(page),
                None => page += 1,
                Some(level) => page = (page >> (BITS * level) << (BITS * level)) + (1 << (BITS * level)),
            }
        }
        None
    }

    fn index(page: u64, level: u32) -> usize {
        (page >> (BITS * level) & (ENTRIES - 1)) as usize
    }

    fn node_of(&self, entry: u64) -> usize {
        let address = Entry(entry).number() << 12;
        (address - self.root()) as usize / size_of::<Node>()
    }

    /// The node and the index of a page's entry.
    #[inline]
    fn find(&self, page: u64) -> Option<(usize, usize)> {
        let mut node = 0;
        for level in (1..self.levels).rev() {
            let entry = self.nodes[node].0[Self::index(page, level)];
            if !is_table(entry) {
                return None;
            }
            node = self.node_of(entry);
        }
        Some((node, Self::index(page, 0)))
    }

    /// The level at which a node is missing for a page.
    fn missing(&self, page: u64) -> Option<u32> {
        let mut node = 0;
        for level in (1..self.levels).rev() {
            let entry = self.nodes[node].0[Self::index(page, level)];
            if !is_table(entry) {
                return Some(level);
            }
            node = self.node_of(entry);
        }
        None
    }

    /// The node and the index of an entry at a level, with the nodes above it.
    fn make(&mut self, page: u64, to: u32) -> Result<(usize, usize), NoNode> {
        let mut node = 0;
        for level in (to + 1..self.levels).rev() {
            let at = Self::index(page, level);
            if self.nodes[node].0[at] == 0 {
                if self.used == self.nodes.len() {
                    return Err(NoNode);
                }
                let address = self.root() + (self.used * size_of::<Node>()) as u64;
                self.nodes[node].0[at] = Entry::table(address);
                self.used += 1;
            }
            let entry = self.nodes[node].0[at];
            if !is_table(entry) {
                return Err(NoNode);
            }
            node = self.node_of(entry);
        }
        Ok((node, Self::index(page, to)))
    }
}

const _: () = assert!(GIGABYTE * crate::layout::PAGE == 1 << 30);

/// Returns whether an entry points to a node: valid, without rights.
fn is_table(entry: u64) -> bool {
    entry & 0b1111 == 1
}
