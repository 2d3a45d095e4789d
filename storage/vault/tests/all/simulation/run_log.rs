//! The events of a run, printed if only one seed is run.

use std::cell::RefCell;

thread_local! {
    static ENTRIES: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Keeps a log on this thread from now on.
pub fn keep() {
    ENTRIES.set(Some(Vec::new()));
}

/// Logs an event, with the time since the run began, if a log is kept.
pub fn note(what: impl FnOnce() -> String) {
    ENTRIES.with_borrow_mut(|entries| {
        if let Some(entries) = entries {
            entries.push(what());
        }
    });
}

/// Ends the log.
pub fn close() -> String {
    ENTRIES.take().unwrap_or_default().join("\n")
}
