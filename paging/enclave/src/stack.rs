//! The initial stack of a program: its arguments, its environment, and the auxiliary vector.

use crate::image::Image;
use crate::layout::PAGE;
use alloc::vec::Vec;
use linux_raw_sys::auxvec::{
    AT_BASE, AT_CLKTCK, AT_EGID, AT_ENTRY, AT_EUID, AT_EXECFN, AT_FLAGS, AT_GID, AT_HWCAP, AT_NULL,
    AT_PAGESZ, AT_PHDR, AT_PHENT, AT_PHNUM, AT_RANDOM, AT_SECURE, AT_UID,
};

/// The number of bytes of a program header.
const HEADER_BYTES: u64 = 56;
/// The extensions i, m, a, f, d and c of the processor, one bit for each letter.
const EXTENSIONS: u64 = 1 << 8 | 1 << 12 | 1 | 1 << 5 | 1 << 3 | 1 << 2;
/// The user and the group that a program runs as.
pub const USER: u64 = 1000;

/// The top of the stack, ready to be copied there.
pub struct Stack {
    /// The address at which it begins: the program's stack pointer.
    pub start: u64,
    /// The contents of the stack.
    pub bytes: Vec<u8>,
}

/// Builds the stack to end at an address, which is a multiple of 16. The random bytes are for the program's stack
/// protector.
pub fn build(
    end: u64,
    image: &Image<'_>,
    arguments: &[Vec<u8>],
    environment: &[Vec<u8>],
    random: &[u8; 16],
) -> Stack {
    let mut texts = Vec::new();
    let mut place = |bytes: &[u8], zero: &[u8]| {
        let at = texts.len() as u64;
        texts.extend_from_slice(bytes);
        texts.extend_from_slice(zero);
        at
    };
    let random = place(random, &[]);
    let arguments: Vec<u64> = arguments.iter().map(|text| place(text, &[0])).collect();
    let environment: Vec<u64> = environment.iter().map(|text| place(text, &[0])).collect();
    let name = arguments.first().copied().unwrap_or_default();

    let words = 1 + arguments.len() + 1 + environment.len() + 1 + 2 * 17;
    let texts_at = (end - texts.len() as u64) / 16 * 16;
    let start = (texts_at - 8 * words as u64) / 16 * 16;
    let mut bytes = Vec::with_capacity((end - start) as usize);
    let mut push = |word: u64| bytes.extend_from_slice(&word.to_le_bytes());
    push(arguments.len() as u64);
    arguments.iter().for_each(|at| push(texts_at + at));
    push(0);
    environment.iter().for_each(|at| push(texts_at + at));
    push(0);
    let facts: [(u32, u64); 17] = [
        (AT_PHDR, image.headers),
        (AT_PHENT, HEADER_BYTES),
        (AT_PHNUM, if image.headers == 0 { 0 } else { image.header_count }),
        (AT_PAGESZ, PAGE),
        (AT_BASE, 0),
        (AT_FLAGS, 0),
        (AT_ENTRY, image.entry),
        (AT_UID, USER),
        (AT_EUID, USER),
        (AT_GID, USER),
        (AT_EGID, USER),
        (AT_SECURE, 0),
        (AT_HWCAP, EXTENSIONS),
        (AT_CLKTCK, 100),
        (AT_RANDOM, texts_at + random),
        (AT_EXECFN, texts_at + name),
        (AT_NULL, 0),
    ];
    for (kind, value) in facts {
        push(kind.into());
        push(value);
    }
    bytes.resize((texts_at - start) as usize, 0);
    bytes.append(&mut texts);
    Stack { start, bytes }
}
