//! Ctrl-C and requests to terminate, for work that must be cleaned up after.

use anyhow::{Context, Result};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// What comes within this time after the first is the same Ctrl-C: a wrapper hands it on that the terminal sent too.
const SAME: Duration = Duration::from_secs(1);

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

    /// The outcome of the work that one has asked to finish, unless another one insists.
    ///
    /// # Errors
    /// Those of `work`; [`Interrupted`].
    pub async fn unless_repeated<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
        let repeated = async {
            tokio::time::sleep(SAME).await;
            // Listening anew forgets what came before.
            Interrupts::listen()?.next().await;
            Err(Interrupted.into())
        };
        tokio::select! {
            done = work => done,
            repeated = repeated => repeated,
        }
    }
}
