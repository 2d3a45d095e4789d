//! The listener to faults: it notifies the host, and ends a run after its window.

use super::mailbox::HostMailbox;
use crate::host::{Mailbox, dishonest_host};
use crate::paging::Listener;
use alloc::rc::Rc;
use ameles_enclave_boundary::exit::Ending;
use ameles_enclave_boundary::mailbox::{Answer, Request};
use ameles_pager::fault::counters::Counters;
use core::cell::Cell;

/// Notifies the host of faults, and ends the run at one of them.
pub(super) struct AfterFault {
    pub(super) tells: bool,
    /// The number of the last fault.
    pub(super) last: Rc<Cell<u64>>,
}

impl Listener for AfterFault {
    fn after_fault(&mut self, counters: &Counters) -> Result<(), Ending> {
        let (faults, evictions) = (counters.faults, counters.evictions);
        if self.tells {
            match HostMailbox.call(Request::AfterFault { faults, evictions }, &[], &mut [])? {
                Answer::Done { .. } => {}
                _ => return Err(dishonest_host()),
            }
        }
        if faults == self.last.get() { Err(Ending::WindowEnded) } else { Ok(()) }
    }
}
