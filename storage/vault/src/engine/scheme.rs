//! The schemes that a vault can run, behind one trait.

use crate::engine::deferred_store::DeferredStore;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use ameles_core::oram::{Access, Oram, OramError};
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::path::{PathOram, PathParameters};
use ameles_core::schemes::ring::{self, RingOram, RingParameters};
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::snapshot::full::{FullSnapshot, SnapshotError};
use ameles_core::snapshot::incremental::{BlockPlace, Changes, IncrementalSnapshot, Origins, Parts};
use ameles_core::tree::layout::Layout;
use ameles_core::types::{BlockId, Bucket};
use borsh::{BorshDeserialize, BorshSerialize};
use rand_chacha::ChaCha20Rng;
use rand_core::SeedableRng;
use std::convert::Infallible;
use std::error::Error;
use std::ops::{Range, RangeInclusive};
use std::pin::Pin;
use std::rc::Rc;

type Flat = FlatPositionMap<Infallible>;
type Ring = RingOram<Rc<DeferredStore>, Flat, ChaCha20Rng>;
type Path = PathOram<Rc<DeferredStore>, Flat, ChaCha20Rng>;
type Trivial = TrivialOram<Rc<DeferredStore>>;

/// A scheme with its public parameters.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum SchemeParameters {
    /// Ring ORAM.
    Ring(RingParameters),
    /// Path ORAM.
    Path(PathParameters),
    /// Trivial ORAM.
    Trivial(TrivialParameters),
}

/// The most bytes of a slice of an eviction, by default. A larger bucket is a slice of its own.
const SLICE_BYTES: u64 = 16 << 20;

/// Returns planned parameters whose evictions are done in slices of the default size. They move as much as before.
pub fn with_default_slices(planned: RingParameters) -> RingParameters {
    let slots = u32::try_from(SLICE_BYTES / u64::from(planned.block_bytes.max(1))).unwrap_or(u32::MAX);
    let slice_slots = planned.slice_slots.min(slots.max(planned.largest_bucket()));
    let sliced = RingParameters { slice_slots, ..planned.clone() };
    // Without a tree top nothing is sliced.
    if sliced.validate().is_ok() { sliced } else { planned }
}

/// The number of batches that may be in flight. So a journal in the store has no object further behind a gap.
pub(crate) const MAX_BATCHES: u32 = ring::MAX_BATCHES as u32;

/// A seed of a scheme's randomness; secret.
pub(crate) type Seed = [u8; 32];

/// The future of an on-line or off-line step.
pub(crate) type StepFuture<'a> = Pin<Box<dyn Future<Output = Result<(), OramError<Infallible>>> + 'a>>;

/// Declares a scheme over the deferred store, and implements it by the methods of these traits.
macro_rules! scheme {
    ($($of:ident { $(fn $name:ident(&self $(, $argument:ident: $type:ty)*) $(-> $answer:ty)?;)* })*) => {
        /// A scheme over the deferred store. Its methods are those of [`Oram`], [`FullSnapshot`] and
        /// [`IncrementalSnapshot`].
        pub(crate) trait Scheme {
            fn access<'a>(&'a self, batch: &'a mut [Access<'_>]) -> StepFuture<'a>;
            fn step(&self) -> StepFuture<'_>;
            fn reseed(&self, seed: Seed);
            /// `None` while something is in flight.
            fn take_changes(&self) -> Option<Changes>;
            $($(fn $name(&self $(, $argument: $type)*) $(-> $answer)?;)*)*
        }

        impl<O> Scheme for O
        where
            O: IncrementalSnapshot<ChaCha20Rng> + Oram<Error = Infallible>,
        {
            fn access<'a>(&'a self, batch: &'a mut [Access<'_>]) -> StepFuture<'a> {
                Box::pin(Oram::access(self, batch))
            }

            fn step(&self) -> StepFuture<'_> {
                Box::pin(Oram::step(self))
            }

            fn reseed(&self, seed: Seed) {
                FullSnapshot::reseed(self, ChaCha20Rng::from_seed(seed));
            }

            fn take_changes(&self) -> Option<Changes> {
                IncrementalSnapshot::take_changes(self).ok()
            }

            $($(fn $name(&self $(, $argument: $type)*) $(-> $answer)? {
                $of::$name(self $(, $argument)*)
            })*)*
        }
    };
}
scheme! {
    Oram {
        fn max_concurrent_steps(&self) -> usize;
        fn block_bytes(&self) -> usize;
        fn pending_steps(&self) -> u64;
        fn must_step(&self) -> bool;
        fn emergencies(&self) -> u64;
    }
    FullSnapshot {
        fn stash_blocks(&self) -> usize;
        fn trusted_bytes(&self) -> usize;
    }
    IncrementalSnapshot {
        fn track_changes(&self);
        fn note_origins(&self);
        fn origins(&self) -> Origins;
        fn copy_words(&self, words: Range<u64>, into: &mut Vec<u32>);
        fn hold_words(&self);
        fn copy_held_words(&self, words: Range<u64>, into: &mut Vec<u32>);
        fn rest(&self) -> Vec<u8>;
        fn with_payload(&self, block: BlockId, visit: &mut dyn FnMut(&[u8]));
        fn stash_order(&self) -> Vec<BlockId>;
        fn locate(&self, block: BlockId) -> Option<BlockPlace>;
        fn is_payload_external(&self, block: BlockId) -> bool;
        fn load_payload(&self, block: BlockId, payload: &[u8]);
        fn release_payloads(&self);
        fn max_blocks_in(&self, buckets: &[Bucket]) -> usize;
    }
}

