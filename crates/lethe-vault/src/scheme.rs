//! The schemes that a vault can run, behind one type.

use crate::error::VaultError;
use crate::gate::Gate;
use borsh::{BorshDeserialize, BorshSerialize};
use lethe_core::layout::Layout;
use lethe_core::oram::{Access, Oram, OramError};
use lethe_core::position_map::flat::{FlatPositionMap, Positions};
use lethe_core::schemes::path::{PathOram, PathParameters, PathSnapshot};
use lethe_core::schemes::ring::{RingOram, RingParameters, RingSnapshot};
use lethe_core::schemes::trivial::{TrivialOram, TrivialParameters};
use lethe_core::words::Bucket;
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
    /// Path ORAM.
    Path(PathParameters),
    /// Trivial ORAM.
    Trivial(TrivialParameters),
}

/// A scheme over the gate.
pub(crate) enum Scheme {
    Ring(Box<RingOram<Rc<Gate>, Flat, ChaCha20Rng>>),
    Path(Box<PathOram<Rc<Gate>, Flat, ChaCha20Rng>>),
    Trivial(Box<TrivialOram<Rc<Gate>>>),
}

/// The trusted state of a scheme between two steps.
#[derive(BorshSerialize, BorshDeserialize)]
pub(crate) enum SchemeSnapshot {
    Ring(RingSnapshot),
    Path(PathParameters, Positions, PathSnapshot),
    Trivial(TrivialParameters),
}

/// A seed of a scheme's randomness; secret.
pub(crate) type Seed = [u8; 32];

/// The same expression for whichever scheme it is.
macro_rules! each {
    ($of:ident, $value:expr, $scheme:ident => $done:expr) => {
        match $value {
            $of::Ring($scheme) => $done,
            $of::Path($scheme) => $done,
            $of::Trivial($scheme) => $done,
        }
    };
}

impl SchemeParameters {
    /// The scheme's name.
    pub fn name(&self) -> &'static str {
        match self {
            SchemeParameters::Ring(_) => "Ring ORAM",
            SchemeParameters::Path(_) => "Path ORAM",
            SchemeParameters::Trivial(_) => "Trivial ORAM",
        }
    }

    /// The plaintext layout that the scheme needs.
    pub fn layout(&self) -> Layout {
        match self {
            SchemeParameters::Ring(parameters) => parameters.geometry().layout(),
            SchemeParameters::Path(parameters) => parameters.layout(),
            SchemeParameters::Trivial(parameters) => parameters.layout(),
        }
    }

    /// Blocks that the user can address.
    pub fn capacity(&self) -> u64 {
        each!(SchemeParameters, self, parameters => parameters.capacity)
    }

    /// Bytes of a block.
    pub fn block_bytes(&self) -> u32 {
        each!(SchemeParameters, self, parameters => parameters.block_bytes)
    }

    /// The most accesses of a batch.
    pub fn max_batch(&self) -> u32 {
        each!(SchemeParameters, self, parameters => parameters.max_batch)
    }

    /// The most blocks that a checkpoint may hold.
    pub fn stash_bound(&self) -> u64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.stash_bound.into(),
            SchemeParameters::Path(parameters) => parameters.stash_bound.into(),
            SchemeParameters::Trivial(_) => 0,
        }
    }

    /// Bytes of position map and metadata in a checkpoint.
    pub(crate) fn map_bytes(&self) -> u64 {
        4 * self.capacity()
            + 4 * self.layout().slots()
            + 13 * self.layout().buckets()
            + 17 * self.layout().buckets()
    }

    /// Bytes moved for each byte asked for, expected, up and down together, without journal and checkpoints.
    pub fn bytes_per_byte(&self) -> f64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.slots_per_access(),
            SchemeParameters::Path(parameters) => {
                2.0 * parameters.path_buckets() as f64 * f64::from(parameters.blocks_per_bucket)
            }
            SchemeParameters::Trivial(parameters) => 2.0 * parameters.capacity as f64,
        }
    }

    /// Bytes written for each byte asked for, expected.
    pub(crate) fn bytes_written_per_byte(&self) -> f64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.slots_written_per_access(),
            _ => self.bytes_per_byte() / 2.0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), VaultError> {
        each!(SchemeParameters, self, parameters => {
            parameters.validate().map_err(|error| VaultError::Parameters(error.to_string()))
        })
    }

    /// An empty scheme.
    pub(crate) fn start(&self, gate: Rc<Gate>, seed: Seed) -> Result<Scheme, VaultError> {
        let random = ChaCha20Rng::from_seed(seed);
        let flat = || FlatPositionMap::new(Positions::new(self.capacity()));
        let refused = |error: String| VaultError::Parameters(error);
        match self.clone() {
            SchemeParameters::Ring(parameters) => RingOram::new(parameters, gate, flat(), random)
                .map(|ring| Scheme::Ring(Box::new(ring)))
                .map_err(|error| refused(error.to_string())),
            SchemeParameters::Path(parameters) => PathOram::new(parameters, Bucket(0), gate, flat(), random)
                .map(|path| Scheme::Path(Box::new(path)))
                .map_err(|error| refused(error.to_string())),
            SchemeParameters::Trivial(parameters) => TrivialOram::new(parameters, Bucket(0), gate)
                .map(|trivial| Scheme::Trivial(Box::new(trivial)))
                .map_err(|error| refused(error.to_string())),
        }
    }
}

