//! The guard of answers: a gateway that another one may have replaced must not answer.

use std::fmt;
use std::sync::Arc;

/// Decides, just before an answer or a piece of it is sent, whether it may be sent. Clones ask the same function.
#[derive(Clone)]
pub struct AnswerGuard(Arc<dyn Fn() -> bool + Send + Sync>);

impl AnswerGuard {
    /// Creates a guard that asks this function.
    pub fn new(may_answer: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        AnswerGuard(Arc::new(may_answer))
    }

    pub(crate) fn allows(&self) -> bool {
        (self.0)()
    }
}

impl Default for AnswerGuard {
    /// A guard that always allows answers.
    fn default() -> Self {
        AnswerGuard::new(|| true)
    }
}

impl fmt::Debug for AnswerGuard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerGuard").field(&self.allows()).finish()
    }
}