/// The parameters that every scheme has.
struct CommonParameters {
    capacity: u64,
    block_bytes: u32,
    max_batch: u32,
    max_at_rest: u64,
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

    /// The number of accesses that are still possible when the store has no room for another bucket. Usually it is the
    /// lower end, and it never exceeds the upper end. Then an eviction must come first.
    pub fn reads_on_a_full_store(&self) -> RangeInclusive<u64> {
        match self {
            // Two evictions, or two of their slices, may be in flight, a third may be due, and a fourth not yet late.
            SchemeParameters::Ring(ring) => {
                let rate = u64::from(ring.eviction_rate);
                rate..=4 * rate
            }
            // The paths of a batch are written back together.
            SchemeParameters::Path(path) => 1..=u64::from(path.max_batch),
            // Each access writes.
            SchemeParameters::Trivial(_) => 0..=0,
        }
    }

    /// The number of accesses by which a restore writes the blocks of a vault that has had this many accesses. Path ORAM
    /// knows which blocks were written, and each of them was written in another access. Trivial ORAM does not know it.
    /// Ring ORAM needs no accesses.
    pub(crate) fn accesses_of_restore(&self, accesses: u64) -> u64 {
        match self {
            SchemeParameters::Ring(_) => 0,
            SchemeParameters::Path(path) => accesses.min(path.capacity),
            SchemeParameters::Trivial(trivial) => trivial.capacity,
        }
    }

    /// The plaintext layout that the scheme needs.
    pub fn layout(&self) -> Layout {
        match self {
            SchemeParameters::Ring(parameters) => parameters.layout(),
            SchemeParameters::Path(parameters) => parameters.layout(),
            SchemeParameters::Trivial(parameters) => parameters.layout(),
        }
    }

    fn common(&self) -> CommonParameters {
        let (capacity, block_bytes, max_batch, max_at_rest) = match self {
            SchemeParameters::Ring(ring) => {
                (ring.capacity, ring.block_bytes, ring.max_batch, ring.max_blocks_at_rest())
            }
            SchemeParameters::Path(path) => {
                (path.capacity, path.block_bytes, path.max_batch, path.stash_bound.into())
            }
            SchemeParameters::Trivial(trivial) => {
                (trivial.capacity, trivial.block_bytes, trivial.max_batch, 0)
            }
        };
        CommonParameters { capacity, block_bytes, max_batch, max_at_rest }
    }

    /// The blocks that users can address.
    pub fn capacity(&self) -> u64 {
        self.common().capacity
    }

    /// Returns the size of a block in bytes.
    pub fn block_bytes(&self) -> u32 {
        self.common().block_bytes
    }

    /// The maximum number of accesses in a batch.
    pub fn max_batch(&self) -> u32 {
        self.common().max_batch
    }

    /// The maximum number of batches in flight.
    pub fn max_batches(&self) -> u32 {
        match self {
            SchemeParameters::Ring(_) => MAX_BATCHES,
            SchemeParameters::Path(_) | SchemeParameters::Trivial(_) => 1,
        }
    }

    /// The maximum number of stash blocks in a checkpoint, those of held buckets among them.
    pub fn stash_bound(&self) -> u64 {
        self.common().max_at_rest
    }

