//! The program for RISC-V without a standard library: it starts as a static program on Linux does, and makes two system
//! calls.
//!
//! `ameles-bare SCHEME CIPHER`, both as numbers, prints one digest. It runs in Ameles's enclave and on Linux.
#![allow(unsafe_code, reason = "entry, arguments and system calls; each says why it is sound")]

use crate::workload::{Scheme, digest};
use ameles_seal::pages::PageCipher;
use core::arch::{asm, global_asm};

// Linux enters with the number of arguments at the stack pointer, and pointers to them behind it.
global_asm!(
    ".global _start",
    "_start:",
    "mv a0, sp",
    "andi sp, sp, -16",
    "call {start}",
    start = sym start
);

/// The system calls, as Linux numbers them.
const WRITE: usize = 64;
const EXIT: usize = 93;
/// The exit code for invalid arguments.
const USAGE_ERROR: usize = 2;

extern "C" fn start(stack: *const usize) -> ! {
    let scheme = argument(stack, 1).and_then(|number| Scheme::ALL.get(number));
    let cipher = argument(stack, 2).and_then(|number| PageCipher::ALL.get(number));
    let (Some(scheme), Some(cipher)) = (scheme, cipher) else { exit(USAGE_ERROR) };
    let mut line = [b'\n'; 65];
    for (pair, byte) in line.chunks_exact_mut(2).zip(digest(*scheme, *cipher)) {
        pair.copy_from_slice(&[hex(byte >> 4), hex(byte & 15)]);
    }
    call(WRITE, [1, line.as_ptr() as usize, line.len()]);
    exit(0)
}

fn hex(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + digit - 10 }
}

/// An argument of one digit.
fn argument(stack: *const usize, nth: usize) -> Option<usize> {
    // SAFETY: at entry the stack holds the number of arguments, then as many pointers to strings that end with a zero.
    let text = unsafe {
        if nth >= *stack {
            return None;
        }
        core::ffi::CStr::from_ptr(*stack.add(1 + nth) as *const core::ffi::c_char)
    };
    match text.to_bytes() {
        [digit @ b'0'..=b'9'] => Some(usize::from(digit - b'0')),
        _ => None,
    }
}

fn exit(code: usize) -> ! {
    loop {
        call(EXIT, [code, 0, 0]);
    }
}

fn call(number: usize, arguments: [usize; 3]) -> usize {
    let mut value = arguments[0];
    // SAFETY: both calls read the memory that they are given, and write none.
    unsafe {
        asm!("ecall", inlateout("a0") value, in("a1") arguments[1], in("a2") arguments[2], in("a7") number, options(nostack));
    }
    value
}
