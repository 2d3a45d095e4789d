//! The common parts of runs in real time: the home of a vault, and the register of what was acknowledged.

pub(super) mod vault_folder;
pub(super) mod write_history;