    /// The maximum number of stash payloads that arrive or change in this many accesses and a batch, and in the
    /// evictions that these cause. An eviction may leave as many blocks in the stash that it has read as it takes from
    /// there.
    pub(crate) fn max_resident(&self, accesses: u64) -> u64 {
        let accesses = accesses + u64::from(self.common().max_batch);
        match self {
            SchemeParameters::Ring(ring) => {
                let tree = ring.geometry();
                let path: u64 = tree.levels().map(|level| u64::from(tree.shape(level).blocks)).sum();
                let evictions = accesses / u64::from(ring.eviction_rate) + 2;
                accesses * u64::from(ring.max_blocks_per_access()) + evictions * path
            }
            SchemeParameters::Path(path) => {
                accesses * (1 + path.path_buckets() as u64 * u64::from(path.blocks_per_bucket))
            }
            SchemeParameters::Trivial(_) => 0,
        }
    }

    /// Room for the blocks without an [origin](IncrementalSnapshot::origins) that come into the stash besides those that
    /// accesses request: evictions have read them and found no room for them. They are few. `None` if there may be any
    /// number.
    pub(crate) fn payloads_besides_accesses(&self) -> Option<u64> {
        let SchemeParameters::Ring(ring) = self else { return None };
        Some(ring.eviction_rate.into())
    }

    /// The number of blocks that may come into the stash besides two for each access: those of a batch and an eviction, and
    /// those that are held between its slices.
    pub(crate) fn held_payloads(&self) -> u64 {
        let SchemeParameters::Ring(ring) = self else { return 0 };
        let others = u64::from(ring.max_batch) * u64::from(ring.max_blocks_per_access() - 1);
        others + ring.max_held_blocks() + u64::from(ring.eviction_rate)
    }

    /// The number of accesses after which few blocks still wait in the stash: a round of evictions, which visits every
    /// subtree, and four evictions that may be late. `None` if it is not known.
    pub(crate) fn longest_wait(&self) -> Option<u64> {
        let SchemeParameters::Ring(ring) = self else { return None };
        Some(((1 << ring.top.0) + 4) * u64::from(ring.eviction_rate))
    }

    /// The maximum number of bytes of the rest of the scheme's state that follow from the length of a path.
    pub(crate) fn rest_bytes(&self) -> u64 {
        match self {
            SchemeParameters::Ring(ring) if ring.is_sliced() => 4 * ring.slots_on_path(),
            _ => 0,
        }
    }

    /// The origins in a written state. `None` if it contradicts itself.
    pub(crate) fn origins_of(&self, tables: &[Vec<u32>], rest: &[u8]) -> Option<Origins> {
        match self {
            SchemeParameters::Ring(ring) => {
                <Ring as IncrementalSnapshot<ChaCha20Rng>>::origins_of(ring, tables, rest)
            }
            SchemeParameters::Path(_) | SchemeParameters::Trivial(_) => Some(Origins::default()),
        }
    }

    /// The number of buckets that this many accesses rewrite at most, with evictions that were pending before. Early
    /// reshuffles come by chance: eight deviations are a bound in practice.
    pub(crate) fn max_rewritten(&self, accesses: u64) -> u64 {
        let rewritten = match self {
            SchemeParameters::Ring(ring) => {
                let path = ring.geometry().levels().count() as f64;
                let mean = accesses as f64 * ring.traffic().buckets_written;
                (mean + 8.0 * mean.sqrt() + 4.0 * path).ceil() as u64
            }
            SchemeParameters::Path(path) => {
                let accesses = accesses.saturating_add(2 * u64::from(path.max_batch));
                accesses.saturating_mul(path.path_buckets() as u64)
            }
            SchemeParameters::Trivial(_) => u64::MAX,
        };
        rewritten.min(self.layout().buckets())
    }

    /// The maximum number of bytes of a [delta](crate::trusted::delta) of words after this many accesses, in which this
    /// many buckets were rewritten.
    pub(crate) fn max_delta_bytes(&self, accesses: u64, rewritten: u64) -> u64 {
        /// A run of one word, and of the version of a bucket.
        const WORD: u64 = 16;
        const VERSION: u64 = 24;
        let (words, slots) = match self {
            // The position; a slot of each bucket on the path that is read, and one of each that is no longer an origin
            // of the block; and a slot that a bucket in flight had for the block, before and after it was filled.
            SchemeParameters::Ring(ring) => {
                (3 + 2 * ring.geometry().levels().count() as u64, ring.largest_bucket())
            }
            SchemeParameters::Path(_) => (1, 0),
            SchemeParameters::Trivial(_) => (0, 0),
        };
        // A bucket has a run of its slots, and a bit among those of other buckets.
        let bucket = 12 + 4 * u64::from(slots) + WORD + VERSION;
        4 + accesses.saturating_mul(words * WORD).saturating_add(rewritten.saturating_mul(bucket))
    }

