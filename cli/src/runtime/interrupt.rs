//! Ctrl-C, requests to terminate and the end of the terminal, for work that needs a clean-up.

use anyhow::{Context, Result};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// A signal within this time after the first is the same Ctrl-C, which a wrapper forwards and the terminal also sends.
const REPEAT_WINDOW: Duration = Duration::from_secs(1);

/// The error of a command that the user or the system has interrupted.
#[derive(Debug, thiserror::Error)]
#[error("interrupted")]
pub struct Interrupted;

/// A listener for Ctrl-C, requests to terminate, and the end of the terminal. Once it exists, they no longer end the
/// process by themselves.
pub struct Interrupts {
    interrupt: Signal,
    terminate: Signal,
    /// The end of the terminal, unless the process ignores it, as with `nohup`.
    hang_up: Option<Signal>,
    /// True if a signal has arrived and is not handled yet. The streams above would lose a signal during their
    /// creation.
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

/// Returns true if the process was started with a signal ignored, or if that is unknown.
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
    /// The system refuses signal handlers.
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

    /// Waits for the next interrupt. Returns at once if one is pending.
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

    /// Runs `work` until it is done or an interrupt arrives.
    ///
    /// # Errors
    /// The errors of `work`; [`Interrupted`].
    pub async fn interruptible<T>(&mut self, work: impl Future<Output = Result<T>>) -> Result<T> {
        tokio::select! {
            done = work => done,
            () = self.next() => Err(Interrupted.into()),
        }
    }

    /// Runs `work` after a first interrupt, until it is done or a second one arrives.
    ///
    /// # Errors
    /// The errors of `work`; [`Interrupted`].
    pub async fn finish_unless_repeated<T>(work: impl Future<Output = Result<T>>) -> Result<T> {
        let repeated = async {
            tokio::time::sleep(REPEAT_WINDOW).await;
            // A new listener forgets earlier signals.
            Interrupts::listen()?.next().await;
            Err(Interrupted.into())
        };
        tokio::select! {
            done = work => done,
            repeated = repeated => repeated,
        }
    }
}
