//! Libraries of simulated RTL: Verilator translates a configuration to C++, and the C++ compiler builds a library from
//! it. Builds are cached under a name derived from sources and configuration.

use crate::configuration::Configuration;
use crate::mutant::Mutant;
use std::collections::hash_map::DefaultHasher;
use std::fs::{self, File};
use std::hash::{Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The reason why there is no library.
#[derive(Debug, thiserror::Error)]
pub enum LibraryError {
    /// Verilator is not installed.
    #[error(
        "AMELES_VERILATOR is not set: run `cargo xtask hardware test`, which fetches Verilator and sets it"
    )]
    NoVerilator,
    /// A file cannot be read or written.
    #[error("{path}: {source}", path = path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: io::Error,
    },
    /// A tool failed.
    #[error("{tool} failed:\n{output}")]
    Tool {
        /// The tool.
        tool: &'static str,
        /// The end of its output.
        output: String,
    },
    /// A mutant names text that the source does not contain.
    #[error("{file} does not contain {text:?}, which the mutant replaces")]
    Mutant {
        /// The file.
        file: &'static str,
        /// The text.
        text: &'static str,
    },
}

/// A controller as a library, and the fault that a run of it has.
#[derive(Clone, Debug)]
pub struct Design {
    pub(crate) library: PathBuf,
    /// The number of the mutant; 0 for none.
    pub(crate) fault: u32,
}

/// The package with the choice among mutants, which only libraries of mutants have.
const FAULTS: (&str, &str) = (
    "ameles_fault_pkg.sv",
    "package ameles_fault_pkg;\n  int unsigned chosen /*verilator public_flat_rw*/;\nendpackage\n",
);

/// The headers that every model includes.
const HEADERS: &str = "#include \"verilated.h\"\n#include <cstring>\n";

/// Configures Verilator to build a library for a short run with the bench.
const SHORT_RUNS: &str = "short_runs.vlt";

/// The place of tools, sources and libraries.
pub struct DesignBuilder {
    verilator: PathBuf,
    hardware: PathBuf,
    output_folder: PathBuf,
    /// Libraries are for long runs: the C++ compiler optimises longer, and the libraries are faster.
    pub for_long_runs: bool,
    /// Libraries expose the inside of a backend ([`BackendSample`](crate::BackendSample)), which slows them down.
    pub samples_backend: bool,
}

