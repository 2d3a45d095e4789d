//! `sha_256`: hashes a long buffer from end to end, several times. Represents the building blocks of cryptography.

use crate::random::Random;
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The buffer to hash, and the number of passes.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of pages of 4 KiB in the buffer.
    pub pages: usize,
    /// The number of times that the buffer is hashed; each time begins with the digest of the time before.
    pub passes: u32,
    /// The seed of the buffer's content.
    pub seed: u64,
}

/// The last digest, in hexadecimal.
pub fn run(size: &Size) -> String {
    let mut buffer = vec![0u8; size.pages * 4096];
    Random::new(size.seed).fill(&mut buffer);
    let mut hex = String::new();
    for byte in hash(&buffer, size.passes) {
        write!(hex, "{byte:02x}").expect("writing to a String does not fail");
    }
    hex
}

fn hash(buffer: &[u8], passes: u32) -> [u8; 32] {
    let mut digest = Sha256::digest(buffer);
    for _ in 1..passes {
        digest = Sha256::new().chain_update(digest).chain_update(buffer).finalize();
    }
    digest.into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_pass_is_sha_256_and_the_next_begins_with_its_digest() {
        // The example of FIPS 180-2, B.1.
        let abc = hash(b"abc", 1);
        assert_eq!(abc[..8], [0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea]);
        let chained = [&abc[..], b"abc"].concat();
        assert_eq!(hash(b"abc", 2), hash(&chained, 1));
    }
}
