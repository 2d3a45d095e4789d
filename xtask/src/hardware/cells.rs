//! The pages of the cells of the controller in `hardware/cells/`. They are generated from the sources, so they stay
//! current.

mod inputs;
mod page;
mod source;

use crate::tool::workspace_root;
use anyhow::{Context, Result, bail, ensure};
use inputs::Cells;
use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

/// The folder of the pages, in the folder of the controller.
const PAGES: &str = "cells";
/// The folder of the controller.
pub(super) const HARDWARE: &str = "hardware";

/// Returns all pages by file name.
fn pages(cells: &Cells) -> BTreeMap<String, String> {
    let names = cells.sources.keys();
    let mut pages: BTreeMap<String, String> =
        names.map(|name| (format!("{name}.md"), page::cell(cells, name))).collect();
    pages.insert("README.md".into(), page::index(cells));
    pages
}

/// Writes all pages, and removes the pages of cells that no longer exist.
pub fn write() -> Result<()> {
    let root = workspace_root()?;
    let cells = Cells::read(&root, HARDWARE)?;
    let folder = root.join(HARDWARE).join(PAGES);
    fs::create_dir_all(&folder)?;
    let pages = pages(&cells);
    for name in existing_pages(&folder)?.into_keys().filter(|name| !pages.contains_key(name)) {
        fs::remove_file(folder.join(name))?;
    }
    for (name, text) in &pages {
        fs::write(folder.join(name), text)?;
    }
    println!("    {} pages are in {}/{PAGES}", pages.len(), HARDWARE);
    Ok(())
}

/// Fails if a page is not current, or if a header lacks a label that its page needs.
pub fn check() -> Result<()> {
    let root = workspace_root()?;
    let cells = Cells::read(&root, HARDWARE)?;
    for (name, source) in &cells.sources {
        if let Some(label) = source.missing_label() {
            bail!("the header of {name}.sv has no `{label}`, which its page needs");
        }
    }
    let (expected, existing) = (pages(&cells), existing_pages(&root.join(HARDWARE).join(PAGES))?);
    let stale: Vec<&str> = expected
        .keys()
        .chain(existing.keys().filter(|name| !expected.contains_key(*name)))
        .filter(|name| expected.get(*name) != existing.get(*name))
        .map(String::as_str)
        .collect();
    ensure!(
        stale.is_empty(),
        "run `cargo xtask hardware cells`: these pages are not current: {}",
        stale.join(", ")
    );
    Ok(())
}

/// Returns the existing pages by file name.
fn existing_pages(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().context("a page has no file name")?.to_string_lossy().into_owned();
        pages.insert(name, fs::read_to_string(&path)?);
    }
    Ok(pages)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_current_and_every_header_has_the_labels_that_a_page_needs() {
        check().unwrap();
    }
}
