//! The location of the library that is preloaded into the program.

use anyhow::{Result, bail};
use object::{Object, ObjectSymbol};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

const NAME: &str = "libameles_preload.so";

/// Returns the value of `LD_PRELOAD`: the library, before other libraries in the variable.
pub(super) fn ld_preload(library: &Path) -> OsString {
    let mut preloaded = library.as_os_str().to_owned();
    if let Some(others) = std::env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        preloaded.push(":");
        preloaded.push(others);
    }
    preloaded
}

/// Finds the library like [`find`], and first checks that a named file is this library.
pub(super) fn check(path: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = path.filter(|path| !is_preload_library(path)) {
        bail!("{} is not the library {NAME} of Ameles: a program would run unpaged with it", path.display());
    }
    find(path)
}

/// Returns the named library, or the one next to this program.
pub(super) fn find(path: Option<&Path>) -> Result<PathBuf> {
    let found = locate(path)?;
    // Spaces and colons separate libraries in LD_PRELOAD.
    if found.as_os_str().as_encoded_bytes().iter().any(|byte| b": ".contains(byte)) {
        bail!(
            "{} cannot be preloaded: its path has a space or a colon; copy it elsewhere and name it with --library",
            found.display()
        );
    }
    Ok(found)
}

fn locate(path: Option<&Path>) -> Result<PathBuf> {
    if let Some(path) = path {
        return Ok(path.canonicalize()?);
    }
    let program = std::env::current_exe()?;
    let candidates =
        program.parent().into_iter().flat_map(|at| [at.join(NAME), at.join("../lib").join(NAME)]);
    for library in candidates {
        if library.is_file() {
            return Ok(library.canonicalize()?);
        }
    }
    bail!(
        "{NAME} is not next to {}: build it with `cargo build --release -p ameles-preload`, or name it with --library",
        program.display()
    )
}

/// Returns true if the file exports the symbol that marks the library.
fn is_preload_library(library: &Path) -> bool {
    let Ok(bytes) = std::fs::read(library) else { return false };
    object::File::parse(&*bytes)
        .is_ok_and(|file| file.dynamic_symbols().any(|symbol| symbol.name() == Ok("AMELES_PRELOAD")))
}
