//! Signals while a program runs in the enclave. The program gets none of them; signals that request an end stop the
//! run.

use crate::enclave::Machine;
use crate::runtime::interrupt::is_ignored;
use anyhow::{Context, Result};
use rustix::process::{
    Pid, PidfdFlags, Signal, WaitId, WaitIdOptions, pidfd_open, pidfd_send_signal, waitid,
};
use std::future::pending;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use tokio::runtime::Builder;
use tokio::signal::unix::{SignalKind, signal};

/// Ctrl-C, Ctrl-\, a request to end, and the end of the terminal.
const END_SIGNALS: [SignalKind; 4] =
    [SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate(), SignalKind::hangup()];
/// Ctrl-Z. The machine is not part of a job of the shell, so this process stops it too.
const STOP_SIGNAL: i32 = Signal::TSTP.as_raw();

/// Ends a run on a signal, with the exit code 128 plus the signal's number.
#[derive(Clone)]
pub(super) struct RunSignals {
    /// A handle of the running machine. A signal that ends the run keeps it locked until the process exits.
    machine: Arc<Mutex<Option<OwnedFd>>>,
}

impl RunSignals {
    /// Listens until this process exits. A signal that was ignored at its start stays ignored: `nohup`, and shells for
    /// jobs in the background, rely on that.
    ///
    /// # Errors
    /// The system refuses signal handlers or a thread.
    pub(super) fn listen() -> Result<Self> {
        let run_signals = RunSignals { machine: Arc::default() };
        let runtime = Builder::new_current_thread().enable_io().build().context("listening for signals")?;
        let guard = runtime.enter();
        for kind in END_SIGNALS
            .into_iter()
            .chain([SignalKind::from_raw(STOP_SIGNAL)])
            .filter(|kind| !is_ignored(*kind))
        {
            let (mut signals, run_signals) =
                (signal(kind).context("listening for signals")?, run_signals.clone());
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    match kind.as_raw_value() {
                        STOP_SIGNAL => run_signals.stop(),
                        number => run_signals.end(number),
                    }
                }
            });
        }
        drop(guard);
        thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(pending::<()>()))?;
        Ok(run_signals)
    }

    /// Serves a machine and returns the result. A signal ends the machine and this process.
    ///
    /// # Errors
    /// The errors of `serve`; the system gives no pidfd of the machine.
    pub(super) fn serve<T>(&self, machine: Machine, serve: impl FnOnce(Machine) -> Result<T>) -> Result<T> {
        let handle = pidfd_open(Pid::from_child(machine.process()), PidfdFlags::empty());
        *self.machine() = Some(handle.context("opening a pidfd of the emulator")?);
        let result = serve(machine);
        // If a signal has ended the machine, this waits until the process exits with the signal's code.
        *self.machine() = None;
        result
    }

    fn machine(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the machine, waits for its end, and exits this process.
    fn end(&self, signal: i32) {
        let machine = self.machine();
        if let Some(machine) = &*machine {
            // The machine may already have ended and been waited for.
            let _ = pidfd_send_signal(machine, Signal::KILL);
            let _ = waitid(WaitId::PidFd(machine.as_fd()), WaitIdOptions::EXITED);
        }
        std::process::exit(128 + signal)
    }

    /// Stops the machine and this process until both are continued.
    fn stop(&self) {
        let machine = self.machine();
        let send = |signal| machine.as_ref().map(|machine| pidfd_send_signal(machine, signal));
        send(Signal::STOP);
        let _ = signal_hook::low_level::emulate_default_handler(STOP_SIGNAL);
        send(Signal::CONT);
    }
}
