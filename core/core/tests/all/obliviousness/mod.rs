//! Judges everything that the store's adversary sees of every scheme. The same judge must catch each of the schemes
//! that are broken on purpose. `--nocapture` prints the statistics.

#![allow(clippy::print_stdout, reason = "the statistics are there to be looked at")]

mod biased;
mod broken;
mod freecursive_trees;
mod group_remaps;
mod large_trees;
mod opam;
mod paging;
mod parallel;
mod privacy;
mod recovery;
mod recursion;
pub(crate) mod schemes;
mod setup;
mod side_by_side;
