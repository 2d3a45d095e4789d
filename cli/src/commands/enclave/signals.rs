//! Signals while a program runs in the enclave, which gets none of them: those that ask for the end of the run end it.

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
const ENDS: [SignalKind; 4] =
    [SignalKind::interrupt(), SignalKind::quit(), SignalKind::terminate(), SignalKind::hangup()];
/// Ctrl-Z. The machine is of no job of the shell: whoever stops the command wants to stop it too.
const STOP: i32 = Signal::TSTP.as_raw();

/// The end of a run by a signal, with the code that a shell gives it: 128 and the signal's number.
#[derive(Clone)]
pub(super) struct RunSignals {
    /// A handle of the machine that runs. Whoever ends the run keeps it locked until the process is no more.
    machine: Arc<Mutex<Option<OwnedFd>>>,
}

impl RunSignals {
    /// Listens from now on, as long as this process lives. A signal that was ignored at its start stays ignored: `nohup` asks
    /// for that, and shells do for jobs in the background.
    ///
    /// # Errors
    /// The system does not tell of signals, or gives no thread.
    pub(super) fn listen() -> Result<Self> {
        let ends = RunSignals { machine: Arc::default() };
        let runtime = Builder::new_current_thread().enable_io().build().context("listening for signals")?;
        let entered = runtime.enter();
        for kind in ENDS.into_iter().chain([SignalKind::from_raw(STOP)]).filter(|kind| !is_ignored(*kind)) {
            let (mut signals, ends) = (signal(kind).context("listening for signals")?, ends.clone());
            runtime.spawn(async move {
                while signals.recv().await.is_some() {
                    match kind.as_raw_value() {
                        STOP => ends.stop(),
                        number => ends.end(number),
                    }
                }
            });
        }
        drop(entered);
        thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(pending::<()>()))?;
        Ok(ends)
    }

    /// The outcome of serving a machine, which is ended if a signal comes meanwhile.
    ///
    /// # Errors
    /// Those of serving; the system gives no handle of the machine.
    pub(super) fn meanwhile<T>(
        &self,
        machine: Machine,
        serve: impl FnOnce(Machine) -> Result<T>,
    ) -> Result<T> {
        let handle = pidfd_open(Pid::from_child(machine.process()), PidfdFlags::empty());
        *self.machine() = Some(handle.context("a handle of the emulator")?);
        let served = serve(machine);
        // A machine that a signal has ended is no error: the process ends here, with the signal's code.
        *self.machine() = None;
        served
    }

    fn machine(&self) -> MutexGuard<'_, Option<OwnedFd>> {
        self.machine.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the machine, and this process when it has ended.
    fn end(&self, signal: i32) {
        let machine = self.machine();
        if let Some(machine) = &*machine {
            // It may have ended by itself, and been waited for.
            let _ = pidfd_send_signal(machine, Signal::KILL);
            let _ = waitid(WaitId::PidFd(machine.as_fd()), WaitIdOptions::EXITED);
        }
        std::process::exit(128 + signal)
    }

    /// Stops the machine and this process, until both are told to go on.
    fn stop(&self) {
        let machine = self.machine();
        let tell = |signal| machine.as_ref().map(|machine| pidfd_send_signal(machine, signal));
        tell(Signal::STOP);
        let _ = signal_hook::low_level::emulate_default_handler(STOP);
        tell(Signal::CONT);
    }
}
