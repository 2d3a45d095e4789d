//! Where the library is that is preloaded into the program.

use anyhow::{Result, bail};
use std::path::{Path, PathBuf};

const NAME: &str = "liblethe_preload.so";

/// The library that was named, or the one beside this program.
pub(super) fn find(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        return Ok(named.canonicalize()?);
    }
    let program = std::env::current_exe()?;
    let beside = program.parent().into_iter().flat_map(|at| [at.join(NAME), at.join("../lib").join(NAME)]);
    for library in beside {
        if library.is_file() {
            return Ok(library.canonicalize()?);
        }
    }
    bail!(
        "{NAME} is not beside {}: build it with `cargo build --release -p lethe-preload`, or name it with --library",
        program.display()
    )
}
