//! The listener that is called after every fault.

use crate::fault::counters::Counters;
use core::fmt;
use std::sync::Arc;

/// The function that is called after each fault. It can observe the untrusted memory, or stop a program after a number
/// of faults.
///
/// The function is called where the fault was handled, on the handler thread or in a signal handler, after all work of
/// the fault. Until it returns, no other fault of the region is handled and no offline work begins. It must not access
/// the region. In a signal handler it must not allocate or lock either.
#[derive(Clone, Default)]
pub enum AfterFault {
    /// No listener.
    #[default]
    Nothing,
    /// The function gets the counts, including this fault. A second process may still be working.
    Call(FaultListener),
    /// The function gets the counts, after a second process has finished its jobs. Until the function returns, the
    /// untrusted memory does not change.
    CallWhenQuiescent(FaultListener),
}

/// The function.
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
