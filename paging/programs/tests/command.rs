//! The binary: one line a program, and an error that helps for everything else.

use ameles_programs::{Instance, PROGRAMS, Start};
use std::process::{Command, Output};

fn ameles_programs(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_ameles-programs")).args(arguments).output().unwrap()
}

fn error(arguments: &[&str]) -> String {
    let output = ameles_programs(arguments);
    assert_eq!(output.status.code(), Some(2), "{arguments:?}");
    assert!(output.stdout.is_empty(), "{arguments:?}");
    String::from_utf8(output.stderr).unwrap()
}

#[test]
fn a_program_prints_its_answer_and_nothing_else() {
    for program in PROGRAMS {
        for run in program.runs {
            let Start::Own(name) = run.start else { continue };
            let output = ameles_programs(&[name]);
            assert_eq!(output.status.code(), Some(run.exit_code), "{name}");
            assert_eq!(String::from_utf8(output.stdout).unwrap(), format!("{}\n", run.answer));
            assert!(output.stderr.is_empty(), "{name}");
        }
    }
}

#[test]
fn an_instance_goes_to_standard_output_when_no_file_is_named() {
    for instance in Instance::ALL {
        let mut expected = Vec::new();
        instance.write_dimacs(&mut expected).unwrap();
        assert!(expected.starts_with(b"p cnf "));
        assert_eq!(ameles_programs(&["dimacs", instance.name()]).stdout, expected);
    }
}

#[test]
fn the_list_names_all_six() {
    let listed = String::from_utf8(ameles_programs(&["list"]).stdout).unwrap();
    let names: Vec<&str> = listed.lines().filter_map(|line| line.split_whitespace().next()).collect();
    assert_eq!(names, ["random_writes", "sha_256", "avl_tree", "picosat", "lbm", "recommender"]);
}

#[test]
fn bad_input_is_told_what_to_do() {
    assert!(error(&[]).contains("Usage:"));
    assert!(error(&["lbm", "twice"]).contains("Usage:"));
    assert!(error(&["lmb"]).contains("there is no program `lmb`; `ameles-programs list` lists the programs"));
    assert!(error(&["picosat"]).contains("ameles-programs dimacs satisfiable FILE"));
    assert!(error(&["dimacs", "hard"]).contains("there is no instance `hard`: choose `satisfiable` or"));
    assert!(error(&["dimacs", "satisfiable", "/nowhere/file"]).contains("`/nowhere/file` cannot be written"));
}
