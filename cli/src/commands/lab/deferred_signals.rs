//! Signals that are deferred until the files of a run are complete.

use crate::runtime::interrupt::is_ignored;
use anyhow::Result;
use signal_hook::SigId;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::low_level::{emulate_default_handler, unregister};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use tokio::signal::unix::SignalKind;

/// Deferred signals that end the process.
pub(super) struct DeferredSignals {
    /// The last received signal; 0 for none.
    received: Arc<AtomicUsize>,
    registered: Vec<SigId>,
}

impl DeferredSignals {
    /// Defers signals from now on.
    ///
    /// # Errors
    /// The system refuses signal handlers.
    pub(super) fn start() -> Result<Self> {
        let hang_up = (!is_ignored(SignalKind::hangup())).then_some(SIGHUP);
        Self::new([SIGINT, SIGTERM].into_iter().chain(hang_up))
    }

    fn new(signals: impl IntoIterator<Item = i32>) -> Result<Self> {
        let mut deferred = DeferredSignals { received: Arc::default(), registered: Vec::new() };
        for signal in signals {
            let received = Arc::clone(&deferred.received);
            deferred.registered.push(signal_hook::flag::register_usize(signal, received, signal as usize)?);
        }
        Ok(deferred)
    }

    /// Ends the process by the received signal, if there is one.
    pub(super) fn deliver(self) {
        if let Some(signal) = self.received() {
            // It fails for signals that do not end a process.
            let _ = emulate_default_handler(signal);
        }
        for registered in self.registered {
            unregister(registered);
        }
    }

    /// Returns the received signal.
    fn received(&self) -> Option<i32> {
        i32::try_from(self.received.load(Ordering::Acquire)).ok().filter(|signal| *signal != 0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use signal_hook::consts::SIGUSR2;

    #[test]
    fn a_deferred_signal_does_not_end_the_process() {
        let deferred = DeferredSignals::new([SIGUSR2]).unwrap();
        assert_eq!(deferred.received(), None);
        signal_hook::low_level::raise(SIGUSR2).unwrap();
        assert_eq!(deferred.received(), Some(SIGUSR2));
    }
}
