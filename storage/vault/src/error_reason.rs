//! The text of an error, with the error that caused it.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::sync::Arc;

/// The reason of an error as text, and its source if there is one. Clones share the source.
#[derive(Clone, Debug)]
pub struct ErrorReason {
    words: Cow<'static, str>,
    below: Option<Arc<dyn Error + Send + Sync>>,
}

impl ErrorReason {
    /// The text of the source.
    pub(crate) fn of(below: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        let below = Arc::from(below.into());
        ErrorReason { words: Cow::Owned(format!("{below}")), below: Some(below) }
    }

    /// Prefixes the text with its subject.
    pub(crate) fn about(self, what: impl fmt::Display) -> Self {
        ErrorReason { words: Cow::Owned(format!("{what}: {}", self.words)), ..self }
    }

    /// Appends a remark.
    pub(crate) fn followed_by(self, what: &str) -> Self {
        ErrorReason { words: Cow::Owned(format!("{}: {what}", self.words)), ..self }
    }
}

impl fmt::Display for ErrorReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words)
    }
}

impl Error for ErrorReason {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.below.as_deref().map(|below| below as &(dyn Error + 'static))
    }
}

impl From<String> for ErrorReason {
    fn from(words: String) -> Self {
        ErrorReason { words: Cow::Owned(words), below: None }
    }
}

impl From<&'static str> for ErrorReason {
    fn from(words: &'static str) -> Self {
        ErrorReason { words: Cow::Borrowed(words), below: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::VaultError;
    use ameles_core::store::UntrustedError;

    #[test]
    fn an_error_keeps_the_errors_below_it_and_so_do_its_clones() {
        let below = std::io::Error::other("no route");
        let error = VaultError::from(UntrustedError::Unavailable(below.into())).clone();
        let mut chain =
            std::iter::successors(error.source(), |error: &&(dyn Error + 'static)| (*error).source());
        assert!(chain.any(|below| below.is::<std::io::Error>()), "{error:?}");
        assert!(error.to_string().contains("no route"));
    }
}
