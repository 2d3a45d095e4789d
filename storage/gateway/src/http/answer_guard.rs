//! The right to answer: a gateway that another one may have displaced keeps its answers to itself.

use std::fmt;
use std::sync::Arc;

/// Tells, just before an answer or a piece of one goes out, whether it may. Clones ask the same.
#[derive(Clone)]
pub struct AnswerGuard(Arc<dyn Fn() -> bool + Send + Sync>);

impl AnswerGuard {
    /// The right that this function tells.
    pub fn new(may_answer: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        AnswerGuard(Arc::new(may_answer))
    }

    pub(crate) fn allows(&self) -> bool {
        (self.0)()
    }
}

impl Default for AnswerGuard {
    /// A right that never ends.
    fn default() -> Self {
        AnswerGuard::new(|| true)
    }
}

impl fmt::Debug for AnswerGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Right").field(&self.allows()).finish()
    }
}
