//! Entering the program, and its traps.

use super::end::fail_runtime;
use crate::registers::Registers;
use core::arch::{global_asm, naked_asm};
use core::mem::offset_of;

/// The registers of the program while the runtime runs, and the registers of the runtime while the program runs.
#[repr(C)]
pub(super) struct Context {
    /// The registers of the program. They come first.
    pub(super) registers: Registers,
    runtime_stack: u64,
    /// The number of instructions retired when the program was left for the runtime.
    pub(super) entered: u64,
    /// The number of instructions retired when the runtime was left for the program.
    pub(super) left: u64,
}

impl Context {
    /// A program before its first instruction.
    pub(super) fn new(pc: u64, stack: u64) -> Self {
        let mut registers = Registers { pc, ..Registers::default() };
        registers.general[2] = stack;
        Context { registers, runtime_stack: 0, entered: 0, left: 0 }
    }
}

const PC: usize = offset_of!(Context, registers.pc);
const RUNTIME_STACK: usize = offset_of!(Context, runtime_stack);
const ENTERED: usize = offset_of!(Context, entered);
const LEFT: usize = offset_of!(Context, left);
const FLOATING: usize = offset_of!(Context, registers.floating);
const FLOATING_STATUS: usize = offset_of!(Context, registers.floating_status);

/// Repeats an instruction for floating-point registers 0 to 31.
macro_rules! floating {
    ($do:literal) => {
        concat!(
            ".irp n, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $do,
            " f\\n, {floating} + 8 * \\n(a0)\n",
            ".endr"
        )
    };
}

/// Repeats an instruction for all registers but x0, sp and a0.
macro_rules! registers {
    ($do:literal) => {
        concat!(
            ".irp n, 1,3,4,5,6,7,8,9,11,12,13,14,15,16,17,18,19,20,21,22,23,24,25,26,27,28,29,30,31\n",
            $do,
            " x\\n, 8 * \\n(a0)\n",
            ".endr"
        )
    };
}

/// Repeats an instruction for the callee-saved registers: ra and s0 to s11.
macro_rules! kept {
    ($do:literal) => {
        concat!(
            $do,
            " ra, 0(sp)\n",
            $do,
            " s0, 8(sp)\n",
            $do,
            " s1, 16(sp)\n",
            $do,
            " s2, 24(sp)\n",
            $do,
            " s3, 32(sp)\n",
            $do,
            " s4, 40(sp)\n",
            $do,
            " s5, 48(sp)\n",
            $do,
            " s6, 56(sp)\n",
            $do,
            " s7, 64(sp)\n",
            $do,
            " s8, 72(sp)\n",
            $do,
            " s9, 80(sp)\n",
            $do,
            " s10, 88(sp)\n",
            $do,
            " s11, 96(sp)"
        )
    };
}

/// Runs the program until its next trap.
///
/// # Safety
/// The page table is in use, and user mode can access only the program's pages.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn enter(context: *mut Context) {
    naked_asm!(
        // Assembly outside of a function does not know the target's features.
        ".option push",
        ".option arch, +d",
        "addi sp, sp, -112",
        kept!("sd"),
        "sd sp, {runtime_stack}(a0)",
        "csrw sscratch, a0",
        "la t0, {program_trap}",
        "csrw stvec, t0",
        "ld t0, {pc}(a0)",
        "csrw sepc, t0",
        // The program's floating-point registers are still loaded, unless the runtime has used some.
        "csrr t0, sstatus",
        "li t1, 0x6000",
        "and t2, t0, t1",
        "bne t2, t1, 1f",
        floating!("fld"),
        "ld t2, {floating_status}(a0)",
        "fscsr t2",
        "1:",
        // Back to user mode, with clean floating point.
        "li t1, 0x6100",
        "csrc sstatus, t1",
        "li t1, 0x4000",
        "csrs sstatus, t1",
        "csrr t0, instret",
        "sd t0, {left}(a0)",
        "ld sp, 16(a0)",
        registers!("ld"),
        "ld a0, 80(a0)",
        "sret",
        ".option pop",
        runtime_stack = const RUNTIME_STACK,
        program_trap = sym ameles_enclave_program_trap,
        pc = const PC,
        left = const LEFT,
        floating = const FLOATING,
        floating_status = const FLOATING_STATUS,
    )
}

/// The other half of [`enter`]: a trap of the program enters here, and returns to the caller of `enter`.
#[unsafe(naked)]
unsafe extern "C" fn ameles_enclave_program_trap() {
    naked_asm!(
        ".option push",
        ".option arch, +d",
        ".balign 4",
        "csrrw a0, sscratch, a0",
        registers!("sd"),
        "csrr t0, instret",
        "sd t0, {entered}(a0)",
        "sd sp, 16(a0)",
        "csrr t0, sscratch",
        "sd t0, 80(a0)",
        "csrr t0, sepc",
        "sd t0, {pc}(a0)",
        "la t0, {kernel_trap}",
        "csrw stvec, t0",
        "csrr t0, sstatus",
        "li t1, 0x6000",
        "and t2, t0, t1",
        "bne t2, t1, 1f",
        floating!("fsd"),
        "frcsr t2",
        "sd t2, {floating_status}(a0)",
        "li t2, 0x2000",
        "csrc sstatus, t2",
        "1:",
        "ld sp, {runtime_stack}(a0)",
        kept!("ld"),
        "addi sp, sp, 112",
        "ret",
        ".option pop",
        entered = const ENTERED,
        pc = const PC,
        runtime_stack = const RUNTIME_STACK,
        kernel_trap = sym ameles_enclave_kernel_trap,
        floating = const FLOATING,
        floating_status = const FLOATING_STATUS,
    )
}

global_asm!(".section .bss", ".balign 16", "ameles_enclave_last_stack:", ".space 0x4000", ".text");

/// A trap of the runtime itself, which must not happen.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn ameles_enclave_kernel_trap() {
    naked_asm!(
        ".balign 4",
        "la sp, ameles_enclave_last_stack + 0x4000",
        "csrr a0, scause",
        "csrr a1, sepc",
        "j {broken}",
        broken = sym broken,
    )
}

pub(super) extern "C" fn broken(cause: u64, pc: u64) -> ! {
    fail_runtime(&format_args!("the runtime was trapped, with cause {cause}, at {pc:#x}"))
}
