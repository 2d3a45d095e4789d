//! Errors in the configuration, with file, line and key, and a suggestion.

use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// An error in a configuration file.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file does not exist, or this user may not read it.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's message.
        error: std::io::Error,
    },
    /// The file has an invalid key or value.
    #[error("{}, line {line}: {what}", file.display())]
    Invalid {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The mistake, and its key.
        what: String,
    },
}

/// Parses `text` as TOML.
pub(super) fn deserialize<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, ConfigError> {
    let error_at = |key: Option<String>, error: &toml::de::Error| ConfigError::Invalid {
        file: file.to_path_buf(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        what: explain(key.as_deref(), error.message()),
    };
    let document = toml::Deserializer::parse(text).map_err(|error| error_at(None, &error))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let key = error.path().to_string();
        error_at(Some(key), error.inner())
    })
}

/// Returns the line of a byte, counted from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// Returns a one-line message with the key, from a message of serde or of the TOML parser.
fn explain(key: Option<&str>, message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let key = key.filter(|key| !key.is_empty() && *key != ".");
    if let Some((name, expected)) = unknown(&message, "unknown field ") {
        return format!("unknown key `{}`; {}", key.unwrap_or(name), suggestion(name, &expected, "keys"));
    }
    let what = match unknown(&message, "unknown variant ") {
        Some((name, expected)) => {
            format!("unknown value `{name}`; {}", suggestion(name, &expected, "values"))
        }
        None => message.clone(),
    };
    match key {
        Some(key) => format!("`{key}`: {what}"),
        None => what,
    }
}

/// Splits "unknown field `a`, expected one of `b`, `c`" into the name and the expected names.
fn unknown<'a>(message: &'a str, start: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut quoted = message.strip_prefix(start)?.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// Returns the most similar name as a suggestion, or all possible names.
fn suggestion(name: &str, expected: &[&str], what: &str) -> String {
    let nearest = expected
        .iter()
        .map(|candidate| (strsim::jaro_winkler(name, candidate), candidate))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((likeness, candidate)) if likeness > 0.75 => format!("did you mean `{candidate}`?"),
        Some(_) => format!("the {what} here are: {}", expected.join(", ")),
        None => format!("there are no {what} here"),
    }
}
