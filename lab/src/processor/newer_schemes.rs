//! Schemes that are newer than IR-ORAM's figures, by name. They run if they are named.

use ameles_simulator::configuration::Configuration;
use ameles_simulator::fork_path::{Choice, ForkPathConfiguration};

/// A scheme that no figure of IR-ORAM has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NewerScheme {
    /// Fork Path.
    ForkPath(ForkPathConfiguration),
}

/// The names of the newer schemes.
pub(super) const NAMES: [(&str, NewerScheme); 3] = [
    ("fork", NewerScheme::ForkPath(ForkPathConfiguration::STANDARD)),
    ("fork-merge", NewerScheme::ForkPath(ForkPathConfiguration::MERGING)),
    (
        "sound-fork",
        NewerScheme::ForkPath(ForkPathConfiguration {
            queue: 4,
            choice: Choice::OneByOne,
            ..ForkPathConfiguration::STANDARD
        }),
    ),
];

impl NewerScheme {
    /// A machine with the scheme.
    pub(super) fn configuration(self, mut baseline: Configuration) -> Configuration {
        match self {
            NewerScheme::ForkPath(fork_path) => baseline.fork_path = Some(fork_path),
        }
        baseline
    }
}
