//! The checkout of this program, and parts that are built from it for other machines on first use.

use crate::runtime::output::print_error;
use anyhow::{Context, Result, bail, ensure};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The manifest of the enclave's runtime in a checkout.
const SOURCE: &str = "paging/enclave/Cargo.toml";

/// A checkout, and the target folder of this program.
pub struct Checkout {
    root: PathBuf,
    target: PathBuf,
}

/// The kind of file that a part is built into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A program, named like its package.
    Program,
    /// A module of WebAssembly, named like its package.
    Module,
}

/// A part of the checkout that is built for another machine.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// The name of the part in messages.
    pub name: &'static str,
    /// The command that needs the part.
    pub command: &'static str,
    /// The kind of file.
    pub kind: Kind,
    /// The package of the part.
    pub package: &'static str,
    /// The target of the build.
    pub target: &'static str,
    /// The profile of the build, which also names its folder.
    pub profile: &'static str,
}

impl Part {
    /// Returns the name of the built file.
    pub fn file(&self) -> String {
        match self.kind {
            Kind::Program => self.package.to_owned(),
            Kind::Module => format!("{}.wasm", self.package.replace('-', "_")),
        }
    }
}

impl Checkout {
    /// Finds the checkout: cargo names it, or it contains the target folder. Returns `None` if there is none.
    ///
    /// # Errors
    /// The path of this program has no folder.
    pub fn find() -> Result<Option<Self>> {
        let program = std::env::current_exe()?;
        let folder = program.parent().context("the path of this program has no folder")?;
        let manifest_folder = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
        let checkout_above =
            |path: &Path| path.ancestors().find(|at| at.join(SOURCE).is_file()).map(Path::to_path_buf);
        let Some(root) =
            manifest_folder.as_deref().and_then(checkout_above).or_else(|| checkout_above(folder))
        else {
            return Ok(None);
        };
        let target = folder.parent().context("this program is not in a target folder")?.to_path_buf();
        Ok(Some(Checkout { root, target }))
    }

    /// Returns the path of a file in the checkout.
    pub fn file(&self, name: &str) -> PathBuf {
        self.root.join(name)
    }

    /// Builds a part if needed, and returns its path.
    ///
    /// # Errors
    /// The toolchain lacks the target; the build fails.
    pub fn build(&self, part: &Part) -> Result<PathBuf> {
        let Part { name, command, kind, package, target, profile } = *part;
        let file_path = self.target.join(target).join(profile).join(part.file());
        ensure!(
            has_target(target),
            "{name} cannot be built: the Rust toolchain lacks a target; add it with `rustup target add {target}`"
        );
        if !file_path.is_file() {
            print_error!("{command}: building {name} (only once)");
        }
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        for (variable, _) in std::env::vars_os() {
            // They describe another package: crates that read them would be rebuilt.
            let variable = variable.to_string_lossy();
            if variable.starts_with("CARGO_PKG_") || variable.starts_with("CARGO_MANIFEST_") {
                cargo.env_remove(&*variable);
            }
        }
        cargo.args(["rustc", "--quiet", "--locked", "--package", package]);
        match kind {
            Kind::Program => cargo.args(["--bin", package]),
            Kind::Module => cargo.args(["--lib", "--crate-type", "cdylib"]),
        };
        cargo.args(["--profile", profile, "--target", target, "--target-dir"]).arg(&self.target);
        // The configuration in the checkout has the flags of the target. Cargo's output must not mix with the
        // program's.
        let status = cargo.current_dir(&self.root).stdin(Stdio::null()).stdout(Stdio::null()).status();
        let status = status.with_context(|| format!("{name} cannot be built: cargo cannot be started"))?;
        if !status.success() {
            bail!("{name} cannot be built: cargo failed with {status}");
        }
        Ok(file_path)
    }
}

fn has_target(target: &str) -> bool {
    let output = Command::new("rustc").args(["--print", "sysroot"]).stderr(Stdio::null()).output();
    output.is_ok_and(|output| {
        let root = String::from_utf8_lossy(&output.stdout).into_owned();
        Path::new(root.trim()).join("lib/rustlib").join(target).join("lib").is_dir()
    })
}
