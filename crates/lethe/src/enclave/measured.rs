//! The programs of the paper for RISC-V, which the bench measures.

use super::program::Image;
use crate::runtime::checkout::{Checkout, Kind, Part};
use anyhow::{Context, Result, bail, ensure};
use lethe_programs::{Instance, Run, Start};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The compiler that links them.
const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// The place of the solver in a checkout.
const PICOSAT: &str = ".test-env/picosat-riscv64/picosat";

/// The programs in a checkout: static ones for Linux.
const PART: Part = Part {
    name: "lethe-programs for RISC-V",
    command: "lethe enclave",
    kind: Kind::Program,
    package: "lethe-programs",
    target: "riscv64gc-unknown-linux-gnu",
    profile: "release",
};

/// The images of the programs.
#[derive(Debug)]
pub struct MeasuredPrograms {
    own: Image,
    picosat: Image,
}

/// A program with its arguments and its input.
#[derive(Debug)]
pub struct Started<'a> {
    /// The program.
    pub image: &'a Image,
    /// Its arguments, its name the first of them.
    pub arguments: Vec<Vec<u8>>,
    /// Its input.
    pub input: Vec<u8>,
}

impl MeasuredPrograms {
    /// The programs that were named. In a checkout they are built where that is needed; the solver is where the
    /// repository's tests have built it.
    ///
    /// # Errors
    /// They are not there and cannot be built, or are for another processor.
    pub fn find(own: Option<&Path>, picosat: Option<&Path>) -> Result<Self> {
        let checkout = Checkout::find()?;
        let picosat = match (picosat, &checkout) {
            (Some(named), _) => named.to_path_buf(),
            (None, Some(checkout)) => {
                let built = checkout.file(PICOSAT);
                ensure!(
                    built.is_file(),
                    "picosat for RISC-V is not there: `cargo xtask setup` builds it, or name it with --picosat"
                );
                built
            }
            (None, None) => bail!("this is no checkout with picosat for RISC-V: name it with --picosat"),
        };
        let own = match (own, &checkout) {
            (Some(named), _) => named.to_path_buf(),
            (None, Some(checkout)) => build(checkout)?,
            (None, None) => {
                bail!("this is no checkout to build lethe-programs from: name it with --programs")
            }
        };
        Ok(MeasuredPrograms { own: Image::read(&own)?, picosat: Image::read(&picosat)? })
    }

    /// A run of one of them, in its small size if it has one.
    ///
    /// # Errors
    /// The solver's formula cannot be made.
    pub fn start(&self, run: &Run, small: bool) -> Result<Started<'_>> {
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Ok(match run.start {
            Start::Own(name) => {
                let arguments =
                    if small { words(&[PART.package, "small", name]) } else { words(&[PART.package, name]) };
                Started { image: &self.own, arguments, input: Vec::new() }
            }
            Start::Picosat(instance) => {
                Started { image: &self.picosat, arguments: words(&["picosat"]), input: formula(instance)? }
            }
        })
    }
}

fn build(checkout: &Checkout) -> Result<PathBuf> {
    let asked = Command::new(COMPILER).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        asked.is_ok_and(|status| status.success()),
        "lethe-programs for RISC-V cannot be built: {COMPILER} is missing (Debian: gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross)"
    );
    checkout.build(&PART)
}

fn formula(instance: Instance) -> Result<Vec<u8>> {
    let mut formula = Vec::new();
    instance.write_dimacs(&mut formula).context("the solver's formula")?;
    Ok(formula)
}
