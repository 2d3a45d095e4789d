//! The two runs of a scheme.

use super::run::Measured;
use crate::thesis::ran::Ran;

/// A scheme, run both ways.
pub(super) struct Both {
    pub(super) scheme: &'static str,
    pub(super) real: Measured,
    /// The same in virtual time; none for the whole gateway.
    pub(super) computed: Option<Ran>,
}
