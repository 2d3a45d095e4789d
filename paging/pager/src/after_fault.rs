//! The listener that is told of every fault that was served.

use crate::fault::counters::Counters;
use core::fmt;
use std::sync::Arc;

/// For whoever watches the untrusted memory from fault to fault, or stops a program after so many of them.
///
/// The function is called where the fault was served, on the handler thread or in a signal handler, when everything
/// that belongs to the fault is done; until it returns, no other fault of the region is served and no off-line work is
/// begun. It must not touch the region, nor (in a signal handler) allocate or lock.
#[derive(Clone, Default)]
pub enum AfterFault {
    /// No listener.
    #[default]
    Nothing,
    /// A function, given the counts with this fault among them. A second process may still be at work.
    Call(FaultListener),
    /// The same, once a second process has come to its end with what it was given: until the function returns, the
    /// untrusted memory stands still.
    CallWhenQuiescent(FaultListener),
}

/// The function that is called.
pub type FaultListener = Arc<dyn Fn(&Counters) + Send + Sync>;

impl fmt::Debug for AfterFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            AfterFault::Nothing => "Nothing",
            AfterFault::Call(_) => "Call",
            AfterFault::CallWhenQuiescent(_) => "CallWhenStill",
        })
    }
}
