//! The six programs as commands: where their binaries are, and the files that the solver reads.

use super::error::PagingError;
use ameles_programs::{Instance, Run, Start};
use std::fs::File;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The files that are needed to start the programs.
pub struct Programs {
    binary: PathBuf,
    formulas: TempDir,
}

impl Programs {
    /// The programs of the binary `ameles-programs`, and the solver, whose formulas are written to a temporary folder.
    ///
    /// # Errors
    /// The solver is missing; the folder cannot be written.
    pub fn new(binary: PathBuf) -> Result<Self, PagingError> {
        let mut solver = Command::new("picosat");
        solver.arg("--version").stdout(Stdio::null()).stderr(Stdio::null());
        solver.status().map_err(PagingError::Picosat)?;
        let formulas = tempfile::tempdir().map_err(PagingError::Folder)?;
        let programs = Programs { binary, formulas };
        for instance in Instance::ALL {
            let path = programs.formula(instance);
            File::create(&path)
                .and_then(|file| instance.write_dimacs(file))
                .map_err(|source| PagingError::Formula { path, source })?;
        }
        Ok(programs)
    }

    /// The command that starts a run, without its output.
    pub(super) fn command(&self, run: &Run) -> Command {
        let mut command = match run.start {
            Start::Own(name) => {
                let mut binary = Command::new(&self.binary);
                binary.arg(name);
                binary
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
