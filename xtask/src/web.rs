//! The visualizer's page with its module, put together in a folder for any file server, and the pictures of the book.

use crate::freestanding::{Toolchain, build_for_page};
use crate::setup;
use crate::tool;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the page.
const PAGE: &str = "web/page";
/// The folder that is made: mdBook takes it into the book.
pub const MADE: &str = "docs/visualizer";

/// Builds the module and copies it and the page into one folder. Returns the folder.
pub fn assemble(into: &Path) -> Result<PathBuf> {
    let toolchain = Toolchain::find().context(
        "no toolchain builds for WebAssembly: rustup target add wasm32-unknown-unknown riscv64gc-unknown-none-elf",
    )?;
    let module = build_for_page(toolchain, into)?;
    let made = Path::new(MADE);
    fs::create_dir_all(made).with_context(|| format!("making {MADE}"))?;
    for file in fs::read_dir(PAGE).with_context(|| format!("listing {PAGE}"))? {
        let file = file?;
        let to = made.join(file.file_name());
        fs::copy(file.path(), &to).with_context(|| format!("copying to {}", to.display()))?;
    }
    fs::copy(&module, made.join("ameles_web.wasm")).context("copying the module")?;
    Ok(made.canonicalize()?)
}

/// Draws the pictures of schemes in `docs/pictures`, with a page that was put together.
pub fn draw(page: &Path) -> Result<()> {
    setup::python()?;
    let python = setup::in_python("python");
    tool::run(
        tool::command(python)
            .arg("tests/web/pictures.py")
            .env("PYTHONPATH", "tests")
            .env("AMELES_TEST_PAGE", page),
    )
}
