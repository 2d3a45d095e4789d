//! The check before each answer: a gateway that another one may have replaced must not answer.

use std::fmt;
use std::sync::Arc;

/// Decides, just before an answer or a piece of it is sent, whether it may be sent. Clones ask the same function.
#[derive(Clone)]
pub struct AnswerCheck(Arc<dyn Fn() -> bool + Send + Sync>);

impl AnswerCheck {
    /// Creates a check that asks this function.
    pub fn new(may_answer: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        AnswerCheck(Arc::new(may_answer))
    }

    pub(crate) fn allows(&self) -> bool {
        (self.0)()
    }
}

impl Default for AnswerCheck {
    /// A check that always allows answers.
    fn default() -> Self {
        AnswerCheck::new(|| true)
    }
}

impl fmt::Debug for AnswerCheck {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("AnswerCheck").field(&self.allows()).finish()
    }
}
