//! The schemes that a vault can run, behind one type.

use crate::error::VaultError;
use crate::gate::Gate;
use borsh::{BorshDeserialize, BorshSerialize};
use lethe_core::layout::Layout;
use lethe_core::oram::{Access, Oram, OramError};
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::ring::{Ring, RingParameters, RingSnapshot};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::convert::Infallible;
use std::rc::Rc;

type Flat = FlatPositionMap<Infallible>;

/// Which scheme, with its public parameters.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum SchemeParameters {
    /// Ring ORAM.
    Ring(RingParameters),
}

/// A scheme over the gate.
pub(crate) enum Scheme {
    Ring(Box<Ring<Rc<Gate>, Flat, ChaCha20Rng>>),
}

/// The trusted state of a scheme between two steps.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) enum SchemeSnapshot {
    Ring(RingSnapshot),
}

/// A seed of a scheme's randomness; secret.
pub(crate) type Seed = [u8; 32];

impl SchemeParameters {
    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        match self {
            SchemeParameters::Ring(_) => "Ring ORAM",
        }
    }

    /// The plaintext layout that the scheme needs.
    pub fn layout(&self) -> Layout {
        match self {
            SchemeParameters::Ring(parameters) => parameters.geometry().layout(),
        }
    }

    /// Blocks that the user can address.
    pub fn capacity(&self) -> u64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.capacity,
        }
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u32 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.block_bytes,
        }
    }

    /// The most accesses of a batch.
    pub fn max_batch(&self) -> u32 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.max_batch,
        }
    }

    /// The most blocks that a checkpoint may hold.
    pub fn stash_bound(&self) -> u64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.stash_bound.into(),
        }
    }

    /// Bytes of position map and metadata in a checkpoint.
    pub(crate) fn map_bytes(&self) -> u64 {
        4 * self.capacity() + 4 * self.layout().slots() + 13 * self.layout().buckets()
    }

    /// Slots moved for each access, expected, up and down together.
    pub fn slots_per_access(&self) -> f64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.slots_per_access(),
        }
    }

    pub(crate) fn validate(&self) -> Result<(), VaultError> {
        match self {
            SchemeParameters::Ring(parameters) => {
                parameters.validate().map_err(|error| VaultError::Parameters(error.to_string()))
            }
        }
    }

    /// An empty scheme.
    pub(crate) fn start(&self, gate: Rc<Gate>, seed: Seed) -> Result<Scheme, VaultError> {
        let random = ChaCha20Rng::from_seed(seed);
        match self {
            SchemeParameters::Ring(parameters) => {
                let positions = FlatPositionMap::new(Positions::new(parameters.capacity));
                let ring = Ring::new(parameters.clone(), gate, positions, random);
                let ring = ring.map_err(|error| VaultError::Parameters(error.to_string()))?;
                Ok(Scheme::Ring(Box::new(ring)))
            }
        }
    }
}

impl SchemeSnapshot {
    /// The scheme as it was. `None` if the snapshot contradicts itself.
    pub(crate) fn restore(self, gate: Rc<Gate>, seed: Seed) -> Option<Scheme> {
        let random = ChaCha20Rng::from_seed(seed);
        match self {
            SchemeSnapshot::Ring(snapshot) => {
                Some(Scheme::Ring(Box::new(Ring::restore(snapshot, gate, random)?)))
            }
        }
    }
}

impl Scheme {
    pub(crate) async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<Infallible>> {
        match self {
            Scheme::Ring(ring) => ring.access(batch).await,
        }
    }

    pub(crate) async fn idle(&self) -> Result<(), OramError<Infallible>> {
        match self {
            Scheme::Ring(ring) => ring.idle().await,
        }
    }

    pub(crate) fn block_bytes(&self) -> usize {
        match self {
            Scheme::Ring(ring) => ring.block_bytes(),
        }
    }

    pub(crate) fn owed(&self) -> u64 {
        match self {
            Scheme::Ring(ring) => ring.owed(),
        }
    }

    pub(crate) fn must_idle(&self) -> bool {
        match self {
            Scheme::Ring(ring) => ring.must_idle(),
        }
    }

    pub(crate) fn emergencies(&self) -> u64 {
        match self {
            Scheme::Ring(ring) => ring.emergencies(),
        }
    }

    /// Blocks in the stash, and the most there ever were.
    pub(crate) fn stash_blocks(&self) -> (usize, usize) {
        match self {
            Scheme::Ring(ring) => ring.stash_blocks(),
        }
    }

    pub(crate) fn trusted_bytes(&self) -> usize {
        match self {
            Scheme::Ring(ring) => ring.trusted_bytes(),
        }
    }

    /// The trusted state; `None` while something is in flight.
    pub(crate) fn snapshot(&self) -> Option<SchemeSnapshot> {
        match self {
            Scheme::Ring(ring) => ring.snapshot().map(SchemeSnapshot::Ring),
        }
    }

    pub(crate) fn reseed(&self, seed: Seed) {
        match self {
            Scheme::Ring(ring) => ring.reseed(ChaCha20Rng::from_seed(seed)),
        }
    }
}
