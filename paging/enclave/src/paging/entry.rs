//! Entries of the page table, for the processor and, in bits that the processor ignores, for the runtime.
//!
//! The processor ignores all but the lowest bit of an invalid entry. There the runtime stores which page is at the
//! address and with which rights, so that a fault needs no other table.

use crate::access::Access;

const VALID: u64 = 1;
/// Read, write and execute are bits 1, 2 and 3.
const RIGHTS: u32 = 1;
const USER: u64 = 1 << 4;
const GLOBAL: u64 = 1 << 5;
const ACCESSED: u64 = 1 << 6;
const DIRTY: u64 = 1 << 7;
/// The first of the two bits for software: there is a page at this address.
const HAS_PAGE: u64 = 1 << 8;
/// The second: the page was committed at its first access.
const AT_TOUCH: u64 = 1 << 9;
const NUMBER: u32 = 10;

/// An entry of the last level.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Entry(pub(crate) u64);

impl Entry {
    /// An address that was not accessed yet.
    pub(crate) const EMPTY: Entry = Entry(0);

    /// A page that faults at an access.
    pub(crate) fn absent(page: u32, access: Access, at_touch: bool) -> Self {
        let counts = if at_touch { AT_TOUCH } else { 0 };
        Entry(u64::from(page) << NUMBER | HAS_PAGE | counts | access.bits() << RIGHTS)
    }

    /// This page, mapped to a physical address.
    pub(crate) fn resident(self, address: u64) -> Self {
        let number = address >> 12 << NUMBER;
        let kept = self.0 & (HAS_PAGE | AT_TOUCH | 0b111 << RIGHTS);
        // Dirty from the beginning: whether a page was written must not be visible, and is not used.
        Entry(number | kept | VALID | USER | ACCESSED | DIRTY)
    }

    /// The table of the next level at a physical address.
    pub(crate) fn table(address: u64) -> u64 {
        address >> 12 << NUMBER | VALID
    }

    /// A gigabyte of physical memory for the runtime only.
    pub(crate) fn gigabyte(address: u64) -> u64 {
        address >> 12 << NUMBER | VALID | GLOBAL | ACCESSED | DIRTY | 0b111 << RIGHTS
    }

    /// Returns whether the address is mapped.
    pub(crate) fn is_resident(self) -> bool {
        self.0 & VALID != 0
    }

    /// Returns whether there is a page here.
    pub(crate) fn has_page(self) -> bool {
        self.0 & HAS_PAGE != 0
    }

    /// Returns whether it was committed at its first access.
    pub(crate) fn at_touch(self) -> bool {
        self.0 & AT_TOUCH != 0
    }

    /// Returns the entry's access rights.
    pub(crate) fn access(self) -> Access {
        Access::of_bits(self.0 >> RIGHTS)
    }

    /// The page here, if it is not resident; or the number of the physical page.
    pub(crate) fn number(self) -> u64 {
        self.0 >> NUMBER
    }
}
