//! The schemes that the lab runs. A scheme is a line of [`SCHEMES`], and a function that runs a trial.

use super::driver::DriverSettings;
use super::error::ThesisError;
use super::run_result::RunResult;
use super::trial::{InitialState, PreparedOram, Trial, TrustedSide};
use super::{object_layer, partitions, plain, ring_variants};
use crate::virtual_time::StoreShape;
use ameles_core::position_map::flat::{FlatPositionMap, Positions};
use ameles_core::schemes::hierarchical::{HierarchicalOram, HierarchicalParameters};
use ameles_core::schemes::path::{BucketsByLevel, PathOram, PathParameters};
use ameles_core::schemes::practical_os::{PracticalOs, PracticalOsParameters};
use ameles_core::schemes::square_root::{SquareRootOram, SquareRootParameters};
use ameles_core::schemes::trivial::{TrivialOram, TrivialParameters};
use ameles_core::types::{Bucket, Level};

/// A scheme, and how it is run.
pub(super) struct Scheme {
    /// The scheme's name on the command line and in tables.
    pub(super) name: &'static str,
    /// The name under which the thesis prints its figures, if it does.
    pub(super) printed: Option<&'static str>,
    /// True if it is cut into blocks.
    pub(super) has_blocks: bool,
    /// True if a slot is as long as a block, as in the thesis's proxy.
    pub(super) has_proxy_slots: bool,
    /// True if the gateway's object layer is above it.
    pub(super) uses_object_layer: bool,
    /// The maximum of blocks of an ORAM for a run.
    pub(super) max_blocks: u64,
    /// Runs a trial.
    pub(super) run: fn(&Trial<'_>) -> Result<RunResult, ThesisError>,
}

impl Scheme {
    /// Returns whether it can be run under the object layer: it is an ORAM of ours.
    pub(super) fn can_use_object_layer(&self) -> bool {
        self.has_blocks && !self.has_proxy_slots && self.name != BLOCKS_TOGETHER
    }
}

/// The name of the scheme to which the others are compared.
pub(super) const BASELINE: &str = "none";

/// The name of blocks that are moved together, without an ORAM.
const BLOCKS_TOGETHER: &str = "blocks-together";

const BLOCKS: Scheme = Scheme {
    name: "blocks",
    printed: Some("blocks"),
    has_blocks: true,
    has_proxy_slots: true,
    uses_object_layer: false,
    max_blocks: u64::MAX,
    run: plain::sequential_blocks,
};

/// A scheme of ours, whose blocks are payload.
const fn ours(name: &'static str, run: fn(&Trial<'_>) -> Result<RunResult, ThesisError>) -> Scheme {
    let max_blocks = u64::MAX;
    Scheme {
        name,
        printed: None,
        has_blocks: true,
        has_proxy_slots: false,
        uses_object_layer: false,
        max_blocks,
        run,
    }
}

/// All of them, in the order of the tables.
pub(super) const SCHEMES: [Scheme; 16] = [
    Scheme { name: BASELINE, has_blocks: false, printed: None, run: plain::whole_objects, ..BLOCKS },
    BLOCKS,
    ours(BLOCKS_TOGETHER, plain::concurrent_blocks),
    Scheme { name: "curious-thesis", printed: Some("curious"), run: partitions::thesis_curious, ..BLOCKS },
    Scheme {
        name: "oblivistore-thesis",
        printed: Some("oblivistore"),
        run: partitions::thesis_oblivistore,
        ..BLOCKS
    },
    Scheme { name: "ring-thesis", printed: Some("ring"), run: ring_variants::proxy_ring, ..BLOCKS },
    ours("ring-33-48-63", ring_variants::thesis_ring),
    ours("ring", ring_variants::planned_ring),
    Scheme { uses_object_layer: true, ..ours("serve", object_layer::gateway_over_ring) },
    ours("curious", partitions::concurrent_curious),
    ours("oblivistore", partitions::concurrent_oblivistore),
    ours("path-paper", paper_path),
    ours("path", planned_path),
    Scheme { max_blocks: 512, ..ours("trivial", trivial) },
    ours("practical-os", practical_os),
    // Sorting more slots takes the machine longer than all other schemes together.
    Scheme { max_blocks: 100_000, ..ours("square-root", square_root) },
];

