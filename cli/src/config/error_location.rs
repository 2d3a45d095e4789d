//! Errors in the configuration that say where: file, line and key, and what was probably meant.

use serde::de::DeserializeOwned;
use std::path::{Path, PathBuf};

/// The reason why a configuration file was refused.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The file is not there, or this user may not read it.
    #[error("{} cannot be read: {error}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// The system's message.
        error: std::io::Error,
    },
    /// The file holds a wrong key or value.
    #[error("{}, line {line}: {what}", file.display())]
    Wrong {
        /// The file.
        file: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// The mistake, and its key.
        what: String,
    },
}

/// Reads `text` as TOML.
pub(super) fn deserialize<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, ConfigError> {
    let wrong = |key: Option<String>, error: &toml::de::Error| ConfigError::Wrong {
        file: file.to_path_buf(),
        line: line_of(text, error.span().map_or(0, |span| span.start)),
        what: explain(key.as_deref(), error.message()),
    };
    let document = toml::Deserializer::parse(text).map_err(|error| wrong(None, &error))?;
    serde_path_to_error::deserialize(document).map_err(|error| {
        let key = error.path().to_string();
        wrong(Some(key), error.inner())
    })
}

/// The line of a byte, counted from 1.
fn line_of(text: &str, byte: usize) -> usize {
    let before = &text.as_bytes()[..byte.min(text.len())];
    1 + before.iter().filter(|&&byte| byte == b'\n').count()
}

/// A line that names the key, from a message of serde or of the TOML parser.
fn explain(key: Option<&str>, message: &str) -> String {
    let message = message.split_whitespace().collect::<Vec<_>>().join(" ");
    let key = key.filter(|key| !key.is_empty() && *key != ".");
    if let Some((written, expected)) = unknown(&message, "unknown field ") {
        return format!("unknown key `{}`; {}", key.unwrap_or(written), meant(written, &expected, "keys"));
    }
    let what = match unknown(&message, "unknown variant ") {
        Some((written, expected)) => {
            format!("unknown value `{written}`; {}", meant(written, &expected, "values"))
        }
        None => message.clone(),
    };
    match key {
        Some(key) => format!("`{key}`: {what}"),
        None => what,
    }
}

/// Takes "unknown field `a`, expected one of `b`, `c`" apart.
fn unknown<'a>(message: &'a str, start: &str) -> Option<(&'a str, Vec<&'a str>)> {
    let mut quoted = message.strip_prefix(start)?.split('`').skip(1).step_by(2);
    Some((quoted.next()?, quoted.collect()))
}

/// The name that was probably meant, or all that could have been.
fn meant(written: &str, expected: &[&str], what: &str) -> String {
    let nearest = expected
        .iter()
        .map(|candidate| (strsim::jaro_winkler(written, candidate), candidate))
        .max_by(|(a, _), (b, _)| a.total_cmp(b));
    match nearest {
        Some((likeness, candidate)) if likeness > 0.75 => format!("did you mean `{candidate}`?"),
        Some(_) => format!("the {what} here are: {}", expected.join(", ")),
        None => format!("there are no {what} here"),
    }
}
