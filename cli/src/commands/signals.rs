//! Signals while a program runs on behalf of this process. The program gets signals of the terminal directly; requests
//! to end are forwarded to it.

use crate::runtime::interrupt::is_ignored;
use anyhow::{Context, Result};
use rustix::process::{PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use std::os::fd::OwnedFd;
use std::process::Child;
use std::thread;
use tokio::runtime::{Builder, Runtime};
use tokio::signal::unix::{Signal as Stream, SignalKind, signal};

/// The listener. While it exists, these signals do not end this process, unless they were ignored from the start.
pub(super) struct Signals {
    runtime: Runtime,
    terminate: Option<Stream>,
    hang_up: Option<Stream>,
    /// Ctrl-C and Ctrl-\, which the terminal sends to the program too.
    _from_terminal: [Option<Stream>; 2],
}

impl Signals {
    /// Listens from now on. Call it before the program starts; the program does not inherit it.
    ///
    /// # Errors
    /// The system refuses signal handlers.
    pub(super) fn listen() -> Result<Self> {
        let runtime = Builder::new_current_thread().enable_io().build().context("listening for signals")?;
        let guard = runtime.enter();
        // An ignored signal stays ignored, for the program too: `nohup` and shells with background jobs rely on that.
        let listen =
            |kind| (!is_ignored(kind)).then(|| signal(kind)).transpose().context("listening for signals");
        let (terminate, hang_up) = (listen(SignalKind::terminate())?, listen(SignalKind::hangup())?);
        let _from_terminal = [listen(SignalKind::interrupt())?, listen(SignalKind::quit())?];
        drop(guard);
        Ok(Signals { runtime, terminate, hang_up, _from_terminal })
    }

    /// Forwards SIGTERM and SIGHUP to the program until this process exits.
    ///
    /// # Errors
    /// The system gives no pidfd of the program, or starts no thread.
    pub(super) fn forward(self, process: &Child) -> Result<()> {
        let program = pidfd_open(rustix::process::Pid::from_child(process), PidfdFlags::empty())
            .context("opening a pidfd of the program")?;
        let forward = move || {
            let Signals { runtime, terminate, hang_up, _from_terminal } = self;
            runtime.block_on(async {
                tokio::join!(
                    forward_each(terminate, &program, Signal::TERM),
                    forward_each(hang_up, &program, Signal::HUP)
                );
            });
        };
        thread::Builder::new().name("signals".to_owned()).spawn(forward)?;
        Ok(())
    }
}

async fn forward_each(stream: Option<Stream>, program: &OwnedFd, signal: Signal) {
    let Some(mut stream) = stream else { return };
    while stream.recv().await.is_some() {
        // The program may already have ended.
        let _ = pidfd_send_signal(program, signal);
    }
}
