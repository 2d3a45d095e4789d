//! The interface between a memory and the schedulers of its channels.

use crate::command::{Command, RequestId};
use crate::specification::Specification;
use crate::units::Cycle;
use std::ops::ControlFlow;

/// The direction in which a block moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// The data go to the controller.
    Read,
    /// The data go to the memory.
    Write,
}

/// A burst to be read or written in a channel: a block, or a part of one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The request's number, which is its age.
    pub id: RequestId,
    /// The batch of the request.
    pub batch: u32,
    /// The direction.
    pub direction: Direction,
    /// The rank, from 0.
    pub rank: u8,
    /// The bank of the rank, from 0.
    pub bank: u8,
    /// The row of the bank, from 0.
    pub row: u32,
    /// The column of the row, in bursts from 0.
    pub column: u32,
    /// The cycle of its submission.
    pub arrival: Cycle,
}

impl Request {
    /// Returns whether two requests of a channel are for one burst.
    pub(crate) fn is_for_same_burst(&self, other: &Request) -> bool {
        self.column == other.column
            && self.row == other.row
            && self.bank == other.bank
            && self.rank == other.rank
    }
}

/// Hears what a scheduler does.
pub trait Listener {
    /// Hears of a command. The commands of a channel come in the order of time.
    fn on_command(&mut self, command: &Command);

    /// Hears of a request and the cycle in which it is done; breaks off the work after the current cycle if it has
    /// heard enough.
    fn on_done(&mut self, request: &Request, cycle: Cycle) -> ControlFlow<()>;
}

/// The scheduler of a channel.
pub trait Scheduler {
    /// Makes the scheduler of a channel of a memory whose description was checked.
    fn new(specification: &Specification, channel: u32) -> Self;

    /// Adds a request. Its number is greater than those before it, and its arrival is not earlier, and not in a cycle
    /// that was worked through.
    fn push(&mut self, request: Request);

    /// Works through the cycles before `limit`, or until the listener breaks off after a cycle.
    ///
    /// The cycles in which things happen do not depend on how the time is divided among calls.
    fn run(&mut self, limit: Cycle, listener: &mut impl Listener);
}
