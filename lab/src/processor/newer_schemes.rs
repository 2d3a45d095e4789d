//! Schemes that are newer than IR-ORAM's figures, by name. They run if they are named.

use ameles_simulator::configuration::{Configuration, Scheme};
use ameles_simulator::fork_path::{Choice, ForkPathConfiguration};
use ameles_simulator::path_variant::PathVariant;
use ameles_simulator::tree_scheme::TreeScheme;

/// A scheme that no figure of IR-ORAM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewerScheme {
    /// A variant of Path ORAM with buckets of this size.
    Path(PathVariant, u32),
    /// Ring ORAM with buckets of eight blocks and this many slots, for A = 8 and S = 12. With fewer than 20 slots, it
    /// has String ORAM's compact buckets.
    Ring {
        /// The number of slots of a bucket.
        slots: u32,
    },
}

/// The names of the newer schemes.
pub(super) const NAMES: [(&str, NewerScheme); 7] = [
    ("fork", NewerScheme::Path(PathVariant::ForkPath(ForkPathConfiguration::STANDARD), 4)),
    ("fork-merge", NewerScheme::Path(PathVariant::ForkPath(ForkPathConfiguration::MERGING), 4)),
    ("sound-fork", NewerScheme::Path(PathVariant::ForkPath(SOUND_FORK), 4)),
    ("path3", NewerScheme::Path(PathVariant::Plain, 3)),
    ("page", NewerScheme::Path(PathVariant::Siblings, 3)),
    ("ring20", NewerScheme::Ring { slots: 20 }),
    ("string", NewerScheme::Ring { slots: 12 }),
];

/// A queue of four leaves, one in and one out for each path.
const SOUND_FORK: ForkPathConfiguration =
    ForkPathConfiguration { queue: 4, choice: Choice::OneByOne, ..ForkPathConfiguration::STANDARD };

impl NewerScheme {
    /// A machine with the scheme.
    pub(super) fn configuration(self, mut baseline: Configuration) -> Configuration {
        match self {
            NewerScheme::Path(variant, blocks_per_bucket) => {
                baseline.variant = variant;
                let oram = &mut baseline.oram;
                if blocks_per_bucket < oram.blocks_per_bucket {
                    oram.sizes = vec![(oram.top_levels, oram.levels - 1, blocks_per_bucket)];
                }
            }
            NewerScheme::Ring { slots } => {
                baseline = baseline.with_scheme(Scheme::Ring);
                if let TreeScheme::Ring { slots: slots_per_bucket, .. } = &mut baseline.oram.scheme {
                    *slots_per_bucket = slots;
                }
            }
        }
        baseline.with_fitting_subtrees()
    }
}
