//! A fault path that was built, with what it takes.

use crate::error::Error;
use crate::fault::path::FaultPath;
use crate::linux::faults::Faults;
use crate::options::Options;
use lethe_core::oram::Oram;
use lethe_seal::pages::PageError;

/// A fault path, and the trusted memory of its scheme and of sealing, in bytes.
pub(crate) struct Built {
    pub(crate) faults: Box<dyn Faults>,
    pub(crate) trusted_bytes: usize,
    /// The threads that share the work of a fault.
    pub(crate) threads: usize,
}

/// The fault path over a scheme, with the trusted memory of that scheme and of sealing, in bytes.
pub(super) fn built<O: Oram<Error = PageError> + Send + 'static>(
    oram: O,
    trusted_bytes: usize,
    options: &Options,
) -> Result<(Box<dyn Faults>, usize), Error> {
    Ok((Box::new(FaultPath::new(oram, options.resident, options.policy)?), trusted_bytes))
}
