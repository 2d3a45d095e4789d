//! The reasons why there is no such machine, in the names of the options: those of `--set`, and `--levels` and `--pace`.

use lethe_controller::configuration_error::ConfigurationError;
use lethe_controller::small_tree::SmallTreeError;
use lethe_core::range::OutOfRange;
use lethe_core::schemes::freecursive::FreecursiveParametersError;
use lethe_core::schemes::path::PathParametersError;
use lethe_core::schemes::raw::RawParametersError;
use lethe_core::schemes::rho::SmallTreeParametersError;

/// Names of the core's parameters, and the options that set them.
type Names = [(&'static str, &'static str)];

/// Those of the main tree and its front end.
const MAIN: &Names = &[
    ("look_aside", "plb"),
    ("look_aside_ways", "plb-ways"),
    ("labels", "labels"),
    ("capacity", "lines, with the PosMap blocks,"),
    ("blocks of a level", "a size of z"),
    ("stash_bound", "stash"),
    ("blocks_per_bucket", "bucket"),
    ("eviction_rate", "eviction-rate"),
];

/// Those of the small tree.
const SMALL: &Names = &[
    ("sets of the tags", "rho-sets"),
    ("ways of the tags", "rho-ways"),
    ("capacity", "rho-sets times rho-ways"),
    ("leaf_level", "rho-levels less one"),
    ("blocks_per_bucket", "rho-z"),
    ("blocks of a level", "rho-z"),
];

/// The sentence that says which option is impossible, and what to choose.
pub(super) fn advice(error: &ConfigurationError) -> String {
    match error {
        ConfigurationError::Tree(error)
        | ConfigurationError::FrontEnd(FreecursiveParametersError::Tree(error)) => {
            format!("the tree is impossible: {}", main_tree(error))
        }
        ConfigurationError::FrontEnd(error) => format!("the front end is impossible: {}", front_end(error)),
        ConfigurationError::Memory(error) => format!(
            "the memory is impossible: {error}: choose another subtree (0 for the plain layout), smaller buckets (z) or fewer --levels"
        ),
        ConfigurationError::Cache(shape) => format!(
            "llc={} makes no sets of {} ways by a power of two: choose such as llc=2097152",
            shape.bytes, shape.ways
        ),
        ConfigurationError::Levels { levels, top } => {
            let most = levels.saturating_sub(1);
            format!("top={top} of {levels} levels: choose top=0 to top={most}, or more --levels")
        }
        ConfigurationError::TooFast { needed, .. } => {
            format!("{error}: choose --pace start:{needed} or more")
        }
        ConfigurationError::SizedLevels { .. } => format!("z: {error}"),
        ConfigurationError::NoDummies => {
            format!("{error}, such as --pace end:1000, or leave such schemes and dwb=1 out")
        }
        ConfigurationError::Contents => format!("{error}, by z or rho-z, or give it fewer lines"),
        ConfigurationError::SmallTree(error) => {
            format!("the small tree is impossible: {}", small_tree(error))
        }
        ConfigurationError::Tags { blocks, tags } => format!(
            "lines={blocks} are too few for the {tags} tags of rho-sets times rho-ways: choose a quarter of the lines or less"
        ),
        ConfigurationError::SmallTreeAlone => {
            "rho goes with neither dwb=1 nor llc-d=1: leave them out, or the scheme rho".to_owned()
        }
        ConfigurationError::PathAlone => {
            "z, hits=answer-at-once and rho are of Path ORAM: leave them out, or the schemes with raw and ring".to_owned()
        }
        ConfigurationError::BlockLines { lines } => {
            format!("block={}: choose a power of two, 64 to 4096", 64 * lines)
        }
        ConfigurationError::TooSlow { .. } => error.to_string(),
        ConfigurationError::NoInstructions => {
            format!("{error}, such as --pace instructions:1000")
        }
    }
}

fn main_tree(error: &PathParametersError) -> String {
    match error {
        PathParametersError::OutOfRange(error) => range(error, MAIN),
        PathParametersError::TreeTooSmall { most, capacity } => format!(
            "a tree for {most} blocks is too small for {capacity}, the PosMap blocks among them: choose more --levels, fewer lines, \
             more labels, or larger buckets (z)"
        ),
        PathParametersError::StashTooSmall { stash_bound, needed } => format!(
            "stash={stash_bound} cannot take the blocks of a path: choose stash={needed} or more, or fewer --levels"
        ),
        other => other.to_string(),
    }
}

fn front_end(error: &FreecursiveParametersError) -> String {
    match error {
        FreecursiveParametersError::OutOfRange(error) => range(error, MAIN),
        FreecursiveParametersError::Ways { blocks, ways } => {
            format!("plb={blocks} makes no sets of plb-ways={ways}: choose plb-ways that divide plb")
        }
        FreecursiveParametersError::Raw(RawParametersError::OutOfRange(error)) => range(error, MAIN),
        FreecursiveParametersError::Raw(RawParametersError::TreeTooSmall { most, capacity }) => format!(
            "a tree for {most} blocks is too small for {capacity}, the PosMap blocks among them: choose more --levels, fewer lines or \
             a larger bucket"
        ),
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
            PathParametersError::TreeTooSmall { most, capacity } => format!(
                "a tree for {most} blocks is too small for the {capacity} of rho-sets times rho-ways and those on their way out: \
                 choose more rho-levels, a larger rho-z or fewer rho-sets"
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
    let OutOfRange { name, value, least, most } = error;
    let option = names.iter().find(|(core, _)| core == name).map_or(*name, |(_, option)| option);
    format!("{option} is {value}: choose {least} to {most}")
}
