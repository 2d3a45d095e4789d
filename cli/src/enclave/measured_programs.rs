//! The programs of the paper for RISC-V, which the bench measures.

use super::program::Image;
use crate::runtime::checkout::{Checkout, Kind, Part};
use ameles_programs::{Instance, PROGRAMS, Program, Run, Start};
use anyhow::{Context, Result, anyhow, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The compiler that links them.
const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// The place of the solver in a checkout.
const PICOSAT: &str = ".test-env/picosat-riscv64/picosat";

/// The programs in a checkout: static ones for Linux.
const PART: Part = Part {
    name: "ameles-programs for RISC-V",
    command: "ameles enclave",
    kind: Kind::Program,
    package: "ameles-programs",
    target: "riscv64gc-unknown-linux-gnu",
    profile: "release",
};

/// The images of the programs, as far as they can be had.
#[derive(Debug)]
pub struct MeasuredPrograms {
    own: Option<Image>,
    picosat: Option<Image>,
    why_not: Vec<String>,
}

/// A program with its arguments and its input.
#[derive(Debug)]
pub struct ProgramStart<'a> {
    /// The program.
    pub image: &'a Image,
    /// Its arguments, its name the first of them.
    pub arguments: Vec<Vec<u8>>,
    /// Its input.
    pub input: Vec<u8>,
}

impl MeasuredPrograms {
    /// The programs that were named. In a checkout they are built where that is needed; the solver is where the
    /// repository's tests have built it. What is not named and cannot be had is left out.
    ///
    /// # Errors
    /// A program that was named is not there, or is for another processor; or none at all can be had.
    pub fn find(own: Option<&Path>, picosat: Option<&Path>) -> Result<Self> {
        let checkout = Checkout::find()?;
        let mut why_not = Vec::new();
        let picosat = match picosat {
            Some(named) => Some(Image::read(named)?),
            None => unless_left_out(solver_of(checkout.as_ref()), &mut why_not),
        };
        let own = match own {
            Some(named) => Some(Image::read(named)?),
            None => unless_left_out(built_from(checkout.as_ref()), &mut why_not),
        };
        ensure!(own.is_some() || picosat.is_some(), "no program can be measured: {}", why_not.join("; "));
        Ok(MeasuredPrograms { own, picosat, why_not })
    }

    /// The reasons for what is left out.
    pub fn why_not(&self) -> &[String] {
        &self.why_not
    }

    /// The names of the programs that are left out.
    pub fn left_out(&self) -> Vec<&'static str> {
        let is_there = |run: &Run| match run.start {
            Start::Own(_) => self.own.is_some(),
            Start::Picosat(_) => self.picosat.is_some(),
        };
        let left_out = |program: &&Program| !program.runs.iter().all(is_there);
        PROGRAMS.iter().filter(left_out).map(|program| program.name).collect()
    }

    /// A run of one of them, in its small size if it has one.
    ///
    /// # Errors
    /// The solver's formula cannot be made; the program is left out.
    pub fn start(&self, run: &Run, small: bool) -> Result<ProgramStart<'_>> {
        let missing = || anyhow!("{} is left out", run.name);
        let words = |words: &[&str]| words.iter().map(|word| word.as_bytes().to_vec()).collect();
        Ok(match run.start {
            Start::Own(name) => {
                let arguments =
                    if small { words(&[PART.package, "small", name]) } else { words(&[PART.package, name]) };
                ProgramStart { image: self.own.as_ref().ok_or_else(missing)?, arguments, input: Vec::new() }
            }
            Start::Picosat(instance) => {
                let image = self.picosat.as_ref().ok_or_else(missing)?;
                ProgramStart { image, arguments: words(&["picosat"]), input: formula(instance)? }
            }
        })
    }
}

/// Keeps what was found, or the reason why it was not.
fn unless_left_out<T>(found: Result<T>, why_not: &mut Vec<String>) -> Option<T> {
    found.inspect_err(|error| why_not.push(format!("{error:#}"))).ok()
}

fn solver_of(checkout: Option<&Checkout>) -> Result<Image> {
    let Some(checkout) = checkout else {
        bail!("this is no checkout with picosat for RISC-V: name it with --picosat")
    };
    let built = checkout.file(PICOSAT);
    ensure!(
        built.is_file(),
        "picosat for RISC-V is not there: `cargo xtask setup` builds it, or name it with --picosat"
    );
    Image::read(&built)
}

fn built_from(checkout: Option<&Checkout>) -> Result<Image> {
    let Some(checkout) = checkout else {
        bail!("this is no checkout to build ameles-programs for RISC-V from: name it with --programs")
    };
    Image::read(&build(checkout)?)
}

fn build(checkout: &Checkout) -> Result<PathBuf> {
    let asked = Command::new(COMPILER).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status();
    ensure!(
        asked.is_ok_and(|status| status.success()),
        "ameles-programs for RISC-V cannot be built: {COMPILER} is missing (Debian: gcc-riscv64-linux-gnu and libc6-dev-riscv64-cross)"
    );
    checkout.build(&PART)
}

fn formula(instance: Instance) -> Result<Vec<u8>> {
    let mut formula = Vec::new();
    instance.write_dimacs(&mut formula).context("the solver's formula")?;
    Ok(formula)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_had_is_left_out_by_name_and_why() {
        let mut why_not = Vec::new();
        assert_eq!(unless_left_out(Ok(1), &mut why_not), Some(1));
        let refused: Result<i32> = Err(anyhow!("no compiler")).context("picosat for RISC-V");
        assert_eq!(unless_left_out(refused, &mut why_not), None);
        assert_eq!(why_not, ["picosat for RISC-V: no compiler"]);
        let nothing = MeasuredPrograms { own: None, picosat: None, why_not };
        assert_eq!(nothing.left_out().len(), PROGRAMS.len());
        let solver = PROGRAMS.iter().flat_map(|program| program.runs);
        for run in solver {
            assert!(nothing.start(run, false).is_err_and(|error| error.to_string().contains(run.name)));
        }
    }
}
