//! The tasks of a vault's owner besides serving it.

pub(crate) mod costs;
pub(crate) mod migration;
pub(crate) mod move_journal;
pub(crate) mod new_key;
pub(crate) mod orphans;
