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

/// The targets that the toolchain must have.
pub const TARGETS: [&str; 2] = [PROGRAMS, RUNTIME];

/// Programs for RISC-V.
pub struct Built {
    /// The runtime.
    pub runtime: PathBuf,
    /// The paper's programs.
    pub programs: PathBuf,
    /// Programs and libraries of the distribution.
    pub distribution: Distribution,
}

/// Programs and libraries that are built from the distribution's sources, each once.
pub struct Distribution {
    /// The solver.
    pub picosat: PathBuf,
    /// The shell of the database.
    pub sqlite: PathBuf,
    /// The shell.
    pub dash: PathBuf,
    /// The compiler whose C library is musl.
    pub musl: PathBuf,
}

/// Builds all of them, beside the tests' programs for this computer, so that `ameles` finds its runtime.
pub fn build() -> Result<Built> {
    let folder = profile::folder()?;
    let build = |package: &str, profile: &str, target: &str| {
        let mut cargo = cargo();
        cargo.args(["build", "--locked", "--package", package, "--bin", package]);
        cargo.args(["--profile", profile, "--target", target, "--target-dir"]).arg(&folder);
        run(cargo.envs([profile::parts()?]))
    };
    build("ameles-enclave", "enclave", RUNTIME)?;
    build("ameles-programs", "release", PROGRAMS)?;
    Ok(Built {
        runtime: folder.join(RUNTIME).join("enclave/ameles-enclave"),
        programs: folder.join(PROGRAMS).join("release/ameles-programs"),
        distribution: distribution()?,
    })
}

/// Builds what the distribution has as source only.
fn distribution() -> Result<Distribution> {
    Ok(Distribution { picosat: picosat()?, sqlite: sqlite()?, dash: dash()?, musl: musl()? })
}

/// The folder of a package that is built for RISC-V.
fn home(package: &str) -> Result<PathBuf> {
    Ok(std::env::current_dir()?.join(crate::setup::TEST_ENV).join(format!("{package}-riscv64")))
}

/// Fetches and unpacks a package's source, and says where it lies.
fn unpacked(package: &str, folder: &Path) -> Result<PathBuf> {
    let archive = crate::setup::source(package, folder)?;
    let source = folder.join("source");
    fs::create_dir_all(&source)?;
    run(command("tar")
        .args(["--strip-components=1", "--extract", "--file"])
        .arg(archive)
        .arg("-C")
        .arg(&source))?;
    Ok(source)
}

pub fn picosat() -> Result<PathBuf> {
    let folder = home("picosat")?;
    let built = folder.join("picosat");
    if built.exists() {
        return Ok(built);
    }
    let source = unpacked("picosat", &folder)?;
    let config = format!(
        "#define PICOSAT_CC \"{COMPILER}\"\n#define PICOSAT_CFLAGS \"\"\n#define PICOSAT_VERSION \"\"\n"
    );
    fs::write(source.join("config.h"), config).context("writing config.h of picosat")?;
    run(command(COMPILER)
        .args(["-static", "-O3", "-DNDEBUG", "picosat.c", "version.c", "app.c", "main.c", "-o"])
        .arg(&built)
        .current_dir(&source))?;
    Ok(built)
}

/// Builds the database's shell. Its source is made into two files first, by programs of this computer.
pub fn sqlite() -> Result<PathBuf> {
    let folder = home("sqlite3")?;
    let built = folder.join("sqlite3");
    if built.exists() {
        return Ok(built);
    }
    unpacked("sqlite3", &folder)?;
    let made = folder.join("made");
    fs::create_dir_all(&made)?;
    run(command("make")
        .args(["--silent", "--file", "../source/Makefile.linux-gcc", "TOP=../source"])
        .args(["sqlite3.c", "shell.c"])
        .current_dir(&made))?;
    run(command(COMPILER)
        .args(["-static", "-O1", "-DNDEBUG", "-DSQLITE_THREADSAFE=0", "-DSQLITE_OMIT_LOAD_EXTENSION"])
        .args(["sqlite3.c", "shell.c", "-lm", "-o"])
        .arg(&built)
        .current_dir(&made))?;
    Ok(built)
}

/// Builds the shell, whose tables are made by programs of this computer.
pub fn dash() -> Result<PathBuf> {
    let folder = home("dash")?;
    let built = folder.join("source/src/dash");
    if built.exists() {
        return Ok(built);
    }
    let source = unpacked("dash", &folder)?;
    run(command("./configure")
        .args(["--quiet", "--host=riscv64-linux-gnu", "--enable-static", "CC_FOR_BUILD=cc", "CFLAGS=-O1"])
        .env("CC", COMPILER)
        .current_dir(&source))?;
    run(command("make").arg("--silent").current_dir(&source))?;
    Ok(built)
}

/// Builds the C library musl, with which comes a compiler that links it.
pub fn musl() -> Result<PathBuf> {
    let folder = home("musl")?;
    let built = folder.join("installed/bin/musl-gcc");
    if built.exists() {
        return Ok(built);
    }
    let source = unpacked("musl", &folder)?;
    let prefix = format!("--prefix={}", folder.join("installed").display());
    run(command("./configure")
        .args(["--target=riscv64", "--disable-shared", "CFLAGS=-O1", &prefix])
        .envs([("CC", COMPILER), ("CROSS_COMPILE", "riscv64-linux-gnu-")])
        .current_dir(&source))?;
    // The wrapper comes last: when it is there, all is.
    run(command("make")
        .args(["--silent", "--jobs=2", "install-headers", "install-libs"])
        .current_dir(&source))?;
    run(command("make").args(["--silent", "install-tools"]).current_dir(&source))?;
    Ok(built)
}

/// Tells whether the cross compiler has a library to link statically.
pub fn has_static_library() -> bool {
    output(command(COMPILER).arg("-print-file-name=libc.a"))
        .is_ok_and(|path| Path::new(path.trim()).is_absolute())
}

/// Tells whether the compiler without an operating system has its C library.
pub fn has_picolibc() -> bool {
    succeeds(command(BARE_COMPILER).args(["--specs=picolibc.specs", "-E", "-x", "c", "/dev/null"]))
}

/// Tells whether a package of the distribution was built before.
pub fn is_built(package: &str) -> bool {
    home(package).is_ok_and(|folder| folder.join(package).exists())
}
