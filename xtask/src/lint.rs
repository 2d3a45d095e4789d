//! Lints of code and documentation, with each compilation of a crate of this workspace.
//!
//! Clippy as a command of its own needs every dependency checked once more, and so does rustdoc. A copy of this program,
//! named [`NAME`], is what cargo starts in the compiler's place. It runs clippy's compiler, which lints and compiles at once; then
//! rustdoc over the same source with the same dependencies, which are there. What is compiled with its tests as well is linted
//! with them, and compiled by the plain compiler without.

use crate::measure;
use crate::tool::{cargo, command, output};
use anyhow::{Context, Result};
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The name under which this program lints.
const NAME: &str = "lint";
/// The variable that names the folder of clippy's compiler and of rustdoc.
const TOOLS: &str = "XTASK_LINT_TOOLS";
/// The arguments of `cargo clippy -- --deny warnings`, in the variable with which clippy's compiler is given them.
const DENY: (&str, &str) = ("CLIPPY_ARGS", "--deny__CLIPPY_HACKERY__warnings__CLIPPY_HACKERY__");

/// Tells whether this program was started in the compiler's place.
pub fn is_asked() -> bool {
    measure::is_called(NAME)
}

/// Cargo, with this program in the compiler's place for crates of the workspace. Steps that share what is built use it, all of
/// them: what the compiler alone has built is another thing to cargo.
pub fn linting_cargo(folder: &Path) -> Result<Command> {
    fs::create_dir_all(folder).with_context(|| format!("making {}", folder.display()))?;
    let root = output(command("rustc").args(["--print", "sysroot"]))?;
    let mut cargo = cargo();
    cargo.env("RUSTC_WORKSPACE_WRAPPER", measure::copy(folder, NAME)?);
    cargo.env(TOOLS, Path::new(root.trim()).join("bin"));
    // Set for cargo too, which builds anew what has seen another value.
    cargo.envs([DENY]);
    Ok(cargo)
}

/// Compiles what the arguments say, and lints it. Returns the exit code to end with.
pub fn run() -> Result<i32> {
    let words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let (compiler, arguments) = words.split_first().context("no compiler is named")?;
    let Some(unit) = Unit::of(arguments) else {
        // It was asked about itself.
        return Ok(Command::new(compiler).args(arguments).status()?.code().unwrap_or(1));
    };
    let tools = PathBuf::from(std::env::var_os(TOOLS).with_context(|| format!("{TOOLS} is not set"))?);
    let mut compile = if unit.comes_with_tests {
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
        rustdoc.args(&unit.shared).args(["--deny", "warnings", "--out-dir"]).arg(scratch.path());
        // It looks at everything and writes nothing: a flag of the compiler's own developers.
        rustdoc.args(["-Zunstable-options", "--check"]).env("RUSTC_BOOTSTRAP", "1");
        return Ok(i32::from(!rustdoc.status()?.success()));
    }
    Ok(0)
}

/// A compilation.
struct Unit {
    /// The arguments that say what is compiled, and nothing of what comes out.
    shared: Vec<OsString>,
    is_test: bool,
    /// It is a library or a program, which cargo compiles once more with its tests in it: all of it is linted there.
    comes_with_tests: bool,
}

impl Unit {
    fn of(arguments: &[OsString]) -> Option<Self> {
        let source =
            arguments.iter().map(|word| word.to_string_lossy()).find(|word| word.ends_with(".rs"))?;
        let mut shared = Vec::new();
        let mut words = arguments.iter();
        while let Some(word) = words.next() {
            let text = word.to_string_lossy();
            match &*text {
                // They have a value, which goes with them.
                "-C" | "--out-dir" | "-o" => drop(words.next()),
                // Cargo waits for one notice of each artifact, and has the compiler's.
                _ if text.starts_with("--json=") => shared.push("--json=diagnostic-rendered-ansi".into()),
                _ if text.starts_with("--emit") || text.starts_with("-C") => {}
                _ => shared.push(word.clone()),
            }
        }
        let has = |wanted: &[&str]| arguments.windows(wanted.len()).any(|words| words == wanted);
        let is_test = has(&["--test"]);
        // Of a `cdylib` there may be none with tests.
        let is_usual = has(&["--crate-type", "lib"]) || has(&["--crate-type", "bin"]);
        let comes_with_tests = !is_test && is_usual && source.contains("src/");
        Some(Unit { shared, is_test, comes_with_tests })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ffi::OsStr;

    #[test]
    fn lints_are_given_what_is_compiled_and_nothing_of_what_comes_out() {
        let line = "--crate-name a --edition=2024 src/lib.rs --json=artifacts --emit=link --out-dir out -C opt-level=1 \
                    -Copt-level=1 --extern b=libb.rlib -L dependency=deps --cfg test --test";
        let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
        let unit = Unit::of(&words).unwrap();
        let shared = unit.shared.join(OsStr::new(" "));
        let kept = "--crate-name a --edition=2024 src/lib.rs --json=diagnostic-rendered-ansi --extern b=libb.rlib \
                    -L dependency=deps --cfg test --test";
        assert_eq!((shared.to_str(), unit.is_test), (Some(kept), true));
    }

    #[test]
    fn what_is_compiled_with_its_tests_too_is_linted_there_and_all_else_where_it_is_compiled() {
        let comes_with_tests = |line: &str| {
            let words: Vec<OsString> = line.split_whitespace().map(OsString::from).collect();
            Unit::of(&words).unwrap().comes_with_tests
        };
        assert!(comes_with_tests("--crate-name a src/lib.rs --crate-type lib"));
        assert!(comes_with_tests("--crate-name a crates/a/src/bin/b.rs --crate-type bin"));
        assert!(!comes_with_tests("--crate-name a src/lib.rs --test"));
        assert!(!comes_with_tests("--crate-name a examples/b.rs --crate-type bin"));
        assert!(!comes_with_tests("--crate-name build_script_build build.rs --crate-type bin"));
        assert!(!comes_with_tests("--crate-name a src/lib.rs --crate-type cdylib"));
    }

    #[test]
    fn a_compiler_that_is_asked_about_itself_compiles_nothing() {
        assert!(Unit::of(&["-vV".into()]).is_none());
    }
}
