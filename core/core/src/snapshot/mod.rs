//! The trusted state of a scheme, written and read back: as a whole, or as changes.

pub(crate) mod bit_table;
pub mod full;
pub mod incremental;
pub mod word_snapshot;
pub(crate) mod word_table;
