//! The visualizer's page with its module, in one folder for any file server, and the pictures of the book.

use crate::freestanding::{Toolchain, build_for_page};
use crate::setup;
use crate::tool;
use anyhow::{Context, Result};
use std::fs;
use std::path::{Path, PathBuf};

/// The files of the page.
const PAGE: &str = "web/page";
/// The folder of the complete page, which mdBook includes in the book.
pub const OUTPUT: &str = "docs/visualizer";

/// Builds the module, and copies it and the page into [`OUTPUT`]. Returns that folder.
pub fn assemble(target_dir: &Path) -> Result<PathBuf> {
    let toolchain = Toolchain::find().context(
        "no toolchain builds for WebAssembly; run: rustup target add wasm32-unknown-unknown riscv64gc-unknown-none-elf",
    )?;
    let module = build_for_page(toolchain, target_dir)?;
    let output = Path::new(OUTPUT);
    fs::create_dir_all(output).with_context(|| format!("creating {OUTPUT}"))?;
    for file in fs::read_dir(PAGE).with_context(|| format!("listing {PAGE}"))? {
        let file = file?;
        let target = output.join(file.file_name());
        fs::copy(file.path(), &target).with_context(|| format!("copying to {}", target.display()))?;
    }
    fs::copy(&module, output.join("ameles_web.wasm")).context("copying the module")?;
    Ok(output.canonicalize()?)
}

/// Draws the pictures of schemes in `docs/pictures`, with an assembled page.
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
