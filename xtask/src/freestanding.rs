//! A toolchain for machines without an operating system, and what is built with it.

use crate::tool::{command, output, run};
use anyhow::{Context, Result};
use std::path::{Path, PathBuf};
use std::process::Command;

const RISCV: &str = "riscv64gc-unknown-none-elf";
const WASM: &str = "wasm32-unknown-unknown";

/// The beginning of the program for RISC-V.
const BEGIN: &str = "_start";

/// The compiler of the distribution with the source of its `core` and `alloc`, where rustup has no other target.
const DISTRIBUTION_CARGO: &str = "/usr/bin/cargo";
const DISTRIBUTION_RUSTC: &str = "/usr/bin/rustc";
const DISTRIBUTION_SOURCE: &str = "/usr/lib/rustlib/src/rust/library/core";
const DISTRIBUTION_LINKER: &str = "/usr/bin/rust-lld";

/// The release that the workspace asks for.
const MIN_RUST: (u32, u32) = (1, 95);

/// The toolchain that builds for both targets.
#[derive(Clone, Copy)]
pub enum Toolchain {
    /// The pinned one, to which both targets were added.
    Pinned,
    /// The distribution's, which builds `core` and `alloc` itself.
    Distribution,
}

impl Toolchain {
    /// The toolchain that this machine has.
    pub fn find() -> Option<Self> {
        if pinned_has(RISCV) && pinned_has(WASM) {
            return Some(Toolchain::Pinned);
        }
        let there = [DISTRIBUTION_CARGO, DISTRIBUTION_SOURCE, DISTRIBUTION_LINKER];
        let release = output(command(DISTRIBUTION_RUSTC).arg("--version").env_remove(LIBRARIES)).ok()?;
        let is_new = rust_release(&release).is_some_and(|release| release >= MIN_RUST);
        (is_new && there.iter().all(|path| Path::new(path).exists())).then_some(Toolchain::Distribution)
    }

    /// `cargo rustc` of the package that is a freestanding program.
    fn build(self, target: &str, into: &Path) -> Command {
        self.build_package("ameles-bare", "core,alloc", target, into)
    }

    /// `cargo rustc` of a package that needs these libraries of Rust's own.
    fn build_package(self, package: &str, libraries: &str, target: &str, into: &Path) -> Command {
        let mut cargo = match self {
            Toolchain::Pinned => crate::tool::cargo(),
            Toolchain::Distribution => command(DISTRIBUTION_CARGO),
        };
        cargo.args(["rustc", "--locked", "--release", "--package", package, "--target", target]);
        cargo.arg("--target-dir").arg(into);
        if let Toolchain::Distribution = self {
            cargo.arg(format!("-Zbuild-std={libraries}"));
            cargo.env("RUSTC_BOOTSTRAP", "1").env("RUSTC", DISTRIBUTION_RUSTC);
            cargo.env_remove(LIBRARIES);
        }
        // Debug information and optimisation between crates are not looked at.
        cargo.env("CARGO_PROFILE_RELEASE_DEBUG", "false").env("CARGO_PROFILE_RELEASE_LTO", "false");
        cargo
    }
}

/// The folder of rustup's libraries, as its cargo names it, which the distribution's compiler must not find.
const LIBRARIES: &str = "LD_LIBRARY_PATH";

/// Tells whether the pinned toolchain has the target's libraries.
pub fn pinned_has(target: &str) -> bool {
    output(command("rustc").args(["--print", "sysroot"]))
        .is_ok_and(|root| Path::new(root.trim()).join("lib/rustlib").join(target).join("lib").exists())
}

/// `rustc 1.96.0 (…)` is release (1, 96).
fn rust_release(version: &str) -> Option<(u32, u32)> {
    let mut parts = version.strip_prefix("rustc ")?.split('.');
    Some((parts.next()?.parse().ok()?, parts.next()?.parse().ok()?))
}

/// Links a program for 64-bit RISC-V, and says where it is: code that needs an operating system does not link.
pub fn link_for_riscv(toolchain: Toolchain, into: &Path) -> Result<PathBuf> {
    // Without a function to begin with, the linker would warn, and leave everything out.
    let begin = format!("link-arg=--entry={BEGIN}");
    let arguments = ["--bin", "ameles-bare", "--", "-C", &begin, "-C", "link-arg=--fatal-warnings"];
    run(toolchain.build(RISCV, into).args(arguments))?;
    Ok(into.join(RISCV).join("release/ameles-bare"))
}

/// Builds a WebAssembly module, and says where it is.
pub fn build_for_wasm(toolchain: Toolchain, into: &Path) -> Result<PathBuf> {
    run(toolchain.build(WASM, into).args(MODULE))?;
    built(into, "ameles_bare.wasm")
}

/// Builds the module of the visualizer's page, and says where it is.
pub fn build_for_page(toolchain: Toolchain, into: &Path) -> Result<PathBuf> {
    run(toolchain.build_package("ameles-web", "std,panic_abort", WASM, into).args(MODULE))?;
    built(into, "ameles_web.wasm")
}

/// The arguments that make a package a module.
const MODULE: [&str; 3] = ["--lib", "--crate-type", "cdylib"];

fn built(into: &Path, file: &str) -> Result<PathBuf> {
    let module = into.join(WASM).join("release").join(file);
    module.canonicalize().with_context(|| format!("{} was not built", module.display()))
}
