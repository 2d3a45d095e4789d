//! The two instances before the real solver. Needs `picosat` (Debian's package of that name) on PATH.

use ameles_programs::picosat::Verdict;
use ameles_programs::{Instance, PROGRAMS, Run, Start, WrongAnswer};
use std::process::{Command, Output};

fn run_of(instance: Instance) -> Run {
    let mut runs = PROGRAMS.iter().flat_map(|program| program.runs);
    *runs.find(|run| run.start == Start::Picosat(instance)).expect("the list has both instances")
}

/// Solves the file that the binary writes for an instance.
fn solved(instance: Instance) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("instance.cnf");
    let written = Command::new(env!("CARGO_BIN_EXE_ameles-programs"))
        .args(["dimacs", instance.name()])
        .arg(&file)
        .status()
        .unwrap();
    assert!(written.success());
    Command::new("picosat").arg(&file).output().unwrap_or_else(|error| {
        panic!("picosat cannot be started ({error}): on Debian and Ubuntu, apt-get install picosat")
    })
}

/// Solves an instance, and checks the solver's output.
fn solve_and_check(instance: Instance) -> (Run, Output) {
    let (run, output) = (run_of(instance), solved(instance));
    assert_eq!(output.status.code(), Some(run.exit_code));
    assert_eq!(run.check(&output.stdout), Ok(()));
    (run, output)
}

/// A model as the solver prints it.
fn printed(model: &[bool]) -> String {
    let literals = (1i32..).zip(model).map(|(variable, &value)| if value { variable } else { -variable });
    literals.fold("s SATISFIABLE\nv".to_owned(), |line, literal| format!("{line} {literal}")) + " 0\n"
}

#[test]
fn picosat_satisfies_the_satisfiable_instance_and_its_model_holds() {
    let (run, output) = solve_and_check(Instance::Satisfiable);

    // With one value turned over some clause fails, for most variables; or the check would check nothing.
    let text = String::from_utf8(output.stdout).unwrap();
    let Ok(Verdict::Satisfiable(model)) = Verdict::read(&text) else { panic!("no model in {text}") };
    let formula = Instance::Satisfiable.formula();
    let others = (0..model.len()).map(|variable| {
        let mut other = model.clone();
        other[variable] = !other[variable];
        other
    });
    let broken: Vec<_> = others.filter(|other| !formula.is_satisfied_by(other)).collect();
    assert!(broken.len() > model.len() / 2, "{} of {}", broken.len(), model.len());
    assert_eq!(run.check(printed(&model).as_bytes()), Ok(()));
    assert_eq!(run.check(printed(&broken[0]).as_bytes()), Err(WrongAnswer::NoModel));
    assert_eq!(run.check(printed(&model[1..]).as_bytes()), Err(WrongAnswer::NoModel));
}

#[test]
fn picosat_refutes_the_unsatisfiable_instance() {
    solve_and_check(Instance::Unsatisfiable);
}
