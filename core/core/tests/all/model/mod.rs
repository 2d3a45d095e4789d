//! Schemes against their model, a plain array, and their promises beyond it.

pub(crate) mod curious;
mod external_positions;
pub(crate) mod freecursive;
mod freecursive_counters;
mod freecursive_ring;
mod hierarchical;
mod oblivistore;
pub(crate) mod opam;
pub(crate) mod paging;
mod path;
mod path_emergencies;
mod path_trace;
mod path_variants;
mod pmmac;
mod practical_os;
mod recursive;
mod rho;
mod root;
pub(crate) mod setup;
mod square_root;
mod trivial;
mod write_schedule;
