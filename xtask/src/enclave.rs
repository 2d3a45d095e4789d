//! The enclave's runtime and the programs that run in it, built for RISC-V.

use crate::profile;
use crate::tool::{cargo, command, output, run, succeeds};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The target of the programs: Linux, linked statically.
const PROGRAMS: &str = "riscv64gc-unknown-linux-gnu";
/// The target of the runtime: no operating system.
const RUNTIME: &str = "riscv64gc-unknown-none-elf";
/// The compiler that links the programs, and builds those in C.
pub const COMPILER: &str = "riscv64-linux-gnu-gcc";
/// The compiler of programs without an operating system, whose C library is picolibc.
pub const BARE_COMPILER: &str = "riscv64-unknown-elf-gcc";

/// The targets that the toolchain needs.
pub const TARGETS: [&str; 2] = [PROGRAMS, RUNTIME];

/// Programs for RISC-V.
pub struct RiscvPrograms {
    /// The runtime.
    pub runtime: PathBuf,
    /// The paper's programs.
    pub programs: PathBuf,
    /// Programs and libraries of the distribution.
    pub distribution: Distribution,
}

/// Programs and libraries that are built once from the distribution's sources.
pub struct Distribution {
    /// The SAT solver.
    pub picosat: PathBuf,
    /// The shell of SQLite.
    pub sqlite: PathBuf,
    /// The shell.
    pub dash: PathBuf,
    /// The compiler whose C library is musl.
    pub musl: PathBuf,
}

/// Builds all programs, in the folder of the tests' programs for this machine: `ameles` looks there for its runtime.
pub fn build() -> Result<RiscvPrograms> {
    let folder = profile::output_folder()?;
    let build = |package: &str, profile: &str, target: &str| {
        let mut cargo = cargo();
        cargo.args(["build", "--locked", "--package", package, "--bin", package]);
        cargo.args(["--profile", profile, "--target", target, "--target-dir"]).arg(&folder);
        run(cargo.envs([profile::build_dir_variable()?]))
    };
    build("ameles-enclave", "enclave", RUNTIME)?;
    build("ameles-programs", "release", PROGRAMS)?;
    Ok(RiscvPrograms {
        runtime: folder.join(RUNTIME).join("enclave/ameles-enclave"),
        programs: folder.join(PROGRAMS).join("release/ameles-programs"),
        distribution: distribution()?,
    })
}

/// Builds the programs that the distribution has only as source.
fn distribution() -> Result<Distribution> {
    Ok(Distribution { picosat: picosat()?, sqlite: sqlite()?, dash: dash()?, musl: musl()? })
}

/// Returns the folder of a package that is built for RISC-V.
fn package_folder(package: &str) -> Result<PathBuf> {
    Ok(std::env::current_dir()?.join(crate::setup::TEST_ENV).join(format!("{package}-riscv64")))
}

/// Fetches and unpacks a package's source, and builds a program from it, unless the program exists. Returns the
/// program.
///
/// `build` gets the folder of the source and the path of the program.
fn build_once(
    package: &str,
    program: &str,
    build: impl FnOnce(&Path, &Path) -> Result<()>,
) -> Result<PathBuf> {
    let folder = package_folder(package)?;
    let program = folder.join(program);
    if !program.exists() {
        let archive = crate::setup::source(package, &folder)?;
        let source = folder.join("source");
        fs::create_dir_all(&source)?;
        let tar = ["--strip-components=1", "--extract", "--file"];
        run(command("tar").args(tar).arg(archive).arg("-C").arg(&source))?;
        build(&source, &program)?;
    }
    Ok(program)
}

pub fn picosat() -> Result<PathBuf> {
    build_once("picosat", "picosat", |source, program| {
        let config = format!(
            "#define PICOSAT_CC \"{COMPILER}\"\n#define PICOSAT_CFLAGS \"\"\n#define PICOSAT_VERSION \"\"\n"
        );
        fs::write(source.join("config.h"), config).context("writing config.h of picosat")?;
        run(command(COMPILER)
            .args(["-static", "-O3", "-DNDEBUG", "picosat.c", "version.c", "app.c", "main.c", "-o"])
            .arg(program)
            .current_dir(source))
    })
}

/// Builds the database's shell. Programs of this machine first merge its source into two files.
pub fn sqlite() -> Result<PathBuf> {
    build_once("sqlite3", "sqlite3", |source, program| {
        let merged = source.with_file_name("made");
        fs::create_dir_all(&merged)?;
        run(command("make")
            .args(["--silent", "--file", "../source/Makefile.linux-gcc", "TOP=../source"])
            .args(["sqlite3.c", "shell.c"])
            .current_dir(&merged))?;
        run(command(COMPILER)
            .args(["-static", "-O1", "-DNDEBUG", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"])
            .args(["sqlite3.c", "shell.c", "-lm", "-o"])
            .arg(program)
            .current_dir(&merged))
    })
}

/// Builds the shell. Programs of this machine generate its tables.
pub fn dash() -> Result<PathBuf> {
    build_once("dash", "source/src/dash", |source, _| {
        run(command("./configure")
            .args(["--quiet", "--host=riscv64-linux-gnu", "--enable-static", "CC_FOR_BUILD=cc", "CFLAGS=-O1"])
            .env("CC", COMPILER)
            .current_dir(source))?;
        run(command("make").arg("--silent").current_dir(source))
    })
}

/// Builds the C library musl, which includes a compiler that links it.
pub fn musl() -> Result<PathBuf> {
    build_once("musl", "installed/bin/musl-gcc", |source, _| {
        let prefix = format!("--prefix={}", source.with_file_name("installed").display());
        run(command("./configure")
            .args(["--target=riscv64", "--disable-shared", "CFLAGS=-O1", &prefix])
            .envs([("CC", COMPILER), ("CROSS_COMPILE", "riscv64-linux-gnu-")])
            .current_dir(source))?;
        // The wrapper comes last: if it exists, everything else does.
        let install = ["--silent", "--jobs=2", "install-headers", "install-libs"];
        run(command("make").args(install).current_dir(source))?;
        run(command("make").args(["--silent", "install-tools"]).current_dir(source))
    })
}

/// Returns true if the cross compiler has a C library to link statically.
pub fn has_static_library() -> bool {
    output(command(COMPILER).arg("-print-file-name=libc.a"))
        .is_ok_and(|path| Path::new(path.trim()).is_absolute())
}

/// Returns true if the compiler for machines without an operating system has its C library.
pub fn has_picolibc() -> bool {
    succeeds(command(BARE_COMPILER).args(["--specs=picolibc.specs", "-E", "-x", "c", "/dev/null"]))
}

/// Returns true if a package of the distribution is already built.
pub fn is_built(package: &str) -> bool {
    package_folder(package).is_ok_and(|folder| folder.join(package).exists())
}
