//! A page for each cell of the controller, in `hardware/cells/`, made of the sources so that it cannot drift from them.

mod page;
mod source;

use crate::tool::workspace_root;
use anyhow::{Context, Result, bail, ensure};
use source::Source;
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder of the pages, in that of the controller.
const PAGES: &str = "cells";
/// The file that lists the controllers which are broken on purpose.
const MUTANTS: &str = "hardware/bench/src/mutant.rs";

/// A file that has something to do with a cell, and what its header says first.
struct Witness {
    path: String,
    text: String,
    promise: String,
}

/// All that pages are made of.
struct Cells {
    sources: BTreeMap<String, Source>,
    /// Proofs in `formal/` and benches in `tests/`.
    witnesses: Vec<Witness>,
    /// Faults of controllers that are broken on purpose, each with the file that is changed.
    faults: Vec<(String, String)>,
}

impl Cells {
    fn read(root: &Path) -> Result<Self> {
        let hardware = root.join(super::HARDWARE);
        let mut sources = BTreeMap::new();
        for path in verilog(&hardware.join("rtl"))? {
            let name = path.file_stem().context("a cell has a name")?.to_string_lossy().into_owned();
            let source = Source::parse(&name, &fs::read_to_string(&path)?)?;
            sources.insert(name, source);
        }
        let mut witnesses = Vec::new();
        for folder in ["formal", "tests"] {
            for path in verilog(&hardware.join(folder))? {
                let name = path.file_name().context("a bench has a name")?.to_string_lossy().into_owned();
                let text = fs::read_to_string(&path)?;
                let promise = page::first_sentence(&source::comment(&text));
                witnesses.push(Witness { path: format!("{folder}/{name}"), text, promise });
            }
        }
        let mutants = root.join(MUTANTS);
        let text = fs::read_to_string(&mutants).with_context(|| format!("reading {}", mutants.display()))?;
        Ok(Cells { sources, witnesses, faults: faults(&text) })
    }

    /// The cells of which one is made, in the order in which they stand there.
    fn parts(&self, name: &str) -> Vec<&str> {
        let known = |part: &&str| self.sources.contains_key(*part);
        let source = &self.sources[name];
        source.instances.iter().map(String::as_str).filter(known).collect()
    }

    /// The cells that a cell is a part of.
    fn users(&self, name: &str) -> Vec<&str> {
        let uses = |user: &&String| self.parts(user).contains(&name);
        self.sources.keys().filter(uses).map(String::as_str).collect()
    }

    /// All pages by their file names.
    fn pages(&self) -> BTreeMap<String, String> {
        let mut pages: BTreeMap<String, String> =
            self.sources.keys().map(|name| (format!("{name}.md"), page::cell(self, name))).collect();
        pages.insert("README.md".into(), page::index(self));
        pages
    }
}

/// Writes all pages, and removes those of cells that are no more.
pub fn write() -> Result<()> {
    let root = workspace_root()?;
    let cells = Cells::read(&root)?;
    let folder = root.join(super::HARDWARE).join(PAGES);
    fs::create_dir_all(&folder)?;
    let pages = cells.pages();
    for name in there(&folder)?.into_keys().filter(|name| !pages.contains_key(name)) {
        fs::remove_file(folder.join(name))?;
    }
    for (name, text) in &pages {
        fs::write(folder.join(name), text)?;
    }
    println!("    {} pages are in {}/{PAGES}", pages.len(), super::HARDWARE);
    Ok(())
}

/// Fails if a page is not what its source makes of it, or a header leaves out what a page needs.
pub fn check() -> Result<()> {
    let root = workspace_root()?;
    let cells = Cells::read(&root)?;
    for (name, source) in &cells.sources {
        if let Some(prerequisites) = source.prerequisites() {
            bail!("the header of {name}.sv has no `{prerequisites}`: its page is only as good as its header");
        }
    }
    let (made, there) = (cells.pages(), there(&root.join(super::HARDWARE).join(PAGES))?);
    let stale: Vec<&str> = made
        .keys()
        .chain(there.keys().filter(|name| !made.contains_key(*name)))
        .filter(|name| made.get(*name) != there.get(*name))
        .map(String::as_str)
        .collect();
    ensure!(stale.is_empty(), "`cargo xtask hardware cells` would change {}: run it", stale.join(", "));
    Ok(())
}

/// The pages that are there.
fn there(folder: &Path) -> Result<BTreeMap<String, String>> {
    let mut pages = BTreeMap::new();
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    for path in entries.filter_map(|entry| Some(entry.ok()?.path())) {
        let name = path.file_name().context("a page has a name")?.to_string_lossy().into_owned();
        pages.insert(name, fs::read_to_string(&path)?);
    }
    Ok(pages)
}

/// The files of a folder that end in `.sv`, by name.
fn verilog(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "sv")).collect();
    paths.sort();
    Ok(paths)
}

/// Each mutant's file and fault.
fn faults(text: &str) -> Vec<(String, String)> {
    let field = |mutant: &str, name: &str| {
        let (_, after) = mutant.split_once(&format!(" {name}:"))?;
        Some(after.split('"').nth(1)?.to_owned())
    };
    let mutants = text.split("Mutant {").skip(1);
    mutants.filter_map(|mutant| Some((field(mutant, "file")?, field(mutant, "fault")?))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_page_is_what_its_source_makes_of_it_and_every_header_says_what_a_page_needs() {
        check().unwrap();
    }

    #[test]
    fn a_mutant_tells_its_file_and_its_fault() {
        let text =
            "struct Mutant { a } [Mutant {\n fault:\n \"a bucket off\",\n file: \"a.sv\", from: \"b\" }]";
        assert_eq!(faults(text), [("a.sv".to_owned(), "a bucket off".to_owned())]);
    }
}
