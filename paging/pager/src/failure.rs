//! Failures of faults: the effect on a thread whose page cannot be paged in.

use crate::fault::error::FaultError;
use ameles_seal::pages::PageError;
use core::fmt::{self, Write};
use rustix::io::Errno;
use std::sync::Arc;

/// A page could not be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{call} failed: {errno}")]
pub struct MoveError {
    /// The call that failed.
    pub call: &'static str,
    /// The system's reason.
    pub errno: Errno,
}

/// The reason why a fault of a region cannot be handled.
pub type PagingError = FaultError<PageError, MoveError>;

/// An access that can never be completed, and the reason.
#[derive(Debug)]
pub struct Failure {
    /// The accessed page, from 0. **Secret**: it is what the scheme hides.
    pub page: u64,
    /// The reason.
    pub error: PagingError,
}

/// The effect on the thread. It never continues with wrong data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FailureAction {
    /// The process ends, with one line on standard error.
    Abort,
    /// The thread stops forever. So does every other that accesses an absent page from then on.
    Park,
}

/// The function that decides what follows a failure.
///
/// The function is called where the fault is handled: on the handler thread, or in a signal handler on the thread that
/// faulted. It is called once for every access that fails. It must not access the region. In a signal handler it must
/// not allocate or lock either.
#[derive(Clone, Default)]
pub enum OnFailure {
    /// [`FailureAction::Abort`].
    #[default]
    Abort,
    /// A function.
    Call(Arc<dyn Fn(&Failure) -> FailureAction + Send + Sync>),
}

impl OnFailure {
    pub(crate) fn decide(&self, failure: &Failure) -> FailureAction {
        match self {
            OnFailure::Abort => FailureAction::Abort,
            OnFailure::Call(decide) => decide(failure),
        }
    }
}

impl fmt::Debug for OnFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            OnFailure::Abort => "Abort",
            OnFailure::Call(_) => "Call",
        })
    }
}

/// Ends the process with one line, which names the slot of untrusted memory but not the accessed page.
pub(crate) fn abort(failure: &Failure) -> ! {
    abort_with(&failure.error)
}

/// Ends the process with one line. It allocates nothing and takes no lock.
pub(crate) fn abort_with(why: &dyn fmt::Display) -> ! {
    write_stderr_line(&format_args!(
        "{why}; the process ends here, so that it does not continue with wrong data"
    ));
    std::process::abort()
}

/// Writes one line. It allocates nothing and takes no lock.
pub(crate) fn write_stderr_line(what: &dyn fmt::Display) {
    let mut line = StderrLine { bytes: [0; 512], len: 0 };
    // Longer text is cut off.
    let _ = writeln!(line, "ameles-pager: {what}");
    line.bytes[line.bytes.len() - 1] = b'\n';
    // There is no other place to report to if standard error is closed.
    let _ = rustix::io::write(rustix::stdio::stderr(), &line.bytes[..line.len]);
}

struct StderrLine {
    bytes: [u8; 512],
    len: usize,
}

impl Write for StderrLine {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let rest = &mut self.bytes[self.len..];
        let taken = text.len().min(rest.len());
        rest[..taken].copy_from_slice(&text.as_bytes()[..taken]);
        self.len += taken;
        Ok(())
    }
}
