//! Runs one of the programs and prints its answer, or writes an instance for the solver.

use ameles_programs::{Instance, PROGRAMS, Start};
use std::fs::File;
use std::io::{self, Write};
use std::process::ExitCode;
use thiserror::Error;

const USAGE: &str = "\
Usage:
  ameles-programs NAME                   run a program: one line, its answer
  ameles-programs small NAME             the same in a fraction of a second, where every page that moves is dear
  ameles-programs large NAME             the same with much memory, to record traces of
  ameles-programs dimacs INSTANCE [FILE] write `satisfiable` or `unsatisfiable` for the solver picosat
  ameles-programs list                   name the programs";

fn main() -> ExitCode {
    let arguments: Vec<String> =
        std::env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match arguments[..] {
        ["-h" | "--help"] => print(USAGE),
        ["list"] => list(),
        ["dimacs", instance] => dimacs(instance, None),
        ["dimacs", instance, file] => dimacs(instance, Some(file)),
        ["small", name] => sized(name, ameles_programs::run_small),
        ["large", name] => sized(name, ameles_programs::run_large),
        [name] => run(name),
        _ => Err(Error::Usage),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "ameles-programs: {error}");
            ExitCode::from(if matches!(error, Error::WrongAnswer(_)) { 1 } else { 2 })
        }
    }
}

#[derive(Debug, Error)]
enum Error {
    #[error("give the name of one program\n{USAGE}")]
    Usage,
    #[error("there is no program `{0}`; `ameles-programs list` lists the programs")]
    NoSuchProgram(String),
    #[error(
        "the solver is a separate program: write a file with `ameles-programs dimacs satisfiable FILE` and run \
         `picosat FILE` (Debian's package picosat)"
    )]
    TheSolver,
    #[error("there is no instance `{0}`: choose `satisfiable` or `unsatisfiable`")]
    NoSuchInstance(String),
    #[error("`{path}` cannot be written: {source}")]
    File { path: String, source: io::Error },
    #[error("standard output cannot be written: {0}")]
    Output(io::Error),
    #[error(transparent)]
    WrongAnswer(#[from] ameles_programs::WrongAnswer),
}

fn run(name: &str) -> Result<(), Error> {
    let found = PROGRAMS.iter().find(|program| program.name == name);
    let program = found.ok_or_else(|| Error::NoSuchProgram(name.into()))?;
    let [run] = program.runs else { return Err(Error::TheSolver) };
    let Start::Own(name) = run.start else { return Err(Error::TheSolver) };
    let answer = ameles_programs::run(name).ok_or_else(|| Error::NoSuchProgram(name.into()))?;
    print(&answer)?;
    Ok(run.check(answer.as_bytes())?)
}

fn sized(name: &str, run: impl Fn(&str) -> Option<String>) -> Result<(), Error> {
    let answer = run(name).ok_or_else(|| Error::NoSuchProgram(name.into()))?;
    print(&answer)
}

fn dimacs(instance: &str, file: Option<&str>) -> Result<(), Error> {
    let instance = Instance::ALL
        .into_iter()
        .find(|known| known.name() == instance)
        .ok_or_else(|| Error::NoSuchInstance(instance.into()))?;
    let Some(path) = file else {
        return instance.write_dimacs(io::stdout()).map_err(Error::Output);
    };
    File::create(path)
        .and_then(|file| instance.write_dimacs(file))
        .map_err(|source| Error::File { path: path.into(), source })
}

fn list() -> Result<(), Error> {
    PROGRAMS.iter().try_for_each(|program| print(&format!("{:<14} {}", program.name, program.stands_for)))
}

fn print(line: &str) -> Result<(), Error> {
    writeln!(io::stdout(), "{line}").map_err(Error::Output)
}
