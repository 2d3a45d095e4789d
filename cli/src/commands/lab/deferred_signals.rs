//! Signals that wait until the files of a run are whole.

use crate::runtime::interrupt::is_ignored;
use anyhow::Result;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, unregister};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::signal::unix::SignalKind;

/// Signals to end the process, which wait.
pub(super) struct DeferredSignals {
    /// The last one that came; 0 for none.
    came: Arc<AtomicUsize>,
    registered: Vec<SigId>,
}

impl DeferredSignals {
    /// Has them wait from now on.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub(super) fn begin() -> Result<Self> {
        let hang_up = (!is_ignored(SignalKind::hangup())).then_some(SIGHUP);
        Self::of([SIGINT, SIGTERM].into_iter().chain(hang_up))
    }

    fn of(signals: impl IntoIterator<Item = i32>) -> Result<Self> {
        let mut held = DeferredSignals { came: Arc::default(), registered: Vec::new() };
        for signal in signals {
            let came = Arc::clone(&held.came);
            held.registered.push(signal_hook::flag::register_usize(signal, came, signal as usize)?);
        }
        Ok(held)
    }

    /// Ends the process by the signal that came, if one did.
    pub(super) fn end(self) {
        if let Some(signal) = self.came() {
            // It fails for signals that end no process.
            let _ = emulate_default_handler(signal);
        }
        for registered in self.registered {
            unregister(registered);
        }
    }

    /// The signal that came.
    fn came(&self) -> Option<i32> {
        i32::try_from(self.came.load(Ordering::Acquire)).ok().filter(|signal| *signal != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::SIGUSR2;

    #[test]
    fn a_signal_waits_and_ends_nothing_by_itself() {
        let held = DeferredSignals::of([SIGUSR2]).unwrap();
        assert_eq!(held.came(), None);
        signal_hook::low_level::raise(SIGUSR2).unwrap();
        assert_eq!(held.came(), Some(SIGUSR2));
    }
}
