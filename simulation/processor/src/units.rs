//! The units of the simulation as types.

/// A cycle of the processor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cycle(pub u64);

/// A line of memory: 64 bytes, by its address divided by 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Line(pub u64);

/// Bytes of a line.
pub const LINE_BYTES: u64 = 64;
