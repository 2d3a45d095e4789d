//! The schemes that the lab runs. A scheme is a line of [`SCHEMES`], and a function that runs a trial.

use super::drive::How;
use super::error::ThesisError;
use super::ran::Ran;
use super::trial::{Local, Made, State, Trial};
use super::{objects, partitions, plain, rings};
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
    /// Its name on the command line and in tables.
    pub(super) name: &'static str,
    /// The name under which the thesis prints its figures, if it does.
    pub(super) printed: Option<&'static str>,
    /// True if it is cut into blocks.
    pub(super) has_blocks: bool,
    /// True if a slot is as long as a block, as in the thesis's proxy.
    pub(super) as_proxy: bool,
    /// True if the gateway's object layer is above it.
    pub(super) under_objects: bool,
    /// The most blocks of an ORAM with which a run makes sense.
    pub(super) max_blocks: u64,
    /// Runs a trial.
    pub(super) run: fn(&Trial<'_>) -> Result<Ran, ThesisError>,
}

impl Scheme {
    /// Tells whether it can be run under the object layer: it is an ORAM of ours.
    pub(super) fn can_be_layered(&self) -> bool {
        self.has_blocks && !self.as_proxy && self.name != TOGETHER
    }
}

/// The name of the scheme that the others are compared with.
pub(super) const BASELINE: &str = "none";

/// The name of blocks that are moved together, without an ORAM.
const TOGETHER: &str = "blocks-together";

const BLOCKS: Scheme = Scheme {
    name: "blocks",
    printed: Some("blocks"),
    has_blocks: true,
    as_proxy: true,
    under_objects: false,
    max_blocks: u64::MAX,
    run: plain::blocks_one_by_one,
};

/// A scheme of ours, whose blocks are payload.
const fn ours(name: &'static str, run: fn(&Trial<'_>) -> Result<Ran, ThesisError>) -> Scheme {
    let max_blocks = u64::MAX;
    Scheme { name, printed: None, has_blocks: true, as_proxy: false, under_objects: false, max_blocks, run }
}

/// All of them, in the order of the tables.
pub(super) const SCHEMES: [Scheme; 16] = [
    Scheme { name: BASELINE, has_blocks: false, printed: None, run: plain::objects, ..BLOCKS },
    BLOCKS,
    ours(TOGETHER, plain::blocks_together),
    Scheme {
        name: "curious-thesis",
        printed: Some("curious"),
        run: partitions::curious_of_the_thesis,
        ..BLOCKS
    },
    Scheme {
        name: "oblivistore-thesis",
        printed: Some("oblivistore"),
        run: partitions::oblivistore_of_the_thesis,
        ..BLOCKS
    },
    Scheme { name: "ring-thesis", printed: Some("ring"), run: rings::of_the_proxy, ..BLOCKS },
    ours("ring-33-48-63", rings::of_the_thesis_together),
    ours("ring", rings::planned),
    Scheme { under_objects: true, ..ours("serve", objects::served) },
    ours("curious", partitions::curious_together),
    ours("oblivistore", partitions::oblivistore_together),
    ours("path-paper", path_of_the_paper),
    ours("path", path_planned),
    Scheme { max_blocks: 512, ..ours("trivial", trivial) },
    ours("practical-os", practical_os),
    // Sorting so many slots takes the machine longer than all other schemes together.
    Scheme { max_blocks: 100_000, ..ours("square-root", square_root) },
];

/// The schemes that are run only when they are named.
pub(super) const NAMED_ONLY: [Scheme; 3] = [
    ours("hierarchical", hierarchical),
    ours("path-paper-alloc", path_of_the_paper_with_small_buckets),
    ours("path-alloc", path_with_small_buckets),
];

/// All schemes, those that are run only when they are named at the end.
pub(super) fn all() -> impl Iterator<Item = &'static Scheme> {
    static ALL: ([Scheme; SCHEMES.len()], [Scheme; NAMED_ONLY.len()]) = (SCHEMES, NAMED_ONLY);
    ALL.0.iter().chain(&ALL.1)
}

