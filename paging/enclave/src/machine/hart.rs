//! The operations of a hart of the enclave.

use super::instruction_counts::{self, all_retired_instructions, waited_instructions};
use crate::processor::{DistributedWork, Processor};
use core::arch::asm;

/// The board's timer has 10 million ticks a second.
const NANOS_A_TICK: u64 = 100;

/// The machine's operations for the hart that runs this code.
pub(super) struct Hart;

impl Processor for Hart {
    #[inline]
    fn flush_translation(address: u64) {
        // SAFETY: it only costs a walk of the page table.
        unsafe { asm!("sfence.vma {}, zero", in(reg) address, options(nostack)) };
    }

    #[inline]
    fn flush_instructions() {
        // SAFETY: it changes nothing that a program sees.
        unsafe { asm!("fence.i", options(nostack)) };
    }

    #[inline]
    fn retired_instructions() -> u64 {
        all_retired_instructions() - waited_instructions()
    }

    #[inline]
    fn nanos() -> u64 {
        riscv::register::time::read64() * NANOS_A_TICK
    }

    #[inline]
    fn shares() -> DistributedWork {
        instruction_counts::shares()
    }
}

/// Translates addresses by a page table from now on.
///
/// # Safety
/// The table maps the runtime's memory one to one, and stays where it is.
pub(super) unsafe fn translate((root, levels): (u64, u32)) {
    let mode: u64 = if levels == 4 { 9 } else { 8 };
    // SAFETY: the caller promises that the next instruction is where it was.
    unsafe {
        asm!("sfence.vma", "csrw satp, {}", "sfence.vma", in(reg) mode << 60 | root >> 12, options(nostack));
    }
}

/// Stops translating addresses: the page table may be dropped.
pub(super) fn translate_no_more() {
    // SAFETY: the runtime's memory is mapped one to one, and keeps its addresses.
    unsafe { asm!("csrw satp, zero", "sfence.vma", options(nostack)) };
}
