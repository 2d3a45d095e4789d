//! Traces of the user's, in place of the lab's programs.

use super::error::ProcessorError;
use super::options::Options;
use ameles_processor::trace::{self, FileError, Miss, TraceError};
use std::path::{Path, PathBuf};

/// A trace of the user's.
pub(super) struct UserTrace {
    /// The name of the file without its ending.
    pub(super) name: String,
    pub(super) misses: Vec<Miss>,
    /// The misses, from the first on, that only warm the cache.
    pub(super) warm_up: u64,
}

impl UserTrace {
    /// Reads a trace, as far as it runs.
    ///
    /// # Errors
    /// [`ProcessorError::File`].
    pub(super) fn read(options: &Options, path: &Path) -> Result<Self, ProcessorError> {
        let trace = trace::open(path, options.traces.format)?;
        let warm_up = trace.warm_up();
        let max = options.misses.saturating_add(warm_up as usize);
        let misses = trace.take(max).collect::<Result<Vec<Miss>, _>>()?;
        if misses.len() as u64 <= warm_up {
            return Err(FileError::Read { path: path.to_owned(), why: TraceError::NoMisses }.into());
        }
        // Two files with the same name are distinguished by their folders.
        let is_alone = |other: &PathBuf| other == path || name(other) != name(path);
        let is_unique = options.traces.paths.iter().all(is_alone);
        let name = if is_unique { name(path) } else { path.display().to_string() };
        Ok(UserTrace { name, misses, warm_up })
    }
}

/// The name of a file without its ending, and without that of its compression.
fn name(path: &Path) -> String {
    let is_compressed = path.extension().is_some_and(|ending| ending == "gz" || ending == "xz");
    let inner = if is_compressed { path.file_stem().map(Path::new) } else { Some(path) };
    let stem = inner.and_then(Path::file_stem);
    stem.map_or_else(|| "trace".to_owned(), |stem| stem.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trace_is_named_for_its_file_without_the_endings() {
        for (path, expected) in [
            ("a/mine.trace", "mine"),
            ("605.mcf_s-472B.champsimtrace.xz", "605.mcf_s-472B"),
            ("system.monitor.ptrc.gz", "system.monitor"),
            ("mine", "mine"),
            ("..", "trace"),
        ] {
            assert_eq!(name(Path::new(path)), expected);
        }
    }
}
