//! Copies and fills in assembly. A copy is opaque to the compiler: it reads each byte once, and none is omitted.

use core::arch::naked_asm;

/// Copies bytes from one place to another.
///
/// # Safety
/// Both ranges are mapped and do not overlap. One of them may change meanwhile.
pub(super) unsafe fn copy_once(to: *mut u8, from: *const u8, len: usize) {
    // SAFETY: the caller promises the ranges.
    unsafe { copy(to, from, len) };
}

/// Copies bytes, in half of the instructions that the compiler's function takes. Returns the destination.
///
/// As `memcpy` it is used for all copies of the compiler. A copy that must be done exactly once must not have that
/// name. A compiler knows the name's meaning: it replaces short copies by loads, and omits one whose bytes it has
/// already read.
#[unsafe(naked)]
unsafe extern "C" fn copy(to: *mut u8, from: *const u8, len: usize) -> *mut u8 {
    naked_asm!(
        ".global memcpy",
        "memcpy:",
        "mv a5, a0",
        "or t0, a0, a1",
        "andi t0, t0, 7",
        "bnez t0, 4f",
        // The end of the part that is copied in blocks of 128 bytes.
        "andi a6, a2, -128",
        "beqz a6, 3f",
        "add a6, a6, a0",
        "andi a2, a2, 127",
        "2:",
        "ld t0, 0(a1)",
        "ld t2, 8(a1)",
        "ld t3, 16(a1)",
        "ld t4, 24(a1)",
        "ld t5, 32(a1)",
        "ld t6, 40(a1)",
        "ld a3, 48(a1)",
        "ld a4, 56(a1)",
        "sd t0, 0(a0)",
        "sd t2, 8(a0)",
        "sd t3, 16(a0)",
        "sd t4, 24(a0)",
        "sd t5, 32(a0)",
        "sd t6, 40(a0)",
        "sd a3, 48(a0)",
        "sd a4, 56(a0)",
        "ld t0, 64(a1)",
        "ld t2, 72(a1)",
        "ld t3, 80(a1)",
        "ld t4, 88(a1)",
        "ld t5, 96(a1)",
        "ld t6, 104(a1)",
        "ld a3, 112(a1)",
        "ld a4, 120(a1)",
        "sd t0, 64(a0)",
        "sd t2, 72(a0)",
        "sd t3, 80(a0)",
        "sd t4, 88(a0)",
        "sd t5, 96(a0)",
        "sd t6, 104(a0)",
        "sd a3, 112(a0)",
        "sd a4, 120(a0)",
        "addi a1, a1, 128",
        "addi a0, a0, 128",
        "bne a0, a6, 2b",
        "3:",
        "li t1, 8",
        "bltu a2, t1, 4f",
        "ld t0, 0(a1)",
        "sd t0, 0(a0)",
        "addi a1, a1, 8",
        "addi a0, a0, 8",
        "addi a2, a2, -8",
        "j 3b",
        "4:",
        "beqz a2, 5f",
        "lbu t0, 0(a1)",
        "sb t0, 0(a0)",
        "addi a1, a1, 1",
        "addi a0, a0, 1",
        "addi a2, a2, -1",
        "j 4b",
        "5:",
        "mv a0, a5",
        "ret",
    )
}

/// Fills bytes, for all fills of the compiler.
// SAFETY: it does what the name promises, and returns the destination.
#[unsafe(no_mangle)]
#[unsafe(naked)]
unsafe extern "C" fn memset(to: *mut u8, value: i32, len: usize) -> *mut u8 {
    naked_asm!(
        "mv a5, a0",
        // Byte by byte up to a word.
        "1:",
        "andi t0, a0, 7",
        "beqz t0, 6f",
        "beqz a2, 5f",
        "sb a1, 0(a0)",
        "addi a0, a0, 1",
        "addi a2, a2, -1",
        "j 1b",
        "6:",
        // The byte, eight times.
        "andi a1, a1, 255",
        "slli t0, a1, 8",
        "or a1, a1, t0",
        "slli t0, a1, 16",
        "or a1, a1, t0",
        "slli t0, a1, 32",
        "or a1, a1, t0",
        "andi a6, a2, -128",
        "beqz a6, 3f",
        "add a6, a6, a0",
        "andi a2, a2, 127",
        "2:",
        "sd a1, 0(a0)",
        "sd a1, 8(a0)",
        "sd a1, 16(a0)",
        "sd a1, 24(a0)",
        "sd a1, 32(a0)",
        "sd a1, 40(a0)",
        "sd a1, 48(a0)",
        "sd a1, 56(a0)",
        "sd a1, 64(a0)",
        "sd a1, 72(a0)",
        "sd a1, 80(a0)",
        "sd a1, 88(a0)",
        "sd a1, 96(a0)",
        "sd a1, 104(a0)",
        "sd a1, 112(a0)",
        "sd a1, 120(a0)",
        "addi a0, a0, 128",
        "bne a0, a6, 2b",
        "3:",
        "li t1, 8",
        "bltu a2, t1, 4f",
        "sd a1, 0(a0)",
        "addi a0, a0, 8",
        "addi a2, a2, -8",
        "j 3b",
        "4:",
        "beqz a2, 5f",
        "sb a1, 0(a0)",
        "addi a0, a0, 1",
        "addi a2, a2, -1",
        "j 4b",
        "5:",
        "mv a0, a5",
        "ret",
    )
}