/// The scheme of this name.
pub(super) fn named(name: &str) -> Option<&'static Scheme> {
    all().find(|scheme| scheme.name.eq_ignore_ascii_case(name))
}

/// Bytes of the runs that are sorted at once where a scheme sorts; the trusted side holds two.
const RUN_BYTES: u64 = 64 << 20;

fn run_blocks(trial: &Trial<'_>) -> u32 {
    (RUN_BYTES / trial.block_bytes).max(1) as u32
}

fn refused(scheme: &'static str) -> impl Fn(Box<dyn std::error::Error + Send + Sync>) -> ThesisError {
    move |error| ThesisError::Parameters(scheme, error)
}

/// Accesses one after the other, as in the papers.
const ONE_BY_ONE: How = How { batch: 1, beside: false, ..How::TOGETHER };

/// IR-Alloc4 of a tree of any height: the level that lies so many levels above the leaves and those above that have buckets of so many
/// blocks.
const SMALL_BUCKETS: [(u32, u32); 2] = [(6, 2), (9, 1)];

/// Path ORAM with Z = 4, all of its tree in the store, and one access after the other.
pub(super) fn path_of_the_paper(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    path(trial, equal(paper_path(trial)?)?, ONE_BY_ONE)
}

/// The same with IR-Alloc's buckets.
fn path_of_the_paper_with_small_buckets(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    path(trial, small(paper_path(trial)?)?, ONE_BY_ONE)
}

/// Path ORAM with a quarter of the capacity trusted, as Ameles drives it.
pub(super) fn path_planned(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    path(trial, equal(quarter_path(trial)?)?, How::TOGETHER)
}

/// The same with IR-Alloc's buckets.
fn path_with_small_buckets(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    path(trial, small(quarter_path(trial)?)?, How::TOGETHER)
}

fn paper_path(trial: &Trial<'_>) -> Result<PathParameters, ThesisError> {
    let planned = PathParameters::for_capacity(trial.blocks(), trial.payload(), 0, 1);
    let planned = planned.map_err(|error| refused("Path ORAM")(error.into()))?;
    Ok(PathParameters { top: Level(0), ..planned })
}

fn equal(parameters: PathParameters) -> Result<BucketsByLevel, ThesisError> {
    BucketsByLevel::uniform(parameters).map_err(|error| refused("Path ORAM")(error.into()))
}

fn small(parameters: PathParameters) -> Result<BucketsByLevel, ThesisError> {
    let leaf_level = parameters.leaf_level.0;
    let ranges = SMALL_BUCKETS
        .iter()
        .filter_map(|(above, size)| Some((Level(0), Level(leaf_level.checked_sub(*above)?), *size)));
    let ranges: Vec<_> = ranges.collect();
    equal(parameters)?.with(&ranges).map_err(|error| refused("Path ORAM")(error.into()))
}

/// The parameters of that plan.
pub(super) fn quarter_path(trial: &Trial<'_>) -> Result<PathParameters, ThesisError> {
    let planned = PathParameters::for_capacity(trial.blocks(), trial.payload(), trial.blocks() / 4, 16);
    planned.map_err(|error| refused("Path ORAM")(error.into()))
}

fn path(trial: &Trial<'_>, buckets: BucketsByLevel, how: How) -> Result<Ran, ThesisError> {
    let real = buckets.parameters();
    let stash_bytes = u64::from(real.stash_bound) * trial.block_bytes;
    let empty =
        BucketsByLevel::new(PathParameters { block_bytes: 0, ..real.clone() }, buckets.blocks().to_vec())
            .map_err(|error| refused("Path ORAM")(error.into()))?;
    trial.run(&trial.filled(empty.layout(), buckets.layout()), how, |store| {
        let positions = FlatPositionMap::new(Positions::new(real.capacity));
        let oram = PathOram::with_buckets(&empty, Bucket(0), store, positions, trial.random());
        let local = Local::Bound(stash_bytes + oram.trusted_bytes() as u64);
        Ok(Made { oram, local, period: 0, state: State::Fresh })
    })
}

