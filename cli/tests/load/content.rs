//! The contents of objects: bytes that identify their put.

use bytes::Bytes;

/// The content of an object: a number unique to its put, and a length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    pub(crate) number: u64,
    pub(crate) length: usize,
}

impl Content {
    pub(crate) fn bytes(self) -> Bytes {
        let mut rng = SmallRng::new(self.number);
        let mut bytes = Vec::with_capacity(self.length + 8);
        while bytes.len() < self.length {
            bytes.extend_from_slice(&rng.next().to_le_bytes());
        }
        bytes.truncate(self.length);
        bytes.into()
    }
}

/// A deterministic random number generator (splitmix64).
pub(crate) struct SmallRng(u64);

impl SmallRng {
    pub(crate) fn new(seed: u64) -> Self {
        SmallRng(seed)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}
