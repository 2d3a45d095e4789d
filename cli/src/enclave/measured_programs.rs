//! The paper's programs for RISC-V, which the bench measures.

use super::program::Image;
use crate::runtime::checkout::{Checkout, Kind, Part};
use ameles_programs::{Instance, PROGRAMS, Program, Run, Start};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The compiler that links the programs.
const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// The path of the solver in a checkout.
const PICOSAT: &str = ".test-env/picosat-riscv64/picosat";

/// The programs of a checkout, built as static programs for Linux.
const PART: Part = Part {
    name: "ameles-programs for RISC-V",
    command: "ameles enclave",
    kind: Kind::Program,
    package: "ameles-programs",
    target: "riscv64gc-unknown-linux-gnu",
    profile: "release",
};

/// The images of the available programs.
#[derive(Debug)]
pub struct MeasuredPrograms {
    ameles_programs: Option<Image>,
    picosat: Option<Image>,
    missing_reasons: Vec<String>,
}

/// A program with its arguments and its input.
#[derive(Debug)]
pub struct ProgramStart<'a> {
    /// The program.
    pub image: &'a Image,
    /// The arguments of the program, beginning with its name.
    pub arguments: Vec<Vec<u8>>,
    /// The standard input of the program.
    pub input: Vec<u8>,
}

impl MeasuredPrograms {
    /// Finds the programs. Programs without a named file come from the checkout: they are built if needed, and the
    /// solver must have been built by `cargo xtask setup`. A program that is neither named nor available is skipped.
    ///
    /// # Errors
    /// A named program is missing or is for another processor; no program is available.
    pub fn find(ameles_programs: Option<&Path>, picosat: Option<&Path>) -> Result<Self> {
        let checkout = Checkout::find()?;
        let mut missing_reasons = Vec::new();
        let picosat = match picosat {
            Some(named) => Some(Image::read(named)?),
            None => or_reason(find_solver(checkout.as_ref()), &mut missing_reasons),
        };
        let ameles_programs = match ameles_programs {
            Some(named) => Some(Image::read(named)?),
            None => or_reason(find_programs(checkout.as_ref()), &mut missing_reasons),
        };
        ensure!(
            ameles_programs.is_some() || picosat.is_some(),
            "no program can be measured: {}",
            missing_reasons.join("; ")
        );
        Ok(MeasuredPrograms { ameles_programs, picosat, missing_reasons })
    }

    /// Returns the reasons for skipped programs.
    pub fn missing_reasons(&self) -> &[String] {
        &self.missing_reasons
    }

    /// Returns the names of the skipped programs.
    pub fn missing(&self) -> Vec<&'static str> {
        let is_available = |run: &Run| match run.start {
            Start::Own(_) => self.ameles_programs.is_some(),
            Start::Picosat(_) => self.picosat.is_some(),
        };
        let is_missing = |program: &&Program| !program.runs.iter().all(is_available);
        PROGRAMS.iter().filter(is_missing).map(|program| program.name).collect()
    }

    /// Returns the start of a run, in the small size if the program has one.
    ///
    /// # Errors
    /// The solver's formula cannot be generated; the program is skipped.
    pub fn start(&self, run: &Run, small: bool) -> Result<ProgramStart<'_>> {
        let missing = || anyhow!("{} is not available", run.name);
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Ok(match run.start {
            Start::Own(name) => {
                let arguments =
                    if small { words(&[PART.package, "small", name]) } else { words(&[PART.package, name]) };
                ProgramStart {
                    image: self.ameles_programs.as_ref().ok_or_else(missing)?,
                    arguments,
                    input: Vec::new(),
                }
            }
            Start::Picosat(instance) => {
                let image = self.picosat.as_ref().ok_or_else(missing)?;
                ProgramStart { image, arguments: words(&["picosat"]), input: formula(instance)? }
            }
        })
    }
}

/// Returns the program, or stores the reason why it is missing.
fn or_reason<T>(found: Result<T>, missing_reasons: &mut Vec<String>) -> Option<T> {
    found.inspect_err(|error| missing_reasons.push(format!("{error:#}"))).ok()
}

fn find_solver(checkout: Option<&Checkout>) -> Result<Image> {
    let Some(checkout) = checkout else {
        bail!("there is no checkout with picosat for RISC-V: name it with --picosat")
    };
    let built = checkout.file(PICOSAT);
    ensure!(
        built.is_file(),
        "picosat for RISC-V is missing: build it with `cargo xtask setup`, or name it with --picosat"
    );
    Image::read(&built)
}

fn find_programs(checkout: Option<&Checkout>) -> Result<Image> {
    let Some(checkout) = checkout else {
        bail!("there is no checkout to build ameles-programs for RISC-V from: name it with --programs")
    };
    Image::read(&build(checkout)?)
}

fn build(checkout: &Checkout) -> Result<PathBuf> {
    let compiler_status =
        Command::new(COMPILER).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        compiler_status.is_ok_and(|status| status.success()),
        "ameles-programs for RISC-V cannot be built: {COMPILER} is missing (Debian: gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross)"
    );
    checkout.build(&PART)
}

fn formula(instance: Instance) -> Result<Vec<u8>> {
    let mut formula = Vec::new();
    instance.write_dimacs(&mut formula).context("generating the solver's formula")?;
    Ok(formula)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_program_is_skipped_with_its_name_and_the_reason() {
        let mut missing_reasons = Vec::new();
        assert_eq!(or_reason(Ok(1), &mut missing_reasons), Some(1));
        let error: Result<i32> = Err(anyhow!("no compiler")).context("picosat for RISC-V");
        assert_eq!(or_reason(error, &mut missing_reasons), None);
        assert_eq!(missing_reasons, ["picosat for RISC-V: no compiler"]);
        let nothing = MeasuredPrograms { ameles_programs: None, picosat: None, missing_reasons };
        assert_eq!(nothing.missing().len(), PROGRAMS.len());
        let solver = PROGRAMS.iter().flat_map(|program| program.runs);
        for run in solver {
            assert!(nothing.start(run, false).is_err_and(|error| error.to_string().contains(run.name)));
        }
    }
}