impl DesignBuilder {
    /// The builder of this checkout. The variable `AMELES_VERILATOR` names the root of Verilator.
    ///
    /// # Errors
    /// [`LibraryError::NoVerilator`].
    pub fn new() -> Result<Self, LibraryError> {
        let verilator = std::env::var_os("AMELES_VERILATOR").ok_or(LibraryError::NoVerilator)?;
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let target = std::env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from);
        Ok(DesignBuilder {
            verilator: verilator.into(),
            hardware: root.join("hardware"),
            output_folder: target.join("hardware"),
            for_long_runs: false,
            samples_backend: false,
        })
    }

    /// The design of a configuration, whose library is built if it is not there yet. All mutants share one.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn design(
        &self,
        configuration: &Configuration,
        mutant: Option<&Mutant>,
    ) -> Result<Design, LibraryError> {
        let sources = self.sources()?;
        let sources = if mutant.is_some() { with_all_mutants(sources)? } else { sources };
        Ok(Design {
            library: self.library(&sources, configuration)?,
            fault: mutant.map_or(0, Mutant::number),
        })
    }

    /// The library of a configuration, built if it is not there yet.
    fn library(
        &self,
        sources: &[(String, String)],
        configuration: &Configuration,
    ) -> Result<PathBuf, LibraryError> {
        let mut hasher = DefaultHasher::new();
        (&sources, configuration.generics(), self.for_long_runs, self.samples_backend).hash(&mut hasher);
        let name = format!("bench-{:016x}", hasher.finish());
        let file = |path: &Path| {
            let path = path.to_path_buf();
            move |source| LibraryError::File { path, source }
        };
        fs::create_dir_all(&self.output_folder).map_err(file(&self.output_folder))?;
        let folder = self.output_folder.join(&name);
        let (library, busy) = (folder.with_extension("so"), folder.with_extension("lock"));
        // Another test that needs the same waits for it.
        let lock = File::create(&busy).map_err(file(&busy))?;
        lock.lock().map_err(file(&busy))?;
        if !library.exists() {
            // Existing files are of an interrupted build.
            if folder.exists() {
                fs::remove_dir_all(&folder).map_err(file(&folder))?;
            }
            self.build(sources, configuration, &folder)?;
            let built = folder.join("bench.so");
            fs::rename(&built, &library).map_err(file(&built))?;
            fs::remove_dir_all(&folder).map_err(file(&folder))?;
        }
        Ok(library)
    }

    /// The errors that Verilator has against a configuration.
    ///
    /// # Errors
    /// [`LibraryError`].
    pub fn errors(&self, configuration: &Configuration) -> Result<Vec<String>, LibraryError> {
        let folder = self.output_folder.join(format!("lint-{}", unique()));
        let file = |source| LibraryError::File { path: folder.clone(), source };
        let sources = self.sources()?;
        write_sources(&sources, &folder)?;
        let mut verilator = self.verilator(configuration, &sources, &folder);
        // A rejected value need not fit in width to its replacement.
        let output = verilator.args(["--lint-only", "-Wno-WIDTH"]).output().map_err(file)?;
        fs::remove_dir_all(&folder).map_err(file)?;
        let printed = String::from_utf8_lossy(&output.stderr).into_owned();
        Ok(printed.lines().filter(|line| line.starts_with("%Error-USERERROR")).map(String::from).collect())
    }

    /// Verilator for a configuration, in the folder of its sources.
    fn verilator(
        &self,
        configuration: &Configuration,
        sources: &[(String, String)],
        folder: &Path,
    ) -> Command {
        let mut verilator = Command::new(self.verilator.join("bin/verilator_bin"));
        verilator.env("VERILATOR_ROOT", &self.verilator).current_dir(folder);
        verilator.args(["-Wno-fatal", "-Werror-USERERROR", "--top-module", "ameles_bench"]);
        verilator.args(configuration.generics().iter().map(|(name, value)| format!("-G{name}={value}")));
        verilator.arg(format!("-GWatch={}", u32::from(self.samples_backend)));
        verilator.args(sources.iter().map(|(name, _)| name).filter(|name| name.ends_with(".sv")));
        verilator
    }

    /// All sources with their names, packages first.
    fn sources(&self) -> Result<Vec<(String, String)>, LibraryError> {
        let mut sources = Vec::new();
        for folder in ["rtl", "tests"] {
            let path = self.hardware.join(folder);
            let entries = fs::read_dir(&path).map_err(|source| LibraryError::File { path, source })?;
            for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
                let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
                let is_wanted = folder == "rtl" && name.ends_with(".sv")
                    || name.starts_with("ameles_bench.")
                    || name == SHORT_RUNS;
                if is_wanted {
                    let text =
                        fs::read_to_string(&path).map_err(|source| LibraryError::File { path, source })?;
                    sources.push((name, text));
                }
            }
        }
        sources.sort_by_key(|(name, _)| (!name.ends_with("_pkg.sv"), name.clone()));
        Ok(sources)
    }

    fn build(
        &self,
        sources: &[(String, String)],
        configuration: &Configuration,
        folder: &Path,
    ) -> Result<(), LibraryError> {
        write_sources(sources, folder)?;
        let has_faults = sources.iter().any(|(name, _)| name == FAULTS.0);
        let mut verilator = self.verilator(configuration, sources, folder);
        verilator.args(["--cc", "-O3", "--output-split", "0", "--prefix", "Vbench", "--Mdir", "made"]);
        if !self.for_long_runs {
            // Without these two, rounds of AES share one function, which compiles in half the time.
            verilator.args(["-fno-table", "-fno-dfg", SHORT_RUNS]);
        }
        run_tool("Verilator", &mut verilator)?;

        let file = |path: PathBuf| move |source| LibraryError::File { path, source };
        let output_folder = folder.join("made");
        let entries = fs::read_dir(&output_folder).map_err(file(output_folder))?;
        let generated = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        let generated: Vec<String> = generated.filter(|name| name.ends_with(".cpp")).collect();
        let [aes, rest] = split_for_compiler(&generated);
        let level_of_rest = if self.for_long_runs { "-O2" } else { "-Og" };
        for (name, level, source) in [("aes", "-O2", aes), ("rest", level_of_rest, rest)] {
            let path = folder.join(name).with_extension("cpp");
            fs::write(&path, source).map_err(file(path.clone()))?;
            let mut compiler = self.model_compiler(folder, level);
            compiler.arg("-include").arg(self.headers(level)?).args(["-Imade", "-c", "-o", name]).arg(path);
            if has_faults {
                compiler.arg("-DAMELES_FAULTS");
            }
            if configuration.aes_double {
                compiler.arg("-DAMELES_TWO_CLOCKS");
            }
            run_tool("the C++ compiler", &mut compiler)?;
        }
        let mut linker = self.compiler(folder);
        linker.args(["-shared", "-o", "bench.so", "aes", "rest"]).args(self.runtime()?).arg("-lpthread");
        run_tool("the C++ compiler", &mut linker)
    }

    /// The compiled runtime of Verilator, which is part of every library.
    fn runtime(&self) -> Result<Vec<PathBuf>, LibraryError> {
        let object = |name: &str| {
            self.build_once(self.output_folder.join(name).with_extension("o"), |building| {
                let mut compiler = self.compiler(&self.output_folder);
                compiler.args(["-O2", "-c", "-o"]).arg(building);
                compiler.arg(self.verilator.join("include").join(name).with_extension("cpp"));
                run_tool("the C++ compiler", &mut compiler)
            })
        };
        ["verilated", "verilated_threads"].into_iter().map(object).collect()
    }

    /// Verilator's headers, which the compiler has read before: reading them takes it as long as the rest of a small
    /// model.
    fn headers(&self, level: &str) -> Result<PathBuf, LibraryError> {
        let headers = self.build_once(self.output_folder.join(format!("headers{level}.h")), |building| {
            let file = |source| LibraryError::File { path: building.to_path_buf(), source };
            fs::write(building, HEADERS).map_err(file)
        })?;
        self.build_once(headers.with_extension("h.gch"), |building| {
            let mut compiler = self.model_compiler(&self.output_folder, level);
            run_tool("the C++ compiler", compiler.arg(&headers).arg("-o").arg(building))
        })?;
        Ok(headers)
    }

    /// A file that all libraries share, written under another name and renamed where it does not exist yet: others
    /// may write it too.
    fn build_once(
        &self,
        file: PathBuf,
        make: impl FnOnce(&Path) -> Result<(), LibraryError>,
    ) -> Result<PathBuf, LibraryError> {
        if !file.exists() {
            let building = self.output_folder.join(format!("shared-{}", unique()));
            make(&building)?;
            fs::rename(&building, &file).map_err(|source| LibraryError::File { path: building, source })?;
        }
        Ok(file)
    }

    /// The compiler of a model. A compiled header can be used only with the same options.
    fn model_compiler(&self, folder: &Path, level: &str) -> Command {
        let mut compiler = self.compiler(folder);
        compiler.args([level, "-fvisibility-inlines-hidden", "-Werror=invalid-pch"]);
        compiler
    }

    /// A compiler of C++ that finds what Verilator brings.
    fn compiler(&self, folder: &Path) -> Command {
        let include = self.verilator.join("include");
        let mut compiler = Command::new("c++");
        compiler.current_dir(folder).args(["-fPIC", "-std=c++17"]);
        compiler.arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
        compiler
    }
}

