//! Ctrl-C, requests to terminate and a terminal that is closed, for work that must be cleaned up after.

use anyhow::{Context, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal within this time after the first is the same Ctrl-C: a wrapper hands it on that the terminal sent too.
const REPEAT_WINDOW: Duration = Duration::from_secs(1);

/// The user, or the system, wants the command to end.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// Ctrl-C, requests to terminate, and the end of the terminal. Once listened for, none of them ends the process by itself
/// any more.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// The end of the terminal, unless the process was started to live on, as with `nohup`.
    hang_up: Option<Signal>,
    /// Tells whether one came that has not been answered yet. The streams above would lose one that comes while they are
    /// made.
    is_pending: Arc<AtomicBool>,
    flags: Vec<signal_hook::SigId>,
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        for flag in self.flags.drain(..) {
            signal_hook::low_level::unregister(flag);
        }
    }
}

/// Tells whether the process was started with a signal ignored; so too where that cannot be told.
pub fn is_ignored(kind: SignalKind) -> bool {
    let ignored = || {
        let status = std::fs::read_to_string("/proc/self/status").ok()?;
        let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"))?;
        u64::from_str_radix(mask.trim(), 16).ok()
    };
    let bit = 1 << (kind.as_raw_value() - 1);
    ignored().is_none_or(|mask| mask & bit != 0)
}

impl Interrupts {
    /// Listens from now on.
    ///
    /// # Errors
    /// The system does not tell of signals.
    pub fn listen() -> Result<Self> {
        let is_pending = Arc::new(AtomicBool::new(false));
        let mut flags = Vec::new();
        let mut listen = |kind: SignalKind| {
            flags.push(signal_hook::flag::register(kind.as_raw_value(), Arc::clone(&is_pending))?);
            signal(kind)
        };
        let mut listen = |kind| listen(kind).context("listening for Ctrl-C");
        let interrupt = listen(SignalKind::interrupt())?;
        let terminate = listen(SignalKind::terminate())?;
        let hang_up =
            if is_ignored(SignalKind::hangup()) { None } else { Some(listen(SignalKind::hangup())?) };
        Ok(Interrupts { interrupt, terminate, hang_up, is_pending, flags })
    }

    /// Returns at the next one, or at once if it came before.
    pub async fn next(&mut self) {
        if self.is_pending.swap(false, Ordering::AcqRel) {
            return;
        }
        let hang_up = async {
            match &mut self.hang_up {
                Some(signal) => signal.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
            _ = hang_up => {}
        }
        self.is_pending.store(false, Ordering::Release);
    }

    /// The outcome of `work`, unless one comes first.
    ///
    /// # Errors
    /// Those of `work`; [`Interrupted`].
    pub async fn interruptible<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.next() => Err(Interrupted.into()),
        }
    }

    /// The outcome of the work that one has asked to finish, unless another one insists.
    ///
    /// # Errors
    /// Those of `work`; [`Interrupted`].
    pub async fn finish_unless_repeated<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
        let repeated = async {
            tokio::time::sleep(REPEAT_WINDOW).await;
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
