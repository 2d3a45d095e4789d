//! The right to answer: a gateway that another one may have displaced keeps its answers to itself.

use std::fmt;
use std::sync::Arc;

/// Tells, just before an answer or a piece of one goes out, whether it may. Clones ask the same.
#[derive(Clone)]
pub struct Right(Arc<dyn Fn() -> bool + Send + Sync>);

impl Right {
    /// The right that this function tells.
    pub fn of(may_answer: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        Right(Arc::new(may_answer))
    }

    pub(crate) fn is_there(&self) -> bool {
        (self.0)()
    }
}

impl Default for Right {
    /// A right that never ends.
    fn default() -> Self {
        Right::of(|| true)
    }
}

impl fmt::Debug for Right {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Right").field(&self.is_there()).finish()
    }
}
