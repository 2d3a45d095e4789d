//! Words in lines of the processor's caches: a path reads a bucket of each level, and nearly each of the deep ones
//! comes from memory.

use super::huge_pages;
use std::ops::{Deref, DerefMut};

const LINE_BYTES: usize = 64;
const LINE_WORDS: usize = LINE_BYTES / size_of::<u64>();

/// Words that begin at a line. So no bucket of four words, at a multiple of four, is in two lines.
#[derive(Debug)]
pub(super) struct LineWords {
    words: Vec<u64>,
    /// The number of words before the first line.
    skipped: usize,
}

impl LineWords {
    /// Returns that many zeros.
    pub(super) fn zeros(len: usize) -> Self {
        let mut words: Vec<u64> = huge_pages::zeros(len + LINE_WORDS);
        let skipped = words.as_ptr().align_offset(LINE_BYTES);
        words.truncate(skipped + len);
        LineWords { words, skipped }
    }

    /// Returns that many zeros, in this memory if that suffices.
    pub(super) fn into_zeros(mut self, len: usize) -> Self {
        if self.words.capacity() < self.skipped + len {
            drop(self);
            return LineWords::zeros(len);
        }
        self.words.truncate(self.skipped);
        self.words.resize(self.skipped + len, 0);
        self
    }
}

impl Clone for LineWords {
    fn clone(&self) -> Self {
        let mut words: Vec<u64> = huge_pages::with_capacity(self.len() + LINE_WORDS);
        let skipped = words.as_ptr().align_offset(LINE_BYTES);
        words.resize(skipped, 0);
        words.extend_from_slice(self);
        LineWords { words, skipped }
    }

    fn clone_from(&mut self, source: &Self) {
        if self.words.capacity() < self.skipped + source.len() {
            *self = source.clone();
        } else {
            self.words.truncate(self.skipped);
            self.words.extend_from_slice(source);
        }
    }
}

impl Deref for LineWords {
    type Target = [u64];

    #[inline]
    fn deref(&self) -> &[u64] {
        &self.words[self.skipped..]
    }
}

impl DerefMut for LineWords {
    #[inline]
    fn deref_mut(&mut self) -> &mut [u64] {
        &mut self.words[self.skipped..]
    }
}

/// Asks the processor for the line of a word, without waiting for it.
#[cfg(target_arch = "x86_64")]
#[inline]
#[expect(unsafe_code, reason = "the instruction has no safe form")]
pub(crate) fn prefetch<T>(word: &T) {
    use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
    // SAFETY: each processor of this architecture has the instruction, and it changes nothing but the caches.
    unsafe { _mm_prefetch::<_MM_HINT_T0>(std::ptr::from_ref(word).cast()) }
}

/// Asks for nothing: another processor fetches lines when they are read.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn prefetch<T>(_: &T) {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_and_their_copies_begin_at_a_line() {
        let mut words = LineWords::zeros(3 * LINE_WORDS + 1);
        assert!(words.len() == 3 * LINE_WORDS + 1 && words.iter().all(|word| *word == 0));
        words[3 * LINE_WORDS] = 7;
        let mut copy = words.clone();
        assert_eq!(copy[..], words[..]);
        let (more, fewer) = (LineWords::zeros(40 * LINE_WORDS), LineWords::zeros(1));
        for other in [&more, &fewer, &words] {
            copy.clone_from(other);
            assert_eq!(copy[..], other[..]);
            copy.fill(7);
            copy = copy.into_zeros(other.len() + 9);
            assert!(copy.len() == other.len() + 9 && copy.iter().all(|word| *word == 0));
        }
        assert_eq!([&words, &copy].map(|words| words.as_ptr().align_offset(LINE_BYTES)), [0; 2]);
    }
}
