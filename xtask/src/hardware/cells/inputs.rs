//! The inputs of the pages: the sources of the cells, their proofs and benches, and the faults of mutants.

use super::source::{self, Source};
use anyhow::{Context, Result};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The file that lists the controllers that are broken on purpose.
const MUTANTS: &str = "hardware/bench/src/mutant.rs";

/// A proof or a bench of a cell, with the first sentence of its header.
pub(super) struct Check {
    pub(super) path: String,
    pub(super) text: String,
    pub(super) promise: String,
}

/// The input of all pages.
pub(super) struct Cells {
    pub(super) sources: BTreeMap<String, Source>,
    /// The proofs in `formal/` and the benches in `tests/`.
    pub(super) checks: Vec<Check>,
    /// The faults of controllers that are broken on purpose, each with the changed file.
    pub(super) faults: Vec<(String, String)>,
}

impl Cells {
    pub(super) fn read(root: &Path, folder: &str) -> Result<Self> {
        let hardware = root.join(folder);
        let mut sources = BTreeMap::new();
        for path in verilog(&hardware.join("rtl"))? {
            let name = path.file_stem().context("a cell has no file name")?.to_string_lossy().into_owned();
            let source = Source::parse(&name, &fs::read_to_string(&path)?)?;
            sources.insert(name, source);
        }
        let mut checks = Vec::new();
        for folder in ["formal", "tests"] {
            for path in verilog(&hardware.join(folder))? {
                let name =
                    path.file_name().context("a bench has no file name")?.to_string_lossy().into_owned();
                let text = fs::read_to_string(&path)?;
                let promise = source::first_sentence(&source::comment(&text));
                checks.push(Check { path: format!("{folder}/{name}"), text, promise });
            }
        }
        let mutants = root.join(MUTANTS);
        let text = fs::read_to_string(&mutants).with_context(|| format!("reading {}", mutants.display()))?;
        Ok(Cells { sources, checks, faults: faults(&text) })
    }

    /// Returns the cells that a cell instantiates, in the order of the source.
    pub(super) fn parts(&self, name: &str) -> Vec<&str> {
        let known = |part: &&str| self.sources.contains_key(*part);
        let source = &self.sources[name];
        source.instances.iter().map(String::as_str).filter(known).collect()
    }

    /// Returns the cells that instantiate a cell.
    pub(super) fn users(&self, name: &str) -> Vec<&str> {
        let uses = |user: &&String| self.parts(user).contains(&name);
        self.sources.keys().filter(uses).map(String::as_str).collect()
    }
}

/// Returns the files of a folder that end in `.sv`, in order of their names.
fn verilog(folder: &Path) -> Result<Vec<PathBuf>> {
    let entries = fs::read_dir(folder).with_context(|| format!("listing {}", folder.display()))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut paths: Vec<PathBuf> =
        paths.filter(|path| path.extension().is_some_and(|end| end == "sv")).collect();
    paths.sort();
    Ok(paths)
}

/// Returns the file and the fault of each mutant.
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
    fn the_file_and_the_fault_of_a_mutant_are_read() {
        let text =
            "struct Mutant { a } [Mutant {\n fault:\n \"a bucket off\",\n file: \"a.sv\", from: \"b\" }]";
        assert_eq!(faults(text), [("a.sv".to_owned(), "a bucket off".to_owned())]);
    }
}
