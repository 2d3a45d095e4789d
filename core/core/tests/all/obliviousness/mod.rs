//! The judgement of all that the store's adversary sees of every scheme; and schemes that are broken on purpose, each
//! of which the same judge must catch. `--nocapture` prints the statistics.

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
