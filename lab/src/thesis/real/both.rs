//! The two runs of a scheme.

use super::run::Measured;
use crate::thesis::ran::Ran;

/// A scheme, run both ways.
pub(super) struct Both {
    pub(super) scheme: &'static str,
    pub(super) real: Measured,
    /// The same in virtual time.
    pub(super) computed: Ran,
}
