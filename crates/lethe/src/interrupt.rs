//! Ctrl-C and requests to terminate, for work that must be cleaned up after.

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The user, or the system, wants the command to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Ctrl-C and requests to terminate. Once listened for, neither ends the process by itself any more.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
}

impl Interrupts {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("listening for Ctrl-C");
        Ok(Interrupts {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Returns at the next one, or at once if it came before.
    pub async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    /// The outcome of `work`, unless one comes first.
    ///
    /// # Errors
    /// Those of `work`; [`Interrupted`].
    pub async fn cut_off<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.next() => Err(Interrupted.into()),
        }
    }
}
