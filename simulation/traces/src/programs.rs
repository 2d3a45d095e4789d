//! The table of programs, `programs.toml`, and of the figures that they replace.

use serde::Deserialize;
use std::collections::BTreeMap;

/// The tables.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tables {
    /// The licence of the traces, by SPDX.
    pub trace_licence: String,
    /// Table II of IR-ORAM.
    pub published: Vec<Published>,
    /// The inputs of programs, by the names of files.
    pub inputs: BTreeMap<String, Input>,
    /// The programs.
    pub programs: Vec<Program>,
}

/// A program of Table II.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Published {
    /// The suite to which the program belongs.
    pub suite: String,
    /// The first letters of its name.
    pub name: String,
    /// Loads that miss the last-level cache, in a thousand instructions.
    pub loads: f64,
    /// Stores that miss it.
    pub stores: f64,
    /// The kind of most of the program's misses.
    pub class: Class,
}

/// The kind of misses that a program mostly has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// Loads: twice as many as stores, at least.
    Loads,
    /// Stores: twice as many as loads, at least.
    Stores,
    /// Both.
    Both,
    /// The program has fewer than one and a half misses in a thousand instructions.
    Silent,
}

impl Class {
    /// The class of a program with this many misses in a thousand instructions.
    pub fn of(loads: f64, stores: f64) -> Self {
        if loads + stores < 1.5 {
            Class::Silent
        } else if loads >= 2.0 * stores {
            Class::Loads
        } else if stores >= 2.0 * loads {
            Class::Stores
        } else {
            Class::Both
        }
    }
}

/// A file that programs read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(tag = "kind", rename_all = "lowercase", deny_unknown_fields)]
pub enum Input {
    /// Lines of words, distributed by Zipf's law.
    Words {
        /// Bytes, at least.
        bytes: u64,
    },
    /// Lines with a random number and their own.
    Lines {
        /// The number of lines.
        lines: u64,
    },
    /// Functions in C.
    Functions {
        /// The number of functions.
        functions: u64,
    },
    /// A formula for the solver, which an assignment satisfies.
    Formula {
        /// The number of variables.
        variables: u32,
        /// The number of clauses.
        clauses: u32,
    },
}

/// A program whose trace replaces others.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Program {
    /// The name of its trace.
    pub name: String,
    /// Debian's package that contains it; empty for `ameles-programs`.
    pub package: String,
    /// The program's version.
    pub version: String,
    /// The program's licence, by SPDX.
    pub licence: String,
    /// The work that the program does while it is recorded.
    pub does: String,
    /// The program and its arguments.
    pub command: Vec<String>,
    /// A command that prepares a file first, not recorded.
    #[serde(default)]
    pub prepare: Vec<String>,
    /// Files that it reads, by their names.
    #[serde(default)]
    pub inputs: Vec<String>,
    /// Further files, with their contents.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
    /// The number of instructions before the recording begins.
    pub skip: u64,
    /// The kind of most of the program's misses.
    pub class: Class,
    /// The programs of Table II that have similar misses.
    pub stands_for: Vec<String>,
}

impl Program {
    /// The notice of its trace: the program, its version, its licence, and the licence of the trace.
    pub fn notice(&self, trace_licence: &str) -> String {
        let package = if self.package.is_empty() { "ameles-programs" } else { &self.package };
        let Program { name, version, licence, .. } = self;
        format!("{name}: a memory trace of {package} {version} ({licence}). The trace: {trace_licence}.")
    }
}

/// Reads the tables that this crate was built with.
///
/// # Errors
/// The tables are wrong; the error says how. A test reads all tables.
pub fn tables() -> Result<Tables, toml::de::Error> {
    toml::from_str(include_str!("../programs.toml"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn every_published_program_has_a_stand_in_of_its_class() {
        let tables = tables().unwrap();
        assert_eq!(tables.published.len(), 13);
        assert!(tables.programs.len() >= 13);
        for published in &tables.published {
            assert_eq!(published.class, Class::of(published.loads, published.stores), "{}", published.name);
            let stand_ins: Vec<_> = tables
                .programs
                .iter()
                .filter(|program| program.stands_for.contains(&published.name))
                .collect();
            assert!(!stand_ins.is_empty(), "{} has none", published.name);
            assert!(stand_ins.iter().all(|program| program.class == published.class), "{}", published.name);
        }
    }

    #[test]
    fn names_are_used_once_and_inputs_are_there() {
        let tables = tables().unwrap();
        let names: BTreeSet<_> = tables.programs.iter().map(|program| &program.name).collect();
        assert_eq!(names.len(), tables.programs.len());
        let known: BTreeSet<_> = tables.published.iter().map(|published| &published.name).collect();
        for program in &tables.programs {
            assert!(!program.command.is_empty());
            assert!(program.inputs.iter().all(|input| tables.inputs.contains_key(input)), "{}", program.name);
            assert!(program.stands_for.iter().all(|name| known.contains(name)), "{}", program.name);
        }
    }
}
