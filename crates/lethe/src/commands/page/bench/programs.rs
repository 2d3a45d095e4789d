//! The six programs as commands: where their binaries are, and the files that the solver reads.

use anyhow::{Context, Result, bail};
use lethe_programs::{Instance, Run, Start};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

const NAME: &str = "lethe-programs";

/// The files that are needed to start any of them.
pub(super) struct Programs {
    own: PathBuf,
    formulas: TempDir,
}

impl Programs {
    /// Finds the binaries, and writes the solver's formulas to a temporary folder.
    ///
    /// # Errors
    /// A binary is not there; the folder cannot be written.
    pub(super) fn new(named: Option<&Path>) -> Result<Self> {
        let own = find(named)?;
        let mut asked = Command::new("picosat");
        asked.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        asked.status().context("picosat cannot be started: install it (Debian's package picosat)")?;
        let formulas = tempfile::tempdir().context("a temporary folder for the solver's formulas")?;
        let programs = Programs { own, formulas };
        for instance in Instance::ALL {
            let path = programs.formula(instance);
            File::create(&path)
                .and_then(|file| instance.write_dimacs(file))
                .with_context(|| format!("{} cannot be written", path.display()))?;
        }
        Ok(programs)
    }

    /// The command that starts a run, without its output.
    pub(super) fn command(&self, run: &Run) -> Command {
        let mut command = match run.start {
            Start::Own(name) => {
                let mut own = Command::new(&self.own);
                own.arg(name);
                own
            }
            Start::Picosat(instance) => {
                let mut solver = Command::new("picosat");
                solver.arg(self.formula(instance));
                solver
            }
        };
        command.stdin(Stdio::null()).stdout(Stdio::null());
        command
    }

    fn formula(&self, instance: Instance) -> PathBuf {
        self.formulas.path().join(format!("{}.cnf", instance.name()))
    }
}

/// The binary that was named, or the one beside this program.
fn find(named: Option<&Path>) -> Result<PathBuf> {
    if let Some(named) = named {
        return named.canonicalize().with_context(|| format!("--programs: {}", named.display()));
    }
    let program = std::env::current_exe()?;
    let Some(beside) = program.parent().map(|at| at.join(NAME)).filter(|at| at.is_file()) else {
        bail!(
            "{NAME} is not beside {}: build it with `cargo build --release -p lethe-programs`, or name it with --programs",
            program.display()
        )
    };
    Ok(beside)
}
