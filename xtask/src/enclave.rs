//! The enclave's runtime and the programs that run in it, built for RISC-V.

use crate::tool::{cargo, command, output, run};
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The target of the programs: Linux, linked statically.
const PROGRAMS: &str = "riscv64gc-unknown-linux-gnu";
/// The target of the runtime: no operating system.
const RUNTIME: &str = "riscv64gc-unknown-none-elf";
/// The compiler that links the programs, and builds those in C.
pub const COMPILER: &str = "riscv64-linux-gnu-gcc";

/// The targets that the toolchain must have.
pub const TARGETS: [&str; 2] = [PROGRAMS, RUNTIME];

/// Programs for RISC-V.
pub struct Built {
    /// The runtime.
    pub runtime: PathBuf,
    /// The paper's programs.
    pub programs: PathBuf,
    /// The solver.
    pub picosat: PathBuf,
}

/// Builds all of them. Their target folders lie beside `debug`, so that `lethe` finds its runtime.
pub fn build(target: &Path) -> Result<Built> {
    let build = |package: &str, profile: &str, target: &str| {
        let mut cargo = cargo();
        cargo.args(["build", "--locked", "--package", package, "--bin", package]);
        run(cargo.args(["--profile", profile, "--target", target]))
    };
    build("lethe-enclave", "enclave", RUNTIME)?;
    build("lethe-programs", "release", PROGRAMS)?;
    Ok(Built {
        runtime: target.join(RUNTIME).join("enclave/lethe-enclave"),
        programs: target.join(PROGRAMS).join("release/lethe-programs"),
        picosat: picosat()?,
    })
}

/// Builds the solver from the distribution's source, once.
pub fn picosat() -> Result<PathBuf> {
    let folder = std::env::current_dir()?.join(crate::setup::TEST_ENV).join("picosat-riscv64");
    let built = folder.join("picosat");
    if built.exists() {
        return Ok(built);
    }
    let archive = crate::setup::source("picosat", &folder)?;
    let source = folder.join("source");
    fs::create_dir_all(&source)?;
    run(command("tar")
        .args(["--strip-components=1", "--extract", "--file"])
        .arg(archive)
        .arg("-C")
        .arg(&source))?;
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

/// Tells whether the cross compiler has a library to link statically.
pub fn has_static_library() -> bool {
    output(command(COMPILER).arg("-print-file-name=libc.a"))
        .is_ok_and(|path| Path::new(path.trim()).is_absolute())
}
