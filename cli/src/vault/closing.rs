//! The end of a vault, with the progress of its last checkpoint on the way to the store.

use crate::runtime::output::print_error;
use crate::runtime::progress::{self, LogLines};
use ameles_vault::{UploadFigures, Vault};
use std::io::IsTerminal;
use std::pin::pin;
use std::time::Duration;

/// The time between two looks at the progress.
const LOOK_EVERY: Duration = Duration::from_millis(200);
/// The size of the smallest checkpoint whose progress a log gets.
const LONG: u64 = 64 << 20;

/// Waits for `closing`, and shows how far the vault's checkpoint has come.
pub async fn close_with_progress<T>(vault: &Vault, closing: impl Future<Output = T>) -> T {
    let (bar, lines) = (progress::bytes("", 0), LogLines::start_now());
    let mut closing = pin!(closing);
    let closed = loop {
        tokio::select! {
            closed = &mut closing => break closed,
            () = tokio::time::sleep(LOOK_EVERY) => {}
        }
        let Some(UploadFigures { sent, of }) = vault.status().checkpoints.upload else { continue };
        let what = "shipping the last checkpoint";
        if std::io::stderr().is_terminal() {
            progress::update(&bar, what, sent, of);
        } else if let Some(line) = (of >= LONG).then(|| lines.next_line(what, sent, of)).flatten() {
            print_error!("{line}");
        }
    };
    bar.finish_and_clear();
    closed
}
