//! A quick sum over many words, so that a program's answer depends on all of its memory.

use std::fmt;

/// Differs whenever one word differs, and with overwhelming odds when several do. No protection against malice.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Checksum(u64);

impl Checksum {
    pub(crate) fn new() -> Self {
        Checksum(0)
    }

    /// Adds a word. The old sum and the word go through a bijection, so neither can be lost.
    pub(crate) fn add(&mut self, word: u64) {
        self.0 = (self.0 ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(29).wrapping_add(1);
    }
}

/// Sixteen hexadecimal digits.
impl fmt::Display for Checksum {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(words: &[u64]) -> Checksum {
        let mut sum = Checksum::new();
        words.iter().for_each(|&word| sum.add(word));
        sum
    }

    #[test]
    fn every_bit_place_and_length_counts() {
        let words = [0, 1, 2, 3, u64::MAX];
        for place in 0..words.len() {
            for bit in 0..64 {
                let mut other = words;
                other[place] ^= 1 << bit;
                assert_ne!(of(&words), of(&other), "word {place}, bit {bit}");
            }
        }
        assert_ne!(of(&[1, 2]), of(&[2, 1]));
        assert_ne!(of(&[]), of(&[0]));
        assert_ne!(of(&[0]), of(&[0, 0]));
    }
}
