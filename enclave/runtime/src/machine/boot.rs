//! The first instructions, and the way out where nothing else is left.

use super::end::{self, end_with};
use core::arch::global_asm;
use core::panic::PanicInfo;
use lethe_boundary::exit::{Ending, Failure};

/// The firmware's calls about harts: one that starts another, one that stops the caller.
const HSM: usize = 0x48_534D;
const HART_START: usize = 0;
const HART_STOP: usize = 1;

// The firmware enters with the hart's number in a0 and the address of the device tree in a1, without translation.
global_asm!(
    ".section .text.start",
    ".global lethe_enclave_start",
    "lethe_enclave_start:",
    // The runtime is hart 0's. If another hart of the enclave started the firmware, it comes here in its stead: it starts
    // hart 0 at this place, and stops until it is started itself.
    "beqz a0, 3f",
    "mv a2, a1",
    "la a1, lethe_enclave_start",
    "li a0, 0",
    "li a7, {hsm}",
    "li a6, {start}",
    "ecall",
    "li a7, {hsm}",
    "li a6, {stop}",
    "ecall",
    "4:",
    "wfi",
    "j 4b",
    "3:",
    "la sp, lethe_enclave_stack_end",
    "csrw sie, zero",
    // The program may ask for the time, as on Linux, and for no other counter.
    "li t0, 2",
    "csrw scounteren, t0",
    // Floating point, all of it to be loaded when the program is first entered.
    "li t0, 0x6000",
    "csrs sstatus, t0",
    "la t0, {kernel_trap}",
    "csrw stvec, t0",
    "la t0, lethe_enclave_zeros",
    "la t1, lethe_enclave_zeros_end",
    "1:",
    "bgeu t0, t1, 2f",
    "sd zero, 0(t0)",
    "addi t0, t0, 8",
    "j 1b",
    "2:",
    "j {main}",
    main = sym main,
    hsm = const HSM,
    start = const HART_START,
    stop = const HART_STOP,
    kernel_trap = sym super::trap::lethe_enclave_kernel_trap,
);

extern "C" fn main(_hart: usize, device_tree: *const u8) -> ! {
    end_with(&super::run::run(device_tree))
}

/// A fault of the runtime itself. Its message may hold anything: only the place is told.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let place = info.location().map_or(("", 0), |location| (location.file(), location.line()));
    end::last_words(&format_args!("the runtime failed at {}:{}", place.0, place.1))
}

/// The end of a run that did not begin.
pub(super) fn not_begun(text: alloc::string::String) -> Ending {
    Ending::Failed { kind: Failure::Launch, text }
}
