//! The toolchain for machines without an operating system, and the programs and modules that it builds.

use crate::tool::{command, output, run};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const RISCV: &str = "riscv64gc-unknown-none-elf";
const WASM: &str = "wasm32-unknown-unknown";

/// The entry point of the program for RISC-V.
const ENTRY: &str = "_start";

/// The compiler of the distribution, with the source of `core` and `alloc`, for machines where rustup has no other
/// target.
const DISTRIBUTION_CARGO: &str = "/usr/bin/cargo";
const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";
const DISTRIBUTION_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/core";
const DISTRIBUTION_LINKER: &str = "/usr/bin/rust-lld";

/// The release that the workspace requires.
const MIN_RUST: (u32, u32) = (1, 95);

/// A toolchain that builds for both targets.
#[derive(Clone, Copy)]
pub enum Toolchain {
    /// The pinned toolchain, with both targets added.
    Pinned,
    /// The distribution's toolchain, which builds `core` and `alloc` itself.
    Distribution,
}

impl Toolchain {
    /// Returns a toolchain of this machine, or `None` if it has none.
    pub fn find() -> Option<Self> {
        if pinned_has(RISCV) && pinned_has(WASM) {
            return Some(Toolchain::Pinned);
        }
        let files = [DISTRIBUTION_CARGO, DISTRIBUTION_SOURCE, DISTRIBUTION_LINKER];
        let release = output(command(DISTRIBUTION_RUSTC).arg("--version").env_remove(LIBRARIES)).ok()?;
        let is_recent = rust_release(&release).is_some_and(|release| release >= MIN_RUST);
        (is_recent && files.iter().all(|path| Path::new(path).exists())).then_some(Toolchain::Distribution)
    }

    /// Returns `cargo rustc` for the package of the freestanding program.
    fn rustc_bare(self, target: &str, target_dir: &Path) -> Command {
        self.rustc_package("ameles-bare", "core,alloc", target, target_dir)
    }

    /// Returns `cargo rustc` for a package that needs these standard libraries.
    fn rustc_package(self, package: &str, libraries: &str, target: &str, target_dir: &Path) -> Command {
        let mut cargo = match self {
            Toolchain::Pinned => crate::tool::cargo(),
            Toolchain::Distribution => command(DISTRIBUTION_CARGO),
        };
        cargo.args(["rustc", "--locked", "--release", "--package", package, "--target", target]);
        cargo.arg("--target-dir").arg(target_dir);
        if let Toolchain::Distribution = self {
            cargo.arg(format!("-Zbuild-std={libraries}"));
            cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DISTRIBUTION_RUSTC);
            cargo.env_remove(LIBRARIES);
        }
        // Debug information and link-time optimisation are not tested.
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_LTO", "false");
        cargo
    }
}

/// The variable with the folder of rustup's libraries, which the distribution's compiler must not find.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Returns true if the pinned toolchain has the target's libraries.
pub fn pinned_has(target: &str) -> bool {
    output(command("rustc").args(["--print", "sysroot"]))
        .is_ok_and(|root| Path::new(root.trim()).join("lib/rustlib").join(target).join("lib").exists())
}

/// Parses a version: `rustc 1.96.0 (…)` is release (1, 96).
fn rust_release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("rustc ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Links a program for 64-bit RISC-V, and returns its path. Code that needs an operating system does not link.
pub fn link_for_riscv(toolchain: Toolchain, target_dir: &Path) -> Result<PathBuf> {
    // Without an entry point, the linker would warn and leave everything out.
    let entry = format!("link-arg=--entry={ENTRY}");
    let arguments = ["--bin", "ameles-bare", "--", "-C", &entry, "-C", "link-arg=--fatal-warnings"];
    run(toolchain.rustc_bare(RISCV, target_dir).args(arguments))?;
    Ok(target_dir.join(RISCV).join("release/ameles-bare"))
}

/// Builds a WebAssembly module, and returns its path.
pub fn build_for_wasm(toolchain: Toolchain, target_dir: &Path) -> Result<PathBuf> {
    run(toolchain.rustc_bare(WASM, target_dir).args(MODULE))?;
    built_module(target_dir, "ameles_bare.wasm")
}

/// Builds the module of the visualizer's page, and returns its path.
pub fn build_for_page(toolchain: Toolchain, target_dir: &Path) -> Result<PathBuf> {
    run(toolchain.rustc_package("ameles-web", "std,panic_abort", WASM, target_dir).args(MODULE))?;
    built_module(target_dir, "ameles_web.wasm")
}

/// The arguments that build a package as a module.
const MODULE: [&str; 3] = ["--lib", "--crate-type", "cdylib"];

fn built_module(target_dir: &Path, file: &str) -> Result<PathBuf> {
    let module = target_dir.join(WASM).join("release").join(file);
    module.canonicalize().with_context(|| format!("{} was not built", module.display()))
}
