//! The log, on standard error. The output of a command goes to standard output.

use crate::config::names::LOG;
use crate::config::{LogFormat, Origins, Settings};
use std::io::IsTerminal;
use tracing_subscriber::filter::{LevelFilter, Targets};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, Registry};

/// The error of setting up the log.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The filter is invalid.
    #[error(
        "{name} is `{level}`, which is not a level: write error, warn, info, debug, trace, off, or a filter such as \
         info,ameles_vault=debug"
    )]
    Level {
        /// The origin of the filter: a flag, or a key with its file.
        name: String,
        /// The given text.
        level: String,
    },
    /// The log is already set up.
    #[error("the log is already set up")]
    AlreadySet,
}

/// Sets up the log of this process.
///
/// # Errors
/// The level is invalid, or the log is already set up.
pub fn start(settings: &Settings) -> Result<(), LoggingError> {
    let filter = filter(&settings.log_level, &settings.origins)?;
    let lines = tracing_subscriber::fmt::layer()
        .with_writer(std::io::stderr)
        .with_ansi(std::io::stderr().is_terminal())
        .with_target(false)
        // A line that cannot be written (full disk, pipe without a reader) must not fail a request.
        .log_internal_errors(false);
    let lines: Box<dyn Layer<Registry> + Send + Sync> = match settings.log_format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(filter))
        .try_init()
        .map_err(|_| LoggingError::AlreadySet)
}

fn filter(level: &str, origins: &Origins) -> Result<Targets, LoggingError> {
    let invalid = || LoggingError::Level { name: origins.name(LOG), level: level.to_owned() };
    if level.contains(['=', ',']) {
        return level.parse().map_err(|_| invalid());
    }
    // A single unknown word would count as a module name and silence everything else.
    let own_level: LevelFilter = level.parse().map_err(|_| invalid())?;
    if level.is_empty() {
        return Err(invalid());
    }
    // Below warnings, libraries only log their connections.
    let library_level = own_level.min(LevelFilter::WARN);
    Ok(Targets::new().with_default(library_level).with_target("ameles", own_level))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn levels_and_filters_are_taken() {
        for level in ["error", "INFO", "off", "info,ameles_vault=debug"] {
            assert!(filter(level, &Origins::default()).is_ok(), "{level}");
        }
    }

    #[test]
    fn a_level_is_that_of_our_own_crates() {
        let filter = filter("debug", &Origins::default()).unwrap().to_string();
        assert!(filter.contains("ameles=debug") && filter.contains("warn"), "{filter}");
    }

    #[test]
    fn an_unknown_level_is_refused() {
        for level in ["loud", "", "info,ameles_vault=loud"] {
            let error = filter(level, &Origins::default()).unwrap_err().to_string();
            assert!(error.starts_with(&format!("--log is `{level}`")), "{error}");
        }
    }
}
