//! The temporary folder of runs in real time. It is removed with the process, also on an interrupt.

use super::progress::PartialReport;
use crate::runtime::interrupt::is_ignored;
use crate::runtime::output::print_error;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;
use tokio::signal::unix::SignalKind;

/// The temporary folder, which is removed when this is dropped.
pub(super) struct ScratchFolder {
    _folder: TempDir,
    /// True while a signal ends the process.
    is_ending: Arc<AtomicBool>,
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        // The run fails without its files: wait for the end by the signal instead.
        while self.is_ending.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Creates a folder for all temporary files from now on.
///
/// The folder is removed when the result is dropped. A signal to end also removes it. Then the finished part of the
/// report is printed, and the process exits with 128 plus the number of the signal.
///
/// # Errors
/// There is no folder for temporary files, or the system refuses signal handlers.
pub(super) fn create(partial: &PartialReport) -> Result<ScratchFolder> {
    let folder =
        tempfile::Builder::new().prefix("ameles-lab-").tempdir().context("creating a temporary folder")?;
    let path = folder.path().to_owned();
    // It fails only if a folder is already set: then that folder is cleaned up.
    let _ = tempfile::env::override_temp_dir(&path);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SignalKind::hangup()) {
        signals.add_signal(SIGHUP)?;
    }
    let partial = partial.clone();
    let is_ending = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&is_ending);
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            ending.store(true, Ordering::Release);
            partial.print();
            print_error!("ameles lab: interrupted");
            // Files that are still being written may make a removal fail.
            for _ in 0..3 {
                if std::fs::remove_dir_all(&path).is_ok() {
                    break;
                }
            }
            process::exit(128 + signal);
        }
    });
    Ok(ScratchFolder { _folder: folder, is_ending })
}
