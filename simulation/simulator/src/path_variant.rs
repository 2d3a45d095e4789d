//! The variants of Path ORAM: tasks of the controller in addition to its protocol.

use crate::fork_path::ForkPathConfiguration;

/// A variant of Path ORAM, for the main tree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PathVariant {
    /// The protocol as it is.
    #[default]
    Plain,
    /// Fork Path: consecutive paths are merged, and their order is chosen.
    ForkPath(ForkPathConfiguration),
    /// PageORAM: the siblings of a path's buckets are read and written with it (see `ameles_core::schemes::path`).
    Siblings,
}

impl PathVariant {
    /// The options of Fork Path, if it is that.
    pub fn fork_path(&self) -> Option<&ForkPathConfiguration> {
        if let PathVariant::ForkPath(fork_path) = self { Some(fork_path) } else { None }
    }

    /// The same, to be changed.
    pub fn fork_path_mut(&mut self) -> Option<&mut ForkPathConfiguration> {
        if let PathVariant::ForkPath(fork_path) = self { Some(fork_path) } else { None }
    }
}