/// Sources that contain each mutant's expression and the right one; a run chooses.
fn with_all_mutants(mut sources: Vec<(String, String)>) -> Result<Vec<(String, String)>, LibraryError> {
    for mutant in Mutant::ALL.concat() {
        let changed = sources.iter_mut().find(|(name, _)| name == mutant.file);
        let (_, text) = changed
            .filter(|(_, text)| text.contains(mutant.from))
            .ok_or(LibraryError::Mutant { file: mutant.file, text: mutant.from })?;
        let (number, from, to) = (mutant.number(), mutant.from, mutant.to);
        let choice = format!("(ameles_fault_pkg::chosen == {number} ? ({to}) : ({from}))");
        *text = text.replacen(from, &choice, 1);
    }
    sources.insert(0, (FAULTS.0.to_owned(), FAULTS.1.to_owned()));
    Ok(sources)
}

/// Two sources for the C++ compiler, which then reads Verilator's headers only twice. The first is AES, which is most
/// of the work and always optimised. The second is the rest; its code that runs only when a model is created is not
/// optimised.
fn split_for_compiler(generated: &[String]) -> [String; 2] {
    let (slow, fast): (Vec<_>, Vec<_>) = generated.iter().partition(|name| name.ends_with("Slow.cpp"));
    let (aes, rest): (Vec<_>, Vec<_>) = fast.into_iter().partition(|name| name.contains("ameles_aes_"));
    let all = |names: Vec<&String>| {
        names.into_iter().map(|name| format!("#include \"{name}\"\n")).collect::<String>()
    };
    let (aes, rest, slow) = (all(aes), all(rest), all(slow));
    [aes, format!("#include \"ameles_bench.cpp\"\n{rest}#pragma GCC optimize(\"O0\")\n{slow}")]
}

/// Creates a folder and writes sources into it.
fn write_sources(sources: &[(String, String)], folder: &Path) -> Result<(), LibraryError> {
    let file = |source| LibraryError::File { path: folder.to_path_buf(), source };
    fs::create_dir_all(folder).map_err(file)?;
    sources.iter().try_for_each(|(name, text)| fs::write(folder.join(name), text)).map_err(file)
}

/// A name that no other thread of any process has.
fn unique() -> String {
    format!("{}-{:?}", std::process::id(), std::thread::current().id())
}

/// Runs a tool; on failure its output is in the error.
fn run_tool(tool: &'static str, command: &mut Command) -> Result<(), LibraryError> {
    let output = command.output().map_err(|error| LibraryError::Tool { tool, output: error.to_string() })?;
    if output.status.success() {
        return Ok(());
    }
    let printed = [output.stdout, output.stderr].concat();
    let printed = String::from_utf8_lossy(&printed);
    let last: Vec<&str> = printed.lines().rev().take(30).collect();
    let output = last.into_iter().rev().collect::<Vec<_>>().join("\n");
    Err(LibraryError::Tool { tool, output })
}
