//! The requests in flight at a moment of a trace.

use super::redraws::Redraw;
use ameles_core::types::Bucket;

/// A restore on another machine.
pub enum Restore {
    Redraws(Redraw),
    MovesNothing,
}

/// The origin of a request.
pub enum Role {
    Access,
    Step(usize),
    Repeated,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Access {
    Begun,
    Reading,
    HasRead,
}

pub struct Step {
    pub number: usize,
    pub phase: Phase,
    /// The buckets that the step writes.
    pub buckets: Vec<Bucket>,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Phase {
    Reading,
    MustWrite,
    Writing,
    /// The write is done; but if the vault is killed before it has recorded that, the write will be repeated.
    Written,
}