/// The schemes that are run only when they are named.
pub(super) const NAMED_ONLY: [Scheme; 3] = [
    ours("hierarchical", hierarchical),
    ours("path-paper-alloc", paper_path_with_small_buckets),
    ours("path-alloc", planned_path_with_small_buckets),
];

/// All schemes; those that must be named are at the end.
pub(super) fn all() -> impl Iterator<Item = &'static Scheme> {
    static ALL: ([Scheme; SCHEMES.len()], [Scheme; NAMED_ONLY.len()]) = (SCHEMES, NAMED_ONLY);
    ALL.0.iter().chain(&ALL.1)
}

/// The scheme of this name.
pub(super) fn by_name(name: &str) -> Option<&'static Scheme> {
    all().find(|scheme| scheme.name.eq_ignore_ascii_case(name))
}

/// The number of bytes of the runs that a scheme sorts at once; the trusted side holds two.
const RUN_BYTES: u64 = 64 << 20;

fn run_blocks(trial: &Trial<'_>) -> u32 {
    (RUN_BYTES / trial.block_bytes).max(1) as u32
}

fn parameters_error(
    scheme: &'static str,
) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> ThesisError {
    move |error| ThesisError::Parameters(scheme, error)
}

/// Sequential accesses, as in the papers.
const SEQUENTIAL_ACCESSES: DriverSettings =
    DriverSettings { batch: 1, overlaps_steps: false, ..DriverSettings::CONCURRENT };

/// IR-Alloc4 of a tree of any height: for a distance from the leaves, the bucket size of that level and of those above
/// it.
const SMALL_BUCKETS: [(u32, u32); 2] = [(6, 2), (9, 1)];

/// Path ORAM with Z = 4, all of its tree in the store, and one access after the other.
pub(super) fn paper_path(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    path(trial, uniform_buckets(paper_path_parameters(trial)?)?, SEQUENTIAL_ACCESSES)
}

/// [`paper_path`] with IR-Alloc's buckets.
fn paper_path_with_small_buckets(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    path(trial, small_buckets(paper_path_parameters(trial)?)?, SEQUENTIAL_ACCESSES)
}

/// Path ORAM with a quarter of the capacity trusted, as Ameles drives it.
pub(super) fn planned_path(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    path(trial, uniform_buckets(quarter_path_parameters(trial)?)?, DriverSettings::CONCURRENT)
}

/// [`planned_path`] with IR-Alloc's buckets.
fn planned_path_with_small_buckets(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    path(trial, small_buckets(quarter_path_parameters(trial)?)?, DriverSettings::CONCURRENT)
}

fn paper_path_parameters(trial: &Trial<'_>) -> Result<PathParameters, ThesisError> {
    let planned = PathParameters::for_capacity(trial.blocks(), trial.payload(), 0, 1);
    let planned = planned.map_err(|error| parameters_error("Path ORAM")(error.into()))?;
    Ok(PathParameters { top: Level(0), ..planned })
}

fn uniform_buckets(parameters: PathParameters) -> Result<BucketsByLevel, ThesisError> {
    BucketsByLevel::uniform(parameters).map_err(|error| parameters_error("Path ORAM")(error.into()))
}

fn small_buckets(parameters: PathParameters) -> Result<BucketsByLevel, ThesisError> {
    let leaf_level = parameters.leaf_level.0;
    let ranges = SMALL_BUCKETS
        .iter()
        .filter_map(|(above, size)| Some((Level(0), Level(leaf_level.checked_sub(*above)?), *size)));
    let ranges: Vec<_> = ranges.collect();
    uniform_buckets(parameters)?.with(&ranges).map_err(|error| parameters_error("Path ORAM")(error.into()))
}

/// The parameters of that plan.
pub(super) fn quarter_path_parameters(trial: &Trial<'_>) -> Result<PathParameters, ThesisError> {
    let planned = PathParameters::for_capacity(trial.blocks(), trial.payload(), trial.blocks() / 4, 16);
    planned.map_err(|error| parameters_error("Path ORAM")(error.into()))
}

