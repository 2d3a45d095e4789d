//! The trusted side of a vault at rest: its disk, and what lies on it.

pub(crate) mod checkpoint;
pub(crate) mod disk;
pub(crate) mod header;
pub(crate) mod names;
mod pieces;
pub(crate) mod row;
pub(crate) mod rows;