/// Trivial ORAM; sixteen blocks are in flight.
pub(super) fn trivial(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let of = |block_bytes| TrivialParameters {
        capacity: trial.blocks(),
        block_bytes,
        chunk_blocks: 16,
        max_batch: 16,
    };
    let (empty, real) = (of(0), of(trial.payload()));
    trial.run(&trial.filled(empty.layout(), real.layout()), How::TOGETHER, |store| {
        let oram = TrivialOram::new(empty, Bucket(0), store);
        let oram = oram.map_err(|error| refused("Trivial ORAM")(error.into()))?;
        Ok(Made { oram, local: Local::Bound(16 * trial.block_bytes), period: 0, state: State::Fresh })
    })
}

/// PracticalOS, which sorts in runs of 64 MiB.
fn practical_os(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let planned = PracticalOsParameters::for_capacity(trial.blocks(), trial.payload(), 16);
    run_practical_os(trial, PracticalOsParameters { run_blocks: run_blocks(trial), ..planned })
}

/// PracticalOS with runs of √N blocks, as its paper has it.
pub(super) fn practical_os_of_the_paper(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    run_practical_os(trial, PracticalOsParameters::for_capacity(trial.blocks(), trial.payload(), 16))
}

fn run_practical_os(trial: &Trial<'_>, real: PracticalOsParameters) -> Result<Ran, ThesisError> {
    let empty = PracticalOsParameters { block_bytes: 0, ..real.clone() };
    let held = u64::from(real.cache) + 2 * u64::from(real.run_blocks);
    trial.run(&trial.filled(empty.layout(), real.layout()), How::TOGETHER, |store| {
        let oram = PracticalOs::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| refused("PracticalOS")(error.into()))?;
        let local = Local::Bound(held * trial.block_bytes + oram.trusted_bytes() as u64);
        Ok(Made { oram, local, period: real.cache.into(), state: State::InUse(0) })
    })
}

/// Square-Root ORAM, which sorts in runs of 64 MiB.
pub(super) fn square_root(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let of = |bytes| SquareRootParameters::for_capacity(trial.blocks(), bytes, run_blocks(trial), 16);
    let (empty, real) = (of(0), of(trial.payload()));
    let held = 2 * u64::from(real.run_blocks);
    trial.run(&trial.filled(empty.layout(), real.layout()), How::TOGETHER, |store| {
        let oram = SquareRootOram::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| refused("Square-Root ORAM")(error.into()))?;
        let local = Local::Bound(held * trial.block_bytes + oram.trusted_bytes() as u64);
        Ok(Made { oram, local, period: real.shelter.into(), state: State::InUse(0) })
    })
}

/// Hierarchical ORAM, which sorts in runs of 64 MiB. It begins empty: the levels that the job does not reach cost
/// nothing.
pub(super) fn hierarchical(trial: &Trial<'_>) -> Result<Ran, ThesisError> {
    let of = |bytes| HierarchicalParameters::for_capacity(trial.blocks(), bytes, run_blocks(trial), 16);
    let (empty, real) = (of(0), of(trial.payload()));
    let held = 2 * u64::from(real.run_blocks);
    let shape = StoreShape { filled: false, ..trial.filled(empty.layout(), real.layout()) };
    trial.run(&shape, How::TOGETHER, |store| {
        let oram = HierarchicalOram::new(empty, Bucket(0), store, trial.random());
        let oram = oram.map_err(|error| refused("Hierarchical ORAM")(error.into()))?;
        let local = Local::Bound(held * trial.block_bytes + oram.trusted_bytes() as u64);
        Ok(Made { oram, local, period: real.capacity, state: State::Fresh })
    })
}
