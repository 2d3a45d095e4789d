//! Commands to the DRAM, and listeners to them.

use crate::units::Cycle;

/// A command to the DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Kind {
    /// Opens a row of a bank.
    Activate,
    /// Closes the row of a bank.
    Precharge,
    /// Moves a burst of the open row to the controller.
    Read,
    /// Moves a burst from the controller to the open row.
    Write,
    /// Refreshes the next rows of a rank.
    Refresh,
}

/// A command that was issued.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// The cycle in which it is on the command bus.
    pub cycle: Cycle,
    /// The sort of command.
    pub kind: Kind,
    /// The channel.
    pub channel: u32,
    /// The rank.
    pub rank: u32,
    /// The bank; 0 for a refresh.
    pub bank: u32,
    /// The row that is opened, closed, read or written; 0 for a refresh.
    pub row: u32,
    /// The column that is read or written, in bursts from 0; 0 for other commands.
    pub column: u32,
}

/// The number of a request, which is one burst: they are counted from 0 in the order in which they were submitted. A
/// block of several bursts takes as many numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RequestId(pub u64);

/// A listener to everything that a memory does. Channels run in sequence, so only the calls of one channel are in
/// chronological order.
pub trait Observer {
    /// Observes a command.
    fn on_command(&mut self, command: &Command);

    /// Observes the end of a request. It is done in the first cycle after the last beat of its burst.
    fn on_done(&mut self, request: RequestId, cycle: Cycle);
}

/// A listener that ignores everything.
impl Observer for () {
    fn on_command(&mut self, _: &Command) {}

    fn on_done(&mut self, _: RequestId, _: Cycle) {}
}
