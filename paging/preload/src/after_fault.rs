//! The work after each fault: it is reported to a watcher, and counted.

use crate::report::FaultWindow;
use ameles_pager::after_fault::{AfterFault, FaultListener};
use ameles_pager::watch::FaultReporter;
use std::sync::Arc;

/// The parts that were requested.
pub(crate) fn after_fault(watcher: Option<Arc<FaultReporter>>, window: FaultWindow) -> AfterFault {
    let count = window.after_fault();
    let Some(watcher) = watcher else {
        return count.map_or(AfterFault::Nothing, AfterFault::Call);
    };
    let both: FaultListener = Arc::new(move |counters| {
        watcher.report(counters);
        if let Some(count) = &count {
            count(counters);
        }
    });
    AfterFault::CallWhenQuiescent(both)
}
