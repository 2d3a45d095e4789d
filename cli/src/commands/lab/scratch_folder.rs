//! The folder of what runs in real time lay down. It goes with the process, also when that is interrupted.

use super::progress::PartialReport;
use crate::runtime::interrupt::is_ignored;
use crate::runtime::output::complain;
use anyhow::{Context, Result};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use tempfile::TempDir;
use tokio::signal::unix::SignalKind;

/// The folder, which goes when this is dropped.
pub(super) struct Scratch {
    _folder: TempDir,
    /// Tells whether a signal ends the process.
    is_ending: Arc<AtomicBool>,
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What runs fails without its files; the end by the signal counts.
        while self.is_ending.load(Ordering::Acquire) {
            thread::park();
        }
    }
}

/// Lays down all temporary files in a folder from now on, which goes when the answer is dropped, or when the process is told
/// to end: then it prints what there is, and ends with 128 and the number of the signal.
///
/// # Errors
/// There is no folder for temporary files, or the system does not tell of signals.
pub(super) fn lay_down(unfinished: &PartialReport) -> Result<Scratch> {
    let folder = tempfile::Builder::new().prefix("ameles-lab-").tempdir().context("a temporary folder")?;
    let path = folder.path().to_owned();
    // It fails only if it was said before: then that folder is cleaned up.
    let _ = tempfile::env::override_temp_dir(&path);
    let mut signals = Signals::new([SIGINT, SIGTERM])?;
    if !is_ignored(SignalKind::hangup()) {
        signals.add_signal(SIGHUP)?;
    }
    let unfinished = unfinished.clone();
    let is_ending = Arc::new(AtomicBool::new(false));
    let ending = Arc::clone(&is_ending);
    thread::spawn(move || {
        if let Some(signal) = signals.forever().next() {
            ending.store(true, Ordering::Release);
            unfinished.print();
            complain!("ameles lab: interrupted");
            // Files that are still written may come in between.
            for _ in 0..3 {
                if std::fs::remove_dir_all(&path).is_ok() {
                    break;
                }
            }
            process::exit(128 + signal);
        }
    });
    Ok(Scratch { _folder: folder, is_ending })
}
