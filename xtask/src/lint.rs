//! Lints of code and documentation, run with each compilation of a crate of this workspace.
//!
//! `cargo clippy` and `cargo doc` would each check every dependency once more. Instead, cargo starts a copy of this
//! program, named [`NAME`], in place of the compiler. The copy runs clippy's compiler, which lints and compiles at
//! once. Then it runs rustdoc over the same source, with the dependencies that are already built. A crate that cargo
//! also compiles with its tests is linted in that compilation; its compilation without tests uses the plain compiler.

use crate::measure;
use crate::tool::{cargo, command, output};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name under which this program lints.
const NAME: &str = "lint";
/// The variable with the folder of clippy's compiler and of rustdoc.
const TOOLS: &str = "XTASK_LINT_TOOLS";
/// The arguments of `cargo clippy -- --deny warnings`, and the variable in which clippy's compiler expects them.
const DENY: (&str, &str) = ("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// Returns true if this program was started in place of the compiler.
pub fn is_started_to_lint() -> bool {
    measure::is_started_as(NAME)
}

/// Returns a cargo command that starts this program in place of the compiler, for crates of the workspace.
///
/// Every step that shares built files must use it: cargo would rebuild what the plain compiler has built.
pub fn linting_cargo(folder: &Path) -> Result<Command> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let root = output(command("rustc").args(["--print", "sysroot"]))?;
    let mut cargo = cargo();
    cargo.env("RUSTC_WORKSPACE_WRAPPER", measure::copy(folder, NAME)?);
    cargo.env(TOOLS, Path::new(root.trim()).join("bin"));
    // Also set for cargo, which rebuilds a crate when this value changes.
    cargo.envs([DENY]);
    Ok(cargo)
}

/// Compiles and lints what the arguments name. Returns the exit code.
pub fn run() -> Result<i32> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (compiler, arguments) = words.split_first().context("the first argument must be a compiler")?;
    let Some(unit) = Unit::parse(arguments) else {
        // Cargo asks the compiler for its version.
        return Ok(Command::new(compiler).args(arguments).status()?.code().unwrap_or(1));
    };
    let tools = PathBuf::from(std::env::var_os(TOOLS).with_context(|| format!("{TOOLS} is not set"))?);
    let mut compile = if unit.is_linted_as_test {
        Command::new(compiler)
    } else {
        let mut clippy = Command::new(tools.join("clippy-driver"));
        clippy.arg(compiler);
        clippy
    };
    let status = compile.args(arguments).args(["-D", "warnings"]).status()?;
    if !status.success() {
        return Ok(status.code().unwrap_or(1));
    }
    if !unit.is_test {
        let scratch = tempfile::tempdir()?;
        let mut rustdoc = Command::new(tools.join("rustdoc"));
        rustdoc.args(&unit.input_arguments).args(["--deny", "warnings", "--out-dir"]).arg(scratch.path());
        // `--check` reads everything and writes nothing. It is an unstable flag.
        rustdoc.args(["-Zunstable-options", "--check"]).env("RUSTC_BOOTSTRAP", "1");
        return Ok(i32::from(!rustdoc.status()?.success()));
    }
    Ok(0)
}

/// A compilation.
struct Unit {
    /// The arguments that name the input, without those that name the output.
    input_arguments: Vec<OsString>,
    is_test: bool,
    /// True for a library or a program: cargo also compiles it with its tests, and that compilation is linted.
    is_linted_as_test: bool,
}

impl Unit {
    fn parse(arguments: &[OsString]) -> Option<Self> {
        let source =
            arguments.iter().map(|word| word.to_string_lossy()).find(|word| word.ends_with(".rs"))?;
        let mut input_arguments = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            match &*text {
                // These flags have a value, which is left out too.
                "-C" | "--out-dir" | "-o" => drop(words.next()),
                // Cargo waits for one notice of each artifact, which the compiler has already sent.
                _ if text.starts_with("--json=") => {
                    input_arguments.push("--json=diagnostic-rendered-ansi".into())
                }
                _ if text.starts_with("--emit") || text.starts_with("-C") => {}
                _ => input_arguments.push(word.clone()),
            }
        }
        let has = |wanted: &[&str]| arguments.windows(wanted.len()).any(|window| window == wanted);
        let is_test = has(&["--test"]);
        // A `cdylib` may have no build with tests.
        let is_library_or_program = has(&["--crate-type", "lib"]) || has(&["--crate-type", "bin"]);
        let is_linted_as_test = !is_test && is_library_or_program && source.contains("src/");
        Some(Unit { input_arguments, is_test, is_linted_as_test })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn lints_are_given_the_arguments_of_the_input_and_not_those_of_the_output() {
        let line = "--crate-name a --edition=2024 src/lib.rs --json=artifacts --emit=link --out-dir out -C opt-level=1 \
                    -Copt-level=1 --extern b=libb.rlib -L dependency=deps --cfg test --test";
        let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let unit = Unit::parse(&arguments).unwrap();
        let input_arguments = unit.input_arguments.join(OsStr::new(" "));
        let expected = "--crate-name a --edition=2024 src/lib.rs --json=diagnostic-rendered-ansi --extern b=libb.rlib \
                    -L dependency=deps --cfg test --test";
        assert_eq!((input_arguments.to_str(), unit.is_test), (Some(expected), true));
    }

    #[test]
    fn a_crate_that_is_also_compiled_with_its_tests_is_linted_only_there() {
        let is_linted_as_test = |line: &str| {
            let arguments: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            Unit::parse(&arguments).unwrap().is_linted_as_test
        };
        assert!(is_linted_as_test("--crate-name a src/lib.rs --crate-type lib"));
        assert!(is_linted_as_test("--crate-name a crates/a/src/bin/b.rs --crate-type bin"));
        assert!(!is_linted_as_test("--crate-name a src/lib.rs --test"));
        assert!(!is_linted_as_test("--crate-name a examples/b.rs --crate-type bin"));
        assert!(!is_linted_as_test("--crate-name build_script_build build.rs --crate-type bin"));
        assert!(!is_linted_as_test("--crate-name a src/lib.rs --crate-type cdylib"));
    }

    #[test]
    fn a_compiler_that_is_asked_for_its_version_compiles_nothing() {
        assert!(Unit::parse(&["-vV".into()]).is_none());
    }
}