impl SchemeSnapshot {
    /// The scheme as it was. `None` if the snapshot contradicts itself.
    pub(crate) fn restore(self, gate: Rc<Gate>, seed: Seed) -> Option<Scheme> {
        let random = ChaCha20Rng::from_seed(seed);
        match self {
            SchemeSnapshot::Ring(snapshot) => {
                Some(Scheme::Ring(Box::new(RingOram::restore(snapshot, gate, random)?)))
            }
            SchemeSnapshot::Path(parameters, positions, snapshot) => {
                if positions.blocks() != parameters.capacity {
                    return None;
                }
                let positions = FlatPositionMap::new(positions);
                let path = PathOram::restore(parameters, Bucket(0), gate, positions, random, &snapshot);
                Some(Scheme::Path(Box::new(path.ok()?)))
            }
            SchemeSnapshot::Trivial(parameters) => {
                Some(Scheme::Trivial(Box::new(TrivialOram::new(parameters, Bucket(0), gate).ok()?)))
            }
        }
    }
}

impl Scheme {
    pub(crate) async fn access(&self, batch: &mut [Access<'_>]) -> Result<(), OramError<Infallible>> {
        each!(Scheme, self, scheme => scheme.access(batch).await)
    }

    pub(crate) async fn idle(&self) -> Result<(), OramError<Infallible>> {
        each!(Scheme, self, scheme => scheme.idle().await)
    }

    pub(crate) fn block_bytes(&self) -> usize {
        each!(Scheme, self, scheme => scheme.block_bytes())
    }

    /// Steps of off-line work that gain from being in flight together.
    pub(crate) fn most_idles(&self) -> usize {
        match self {
            // The second one reads while the first one writes.
            Scheme::Ring(_) => 2,
            Scheme::Path(_) | Scheme::Trivial(_) => 1,
        }
    }

    pub(crate) fn owed(&self) -> u64 {
        each!(Scheme, self, scheme => scheme.owed())
    }

    pub(crate) fn must_idle(&self) -> bool {
        each!(Scheme, self, scheme => scheme.must_idle())
    }

    pub(crate) fn emergencies(&self) -> u64 {
        each!(Scheme, self, scheme => scheme.emergencies())
    }

    /// Blocks in the stash now.
    pub(crate) fn stash_blocks(&self) -> usize {
        match self {
            Scheme::Ring(ring) => ring.stash_blocks().0,
            Scheme::Path(path) => path.stash_blocks(),
            Scheme::Trivial(_) => 0,
        }
    }

    pub(crate) fn trusted_bytes(&self) -> usize {
        match self {
            Scheme::Ring(ring) => ring.trusted_bytes(),
            Scheme::Path(path) => path.trusted_bytes(),
            Scheme::Trivial(trivial) => {
                let parameters = trivial.parameters();
                parameters.chunk_blocks as usize * parameters.block_bytes as usize
            }
        }
    }

    /// The trusted state; `None` while something is in flight.
    pub(crate) fn snapshot(&self) -> Option<SchemeSnapshot> {
        match self {
            Scheme::Ring(ring) => ring.snapshot().map(SchemeSnapshot::Ring),
            Scheme::Path(path) => {
                let (parameters, positions) = (path.parameters().clone(), path.positions().snapshot());
                path.snapshot().ok().map(|snapshot| SchemeSnapshot::Path(parameters, positions, snapshot))
            }
            Scheme::Trivial(trivial) => Some(SchemeSnapshot::Trivial(trivial.parameters().clone())),
        }
    }

    pub(crate) fn reseed(&self, seed: Seed) {
        let random = ChaCha20Rng::from_seed(seed);
        match self {
            Scheme::Ring(ring) => ring.reseed(random),
            Scheme::Path(path) => path.reseed(random),
            // It draws nothing.
            Scheme::Trivial(_) => {}
        }
    }
}
