//! The enclave's runtime, which is a program for a machine without an operating system.

use super::checkout::{Checkout, Part};
use anyhow::{Context, Result, bail};
use std::path::{Path, PathBuf};

/// The runtime in a checkout.
const PART: Part = Part {
    name: "the enclave's runtime",
    package: "lethe-enclave",
    target: "riscv64gc-unknown-none-elf",
    profile: "enclave",
};

/// The runtime's file.
#[derive(Clone, Debug)]
pub struct Runtime(PathBuf);

impl Runtime {
    /// The runtime that was named, or the one beside this program. In a checkout it is built where that is needed.
    ///
    /// # Errors
    /// There is none, and none can be built.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        if let Some(named) = named {
            let found = named.canonicalize().with_context(|| format!("--runtime: {}", named.display()))?;
            return Ok(Runtime(found));
        }
        let program = std::env::current_exe()?;
        let beside = program.with_file_name(PART.package);
        if beside.is_file() {
            return Ok(Runtime(beside));
        }
        let Some(checkout) = Checkout::find()? else {
            bail!(
                "the enclave's runtime is not beside {}, and this is no checkout to build it from: name it with --runtime",
                program.display()
            )
        };
        checkout.build(&PART).map(Runtime)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}
