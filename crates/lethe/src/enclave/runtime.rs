//! The enclave's runtime, which is a program for a machine without an operating system.

use crate::runtime::output::complain;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Its name.
const NAME: &str = "lethe-enclave";
/// The target that it is built for.
const TARGET: &str = "riscv64gc-unknown-none-elf";
/// The instructions that the emulator's processor has beside the target's: ciphers take fewer with them.
const FEATURES: &str = "target.riscv64gc-unknown-none-elf.rustflags=[\"-Ctarget-feature=+zba,+zbb,+zbs\"]";
/// The place of its source in a checkout.
const SOURCE: &str = "enclave/runtime/Cargo.toml";

/// The runtime's file.
#[derive(Clone, Debug)]
pub struct Runtime(PathBuf);

impl Runtime {
    /// The runtime that was named, or the one beside this program. In a checkout it is built where that is needed.
    ///
    /// # Errors
    /// There is none, and none can be built.
    pub fn find(named: Option<&Path>) -> Result<Self> {
        if let Some(named) = named {
            let found = named.canonicalize().with_context(|| format!("--runtime: {}", named.display()))?;
            return Ok(Runtime(found));
        }
        let program = std::env::current_exe()?;
        let folder = program.parent().context("this program lies in no folder")?;
        let beside = folder.join(NAME);
        if beside.is_file() {
            return Ok(Runtime(beside));
        }
        let Some(checkout) = checkout(folder) else {
            bail!(
                "the enclave's runtime is not beside {}, and this is no checkout to build it from: name it with --runtime",
                program.display()
            )
        };
        build(&checkout, folder.parent().context("this program lies in no target folder")?).map(Runtime)
    }

    /// Its path.
    pub fn path(&self) -> &Path {
        &self.0
    }
}

/// The checkout that this program was built from: cargo names it, or it holds the target folder.
fn checkout(folder: &Path) -> Option<PathBuf> {
    let named = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let above = |path: &Path| path.ancestors().find(|at| at.join(SOURCE).is_file()).map(Path::to_path_buf);
    named.as_deref().and_then(above).or_else(|| above(folder))
}

fn build(checkout: &Path, target: &Path) -> Result<PathBuf> {
    let built = target.join(TARGET).join("enclave").join(NAME);
    ensure!(
        has_target(),
        "the enclave's runtime cannot be built: the Rust toolchain lacks a target, which `rustup target add {TARGET}` adds"
    );
    if !built.is_file() {
        complain!("lethe enclave: building the runtime, once");
    }
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        // They tell of another package: what looks at them would be built again.
        let name = name.to_string_lossy();
        if name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_") {
            cargo.env_remove(&*name);
        }
    }
    cargo.args(["build", "--quiet", "--locked", "--package", NAME, "--bin", NAME, "--profile", "enclave"]);
    cargo.args(["--config", FEATURES, "--target", TARGET, "--target-dir"]).arg(target).current_dir(checkout);
    // Its output must not get among the program's.
    let status = cargo.stdin(Stdio::null()).stdout(Stdio::null()).status();
    let status = status.context("the enclave's runtime cannot be built: cargo cannot be started")?;
    ensure!(status.success(), "the enclave's runtime cannot be built: cargo ended with {status}");
    Ok(built)
}

fn has_target() -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let root = String::from_utf8_lossy(&output.stdout).into_owned();
        Path::new(root.trim()).join("lib/rustlib").join(TARGET).join("lib").is_dir()
    })
}
