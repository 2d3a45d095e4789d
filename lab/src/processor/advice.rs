//! The reasons why a machine is refused, in the names of the options: `--levels`, `--pace`, and those of `--set`.

use ameles_core::range::OutOfRange;
use ameles_core::schemes::freecursive::FreecursiveParametersError;
use ameles_core::schemes::path::PathParametersError;
use ameles_core::schemes::rho::SmallTreeParametersError;
use ameles_core::schemes::ring::RingParametersError;
use ameles_core::tree::planning::HalfFullTreeError;
use ameles_simulator::configuration_error::ConfigurationError;
use ameles_simulator::small_tree::SmallTreeError;
use ameles_simulator::tree_scheme::TreeScheme;

/// Names of the core's parameters, and the options that set them.
type Names = [(&'static str, &'static str)];

/// The names of the main tree and its front end.
const MAIN: &Names = &[
    ("look_aside", "plb"),
    ("look_aside_ways", "plb-ways"),
    ("labels", "labels"),
    ("capacity", "lines, with the PosMap blocks,"),
    ("blocks of a level", "a size of z"),
    ("stash_bound", "stash"),
    ("blocks_per_bucket", "bucket"),
    ("eviction_rate", "eviction-rate"),
    ("levels of the tree top", "top"),
    ("ways of the tree top", "top-ways"),
];

/// The names of the small tree.
const SMALL: &Names = &[
    ("sets of the tags", "rho-sets"),
    ("ways of the tags", "rho-ways"),
    ("capacity", "rho-sets times rho-ways"),
    ("leaf_level", "rho-levels less one"),
    ("blocks_per_bucket", "rho-z"),
    ("blocks of a level", "rho-z"),
    ("levels of the tree top", "rho-top"),
];

/// The maximum number of blocks of a bucket that can be set.
const MAX_BLOCKS: u32 = 64;

/// Returns a sentence that names the invalid option of a scheme over this kind of tree, and the valid choices.
pub(super) fn advice(error: &ConfigurationError, tree: TreeScheme) -> String {
    let buckets = match tree {
        TreeScheme::Path => "z",
        TreeScheme::Raw { .. } => "bucket",
        TreeScheme::Ring { .. } => "bucket and ring-slots",
    };
    match error {
        ConfigurationError::Tree(error)
        | ConfigurationError::FrontEnd(FreecursiveParametersError::Tree(error)) => {
            format!("the tree is impossible: {}", main_tree(error))
        }
        ConfigurationError::FrontEnd(FreecursiveParametersError::Raw(error)) => {
            format!("the tree is impossible: {}", raw(error))
        }
        ConfigurationError::FrontEnd(FreecursiveParametersError::Ring(error)) => {
            format!("the tree is impossible: {}", ring(error))
        }
        ConfigurationError::FrontEnd(error) => format!("the front end is impossible: {}", front_end(error)),
        ConfigurationError::Memory(error) => format!(
            "the memory is impossible: {error}: choose another subtree (0 for the plain layout), smaller buckets ({buckets}) or fewer \
             --levels"
        ),
        ConfigurationError::Cache(shape) => format!(
            "llc={} in sets of {} ways does not make a power of two of sets: choose for example llc=2097152",
            shape.bytes, shape.ways
        ),
        ConfigurationError::Levels { levels, top } => {
            let max = levels.saturating_sub(1);
            format!("top={top} of {levels} levels: choose top=0 to top={max}, or more --levels")
        }
        ConfigurationError::TooFast { needed, .. } => {
            format!("{error}: choose --pace start:{needed} or more")
        }
        ConfigurationError::SizedLevels { .. } => format!("z: {error}"),
        ConfigurationError::NoDummies => {
            format!("{error}, such as --pace end:1000, or leave such schemes and dwb=1 out")
        }
        ConfigurationError::Contents if tree == TreeScheme::Path => {
            format!("{error}, by z or rho-z, or give it fewer lines")
        }
        ConfigurationError::Contents => format!("{error}, by {buckets}, or give it fewer lines"),
        ConfigurationError::SmallTree(error) => {
            format!("the small tree is impossible: {}", small_tree(error))
        }
        ConfigurationError::Tags { blocks, tags } => format!(
            "lines={blocks} are too few for the {tags} tags of rho-sets times rho-ways: choose a quarter of the lines or less"
        ),
        ConfigurationError::SmallTreeAlone => {
            "rho cannot be combined with dwb=1 or llc-d=1: leave these out, or the scheme rho".to_owned()
        }
        ConfigurationError::PathAlone => {
            "z, hits=answer-at-once, rho, fork and page need Path ORAM: leave them out, or the schemes with raw and ring".to_owned()
        }
        ConfigurationError::BlockLines { lines } => {
            format!("block={}: choose a power of two, 64 to 4096", 64 * lines)
        }
        ConfigurationError::Labels { labels, max } => {
            format!("labels={labels} do not fit a PosMap block: choose labels=2 to labels={max}, or a larger block")
        }
        ConfigurationError::NoInstructions
        | ConfigurationError::TooSlow { .. }
        | ConfigurationError::RequestsInFlight { .. }
        | ConfigurationError::SmallSlots { .. } => error.to_string(),
        ConfigurationError::ForkPath { .. } => {
            format!("{error}: fork-queue, fork-age, fork-first and fork-last set them")
        }
        ConfigurationError::ForkPathAlone => {
            "fork cannot be combined with dwb=1 or llc-d=1: leave these out, or the scheme fork".to_owned()
        }
    }
}

