//! The first instructions, and the panic handler.

use super::end::{self, end_with};
use super::hart_wait::SOFTWARE;
use core::arch::global_asm;
use core::panic::PanicInfo;

/// The firmware's extension for harts, and its call that starts a hart.
const HSM: usize = 0x48_534D;
const HART_START: usize = 0;

// The firmware enters with the hart's number in a0 and the address of the device tree in a1, without translation.
global_asm!(
    ".section .text.start",
    ".global ameles_enclave_start",
    "ameles_enclave_start:",
    // The runtime starts on hart 0. Another hart of the enclave comes here if it started the firmware: it starts hart 0
    // here. It also comes here if OpenSBI 1.1 starts a hart before it has stored its address. In both cases it waits
    // until hart 0 has a place for it.
    "beqz a0, 3f",
    "mv s0, a0",
    "mv a2, a1",
    "la a1, ameles_enclave_start",
    "li a0, 0",
    "li a7, {hsm}",
    "li a6, {start}",
    "ecall",
    "mv a0, s0",
    "slli s0, s0, 3",
    "la s1, {places}",
    "add s1, s1, s0",
    "csrw sie, {software}",
    "4:",
    "ld a1, 0(s1)",
    "bnez a1, 5f",
    "wfi",
    "j 4b",
    "5:",
    "fence r, rw",
    "j ameles_enclave_hart_start",
    "3:",
    "la sp, ameles_enclave_stack_end",
    "csrw sie, zero",
    // The program may read the time, as on Linux, and no other counter.
    "li t0, 2",
    "csrw scounteren, t0",
    // Floating point, whose registers are all loaded when the program is first entered.
    "li t0, 0x6000",
    "csrs sstatus, t0",
    "la t0, {kernel_trap}",
    "csrw stvec, t0",
    "la t0, ameles_enclave_zeros",
    "la t1, ameles_enclave_zeros_end",
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
    places = sym super::harts::HART_STARTS,
    software = const SOFTWARE,
    kernel_trap = sym super::trap::ameles_enclave_kernel_trap,
);

extern "C" fn main(_hart: usize, device_tree: *const u8) -> ! {
    end_with(&super::run::run(device_tree))
}

/// A panic of the runtime. Its message may contain secrets: only the location is reported.
#[panic_handler]
fn panic(info: &PanicInfo<'_>) -> ! {
    let place = info.location().map_or(("", 0), |location| (location.file(), location.line()));
    end::fail_runtime(&format_args!("the runtime failed at {}:{}", place.0, place.1))
}