    /// Returns the number of bytes of position map and metadata in a checkpoint.
    pub(crate) fn map_bytes(&self) -> u64 {
        4 * self.capacity()
            + 4 * self.layout().slots()
            + 13 * self.layout().buckets()
            + 17 * self.layout().buckets()
    }

    /// The expected number of bytes moved for each requested byte, up and down together, without journal and
    /// checkpoints.
    pub fn bytes_per_byte(&self) -> f64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.slots_per_access(),
            SchemeParameters::Path(parameters) => {
                2.0 * parameters.path_buckets() as f64 * f64::from(parameters.blocks_per_bucket)
            }
            SchemeParameters::Trivial(parameters) => 2.0 * parameters.capacity as f64,
        }
    }

    /// The expected number of bytes written for each requested byte.
    pub(crate) fn bytes_written_per_byte(&self) -> f64 {
        match self {
            SchemeParameters::Ring(parameters) => parameters.slots_written_per_access(),
            _ => self.bytes_per_byte() / 2.0,
        }
    }

    pub(crate) fn validate(&self) -> Result<(), VaultError> {
        let refused = match self {
            SchemeParameters::Ring(ring) => ring.validate().err().map(ErrorReason::of),
            SchemeParameters::Path(path) => path.validate().err().map(ErrorReason::of),
            SchemeParameters::Trivial(trivial) => trivial.validate().err().map(ErrorReason::of),
        };
        refused.map_or(Ok(()), |why| Err(VaultError::Parameters(why)))
    }

    /// The sizes of the scheme's tables, in words.
    pub(crate) fn tables(&self) -> Vec<u64> {
        match self {
            SchemeParameters::Ring(ring) => <Ring as IncrementalSnapshot<ChaCha20Rng>>::tables(ring),
            SchemeParameters::Path(path) => <Path as IncrementalSnapshot<ChaCha20Rng>>::tables(path),
            SchemeParameters::Trivial(trivial) => {
                <Trivial as IncrementalSnapshot<ChaCha20Rng>>::tables(trivial)
            }
        }
    }

    /// Resumes a scheme from its saved state. `None` if the state contradicts itself.
    pub(crate) fn resume(
        &self,
        parts: Parts<'_>,
        deferred_store: Rc<DeferredStore>,
        seed: Seed,
    ) -> Option<Rc<dyn Scheme>> {
        let random = ChaCha20Rng::from_seed(seed);
        match self.clone() {
            SchemeParameters::Ring(ring) => boxed_resumed(Ring::resume(ring, parts, deferred_store, random)),
            SchemeParameters::Path(path) => boxed_resumed(Path::resume(path, parts, deferred_store, random)),
            SchemeParameters::Trivial(trivial) => {
                boxed_resumed(Trivial::resume(trivial, parts, deferred_store, random))
            }
        }
    }

    /// An empty scheme.
    pub(crate) fn start(
        &self,
        deferred_store: Rc<DeferredStore>,
        seed: Seed,
    ) -> Result<Rc<dyn Scheme>, VaultError> {
        let random = ChaCha20Rng::from_seed(seed);
        let flat = || FlatPositionMap::new(Positions::new(self.capacity()));
        match self.clone() {
            SchemeParameters::Ring(parameters) => {
                boxed_new(RingOram::new(parameters, deferred_store, flat(), random))
            }
            SchemeParameters::Path(parameters) => {
                boxed_new(PathOram::new(parameters, Bucket(0), deferred_store, flat(), random))
            }
            SchemeParameters::Trivial(parameters) => {
                boxed_new(TrivialOram::new(parameters, Bucket(0), deferred_store))
            }
        }
    }
}

fn boxed_new<O, E>(scheme: Result<O, E>) -> Result<Rc<dyn Scheme>, VaultError>
where
    O: Scheme + 'static,
    E: Error + Send + Sync + 'static,
{
    match scheme {
        Ok(scheme) => Ok(Rc::new(scheme)),
        Err(error) => Err(VaultError::Parameters(ErrorReason::of(error))),
    }
}

fn boxed_resumed<O: Scheme + 'static, E: Error>(
    scheme: Result<O, SnapshotError<E>>,
) -> Option<Rc<dyn Scheme>> {
    Some(Rc::new(scheme.ok()?))
}
