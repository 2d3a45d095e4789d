//! Units, so that a time cannot be taken for an address.

use serde::{Deserialize, Serialize};
use std::fmt;
use std::ops::{Add, AddAssign, Mul, Sub};

/// A point in time, or a length of time, in cycles of the DRAM's clock. The first cycle is 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cycle(pub u64);

/// A number of bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Bytes(pub u64);

/// The physical number of a block: what one burst moves. The first block of the memory is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Block(pub u64);

/// An amount of energy, in picojoules.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Picojoules(pub f64);

impl Add for Cycle {
    type Output = Cycle;

    fn add(self, other: Cycle) -> Cycle {
        Cycle(self.0 + other.0)
    }
}

impl AddAssign for Cycle {
    fn add_assign(&mut self, other: Cycle) {
        self.0 += other.0;
    }
}

impl Sub for Cycle {
    type Output = Cycle;

    /// The length of time from `other` to a later point. It panics in a debug build if `other` is later.
    fn sub(self, other: Cycle) -> Cycle {
        Cycle(self.0 - other.0)
    }
}

impl Mul<u64> for Cycle {
    type Output = Cycle;

    fn mul(self, times: u64) -> Cycle {
        Cycle(self.0 * times)
    }
}

impl Add for Picojoules {
    type Output = Picojoules;

    fn add(self, other: Picojoules) -> Picojoules {
        Picojoules(self.0 + other.0)
    }
}

impl fmt::Display for Cycle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cycle {}", self.0)
    }
}

impl fmt::Display for Block {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "block {}", self.0)
    }
}
