//! The two runs of a scheme.

use super::run::RealRun;
use crate::thesis::run_result::RunResult;

/// The runs of a scheme in real and in virtual time.
pub(super) struct RealAndVirtual {
    pub(super) scheme: &'static str,
    pub(super) real: RealRun,
    /// The run in virtual time.
    pub(super) simulated: RunResult,
}