fn main_tree(error: &PathParametersError) -> String {
    match error {
        PathParametersError::OutOfRange(error) => range(error, MAIN),
        PathParametersError::TreeTooSmall { max, capacity } => format!(
            "a tree for {max} blocks is too small for {capacity} with the PosMap blocks: choose more --levels, fewer lines, more \
             labels, or larger buckets (z)"
        ),
        PathParametersError::StashTooSmall { stash_bound, needed } => format!(
            "stash={stash_bound} cannot take the blocks of a path: choose stash={needed} or more, or fewer --levels"
        ),
        PathParametersError::BucketsTooSmall { blocks_per_bucket: blocks } => buckets_too_small(*blocks),
        PathParametersError::TreeTooHigh { .. } => buckets_too_small(3),
        other @ PathParametersError::Levels { .. } => other.to_string(),
    }
}

fn buckets_too_small(blocks: u32) -> String {
    format!(
        "bucket={blocks} fills the stash without end: choose bucket=4 to bucket={MAX_BLOCKS}; z makes those of some levels smaller"
    )
}

fn raw(error: &HalfFullTreeError) -> String {
    match error {
        HalfFullTreeError::OutOfRange(error) => range(error, MAIN),
        HalfFullTreeError::TreeTooSmall { max, capacity } => format!(
            "a tree for {max} blocks is too small for {capacity} with the PosMap blocks: choose more --levels, fewer lines or a \
             larger bucket"
        ),
    }
}

fn ring(error: &RingParametersError) -> String {
    match error {
        RingParametersError::Analysis { blocks, rate, needed, max } => {
            let larger = (*needed <= MAX_BLOCKS).then(|| format!("bucket={needed} to bucket={MAX_BLOCKS}"));
            let lower = (*max > 0).then(|| format!("eviction-rate=1 to eviction-rate={max}"));
            let choice: Vec<String> = larger.into_iter().chain(lower).collect();
            let choice = match choice.is_empty() {
                true => "a larger bucket and a lower eviction-rate".to_owned(),
                false => choice.join(", or "),
            };
            format!("bucket={blocks} with eviction-rate={rate} fills the stash without end: choose {choice}")
        }
        RingParametersError::LeafTooSmall { blocks, needed, .. } => format!(
            "leaf buckets of {blocks} blocks are too small: choose bucket={needed} or more, a lower eviction-rate, more --levels or \
             fewer lines"
        ),
        RingParametersError::Slots { blocks, reads, slots } => format!(
            "ring-slots is {slots}: choose {} to {}, for bucket={blocks} and ring-reads={reads}",
            blocks.max(reads),
            blocks + reads
        ),
        RingParametersError::Stash { bound, needed } => format!(
            "the stash lacks room for {} blocks: choose a stash that is larger by as many, or a lower eviction-rate",
            needed - bound
        ),
        RingParametersError::Capacity(blocks) => {
            let max = (1u32 << 31) - 1;
            format!("lines, with the PosMap blocks, is {blocks}: choose 1 to {max}")
        }
        // The settings keep within their ranges, and have no slices.
        RingParametersError::BlockBytes(_)
        | RingParametersError::Levels { .. }
        | RingParametersError::Rates { .. }
        | RingParametersError::Slice { .. }
        | RingParametersError::SlicesWithoutTop { .. }
        | RingParametersError::Filled => error.to_string(),
    }
}

fn front_end(error: &FreecursiveParametersError) -> String {
    match error {
        FreecursiveParametersError::OutOfRange(error) => range(error, MAIN),
        FreecursiveParametersError::Ways { blocks, ways } => {
            format!("plb={blocks} makes no sets of plb-ways={ways}: choose plb-ways that divide plb")
        }
        other => other.to_string(),
    }
}

fn small_tree(error: &SmallTreeError) -> String {
    match error {
        SmallTreeError::Levels { levels, top } => format!(
            "rho-top={top} of rho-levels={levels}: choose rho-levels=2 to rho-levels=32, and a smaller rho-top"
        ),
        SmallTreeError::Parameters(SmallTreeParametersError::OutOfRange(error)) => range(error, SMALL),
        SmallTreeError::Parameters(SmallTreeParametersError::Tree(error)) => match error {
            PathParametersError::OutOfRange(error) => range(error, SMALL),
            PathParametersError::TreeTooSmall { max, capacity } => format!(
                "a tree for {max} blocks is too small for {capacity} (rho-sets × rho-ways, and leaving blocks): choose \
                 more rho-levels, a larger rho-z or fewer rho-sets"
            ),
            PathParametersError::StashTooSmall { stash_bound, needed } => format!(
                "its stash of {stash_bound} blocks cannot take the {needed} of a path: choose fewer rho-levels or a smaller rho-z"
            ),
            other => other.to_string(),
        },
        other => other.to_string(),
    }
}

/// A number out of its range, by the name of its option.
fn range(error: &OutOfRange, names: &Names) -> String {
    let OutOfRange { name, value, min, max } = error;
    let option = names.iter().find(|(core, _)| core == name).map_or(*name, |(_, option)| option);
    format!("{option} is {value}: choose {min} to {max}")
}
