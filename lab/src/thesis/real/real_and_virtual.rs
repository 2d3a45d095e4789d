//! The two runs of a scheme.

use super::run::RealRun;
use crate::thesis::run_result::RunResult;

/// A scheme, run both ways.
pub(super) struct RealAndVirtual {
    pub(super) scheme: &'static str,
    pub(super) real: RealRun,
    /// The same in virtual time.
    pub(super) simulated: RunResult,
}