fn path(
    trial: &Trial<'_>,
    buckets: BucketsByLevel,
    settings: DriverSettings,
) -> Result<RunResult, ThesisError> {
    let real = buckets.parameters();
    let empty =
        BucketsByLevel::new(PathParameters { block_bytes: 0, ..real.clone() }, buckets.blocks().to_vec())
            .map_err(|error| parameters_error("Path ORAM")(error.into()))?;
    trial.run(&trial.filled(empty.layout(), buckets.layout()), settings, |store| {
        let positions = FlatPositionMap::new(Positions::new(real.capacity));
        let oram = PathOram::with_buckets(&empty, Bucket(0), store, positions, trial.random());
        let trusted_side = trial.trusted_bound(real.stash_bound.into(), oram.trusted_bytes());
        Ok(PreparedOram { oram, trusted_side, period: 0, initial_state: InitialState::Fresh })
    })
}

/// Trivial ORAM; sixteen blocks are in flight.
pub(super) fn trivial(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |block_bytes| TrivialParameters {
        capacity: trial.blocks(),
        block_bytes,
        chunk_blocks: 16,
        max_batch: 16,
    };
    let (empty, real) = (of(0), of(trial.payload()));
    trial.run(&trial.filled(empty.layout(), real.layout()), DriverSettings::CONCURRENT, |store| {
        let oram = TrivialOram::new(empty, Bucket(0), store);
        let oram = oram.map_err(|error| parameters_error("Trivial ORAM")(error.into()))?;
        Ok(PreparedOram {
            oram,
            trusted_side: TrustedSide::Bound(16 * trial.block_bytes),
            period: 0,
            initial_state: InitialState::Fresh,
        })
    })
}

/// PracticalOS, which sorts in runs of 64 MiB.
fn practical_os(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let planned = PracticalOsParameters::for_capacity(trial.blocks(), trial.payload(), 16);
    run_practical_os(trial, PracticalOsParameters { run_blocks: run_blocks(trial), ..planned })
}

/// PracticalOS with runs of √N blocks, as in its paper.
pub(super) fn paper_practical_os(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    run_practical_os(trial, PracticalOsParameters::for_capacity(trial.blocks(), trial.payload(), 16))
}

fn run_practical_os(trial: &Trial<'_>, real: PracticalOsParameters) -> Result<RunResult, ThesisError> {
    let empty = PracticalOsParameters { block_bytes: 0, ..real.clone() };
    let trusted_blocks = u64::from(real.cache) + 2 * u64::from(real.run_blocks);
    trial.run(&trial.filled(empty.layout(), real.layout()), DriverSettings::CONCURRENT, |store| {
        let oram = PracticalOs::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| parameters_error("PracticalOS")(error.into()))?;
        let trusted_side = trial.trusted_bound(trusted_blocks, oram.trusted_bytes());
        Ok(PreparedOram {
            oram,
            trusted_side,
            period: real.cache.into(),
            initial_state: InitialState::InUse(0),
        })
    })
}

/// Square-Root ORAM, which sorts in runs of 64 MiB.
pub(super) fn square_root(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |bytes| SquareRootParameters::for_capacity(trial.blocks(), bytes, run_blocks(trial), 16);
    let (empty, real) = (of(0), of(trial.payload()));
    let trusted_blocks = 2 * u64::from(real.run_blocks);
    trial.run(&trial.filled(empty.layout(), real.layout()), DriverSettings::CONCURRENT, |store| {
        let oram = SquareRootOram::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| parameters_error("Square-Root ORAM")(error.into()))?;
        let trusted_side = trial.trusted_bound(trusted_blocks, oram.trusted_bytes());
        Ok(PreparedOram {
            oram,
            trusted_side,
            period: real.shelter.into(),
            initial_state: InitialState::InUse(0),
        })
    })
}

/// Hierarchical ORAM, which sorts in runs of 64 MiB. It begins empty: the levels that the job does not reach cost
/// nothing.
pub(super) fn hierarchical(trial: &Trial<'_>) -> Result<RunResult, ThesisError> {
    let of = |bytes| HierarchicalParameters::for_capacity(trial.blocks(), bytes, run_blocks(trial), 16);
    let (empty, real) = (of(0), of(trial.payload()));
    let trusted_blocks = 2 * u64::from(real.run_blocks);
    let shape = StoreShape { filled: false, ..trial.filled(empty.layout(), real.layout()) };
    trial.run(&shape, DriverSettings::CONCURRENT, |store| {
        let oram = HierarchicalOram::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| parameters_error("Hierarchical ORAM")(error.into()))?;
        let trusted_side = trial.trusted_bound(trusted_blocks, oram.trusted_bytes());
        Ok(PreparedOram { oram, trusted_side, period: real.capacity, initial_state: InitialState::Fresh })
    })
}
