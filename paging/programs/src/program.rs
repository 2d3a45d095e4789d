//! The list of programs: how each is started and what it must answer.

use crate::picosat::{Formula, NoVerdict, Verdict};
use crate::sizes::{self, large, small};
use crate::{avl_tree, lbm, random_writes, recommender, sha_256};
use std::io::{self, Write};
use thiserror::Error;

/// A program of the six.
#[derive(Clone, Copy, Debug)]
pub struct Program {
    /// The program's name in the paper's figures.
    pub name: &'static str,
    /// The kind of programs that this one represents.
    pub stands_for: &'static str,
    /// The runs of it: one, or one on each instance after the other.
    pub runs: &'static [Run],
}

/// A process to start, and its expected end.
#[derive(Clone, Copy, Debug)]
pub struct Run {
    /// The program's name, followed by the instance's if there are several.
    pub name: &'static str,
    /// The process to start.
    pub start: Start,
    /// First line of its standard output.
    pub answer: &'static str,
    /// The run's exit code.
    pub exit_code: i32,
}

/// A process to start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Start {
    /// `ameles-programs`, with this argument.
    Own(&'static str),
    /// `picosat`, with the path of a file that [`Instance::write_dimacs`] has written.
    Picosat(Instance),
}

/// An instance of the solver's two.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Instance {
    /// [`sizes::SATISFIABLE`]
    Satisfiable,
    /// [`sizes::UNSATISFIABLE`]
    Unsatisfiable,
}

/// All six, in the order of the paper.
pub const PROGRAMS: [Program; 6] = [
    Program {
        name: "random_writes",
        stands_for: "programs that mostly write",
        runs: &[own("random_writes", sizes::RANDOM_WRITES.answer)],
    },
    Program {
        name: "sha_256",
        stands_for: "building blocks of cryptography",
        runs: &[own("sha_256", sizes::SHA_256.answer)],
    },
    Program {
        name: "avl_tree",
        stands_for: "common data structures",
        runs: &[own("avl_tree", sizes::AVL_TREE.answer)],
    },
    Program {
        name: "picosat",
        stands_for: "tools of verification",
        runs: &[
            Run {
                name: "picosat satisfiable",
                start: Start::Picosat(Instance::Satisfiable),
                answer: sizes::SATISFIABLE.answer,
                exit_code: 10,
            },
            Run {
                name: "picosat unsatisfiable",
                start: Start::Picosat(Instance::Unsatisfiable),
                answer: sizes::UNSATISFIABLE.answer,
                exit_code: 20,
            },
        ],
    },
    Program { name: "lbm", stands_for: "simulations", runs: &[own("lbm", sizes::LBM.answer)] },
    Program {
        name: "recommender",
        stands_for: "machine learning",
        runs: &[own("recommender", sizes::RECOMMENDER.answer)],
    },
];

const fn own(name: &'static str, answer: &'static str) -> Run {
    Run { name, start: Start::Own(name), answer, exit_code: 0 }
}

/// The sizes in a module, each of them directly or in a field.
macro_rules! sizes_of {
    ($module:ident $($field:ident)?) => {
        Sizes {
            random_writes: &$module::RANDOM_WRITES$(.$field)?,
            sha_256: &$module::SHA_256$(.$field)?,
            avl_tree: &$module::AVL_TREE$(.$field)?,
            lbm: &$module::LBM$(.$field)?,
            recommender: &$module::RECOMMENDER$(.$field)?,
        }
    };
}

/// Runs a program of this crate in this process, in its pinned size. Returns its answer, or `None` if no program of
/// this crate has that name.
pub fn run(name: &str) -> Option<String> {
    run_with(name, &sizes_of!(sizes size))
}

/// Runs a program of this crate in this process, in its small size, like [`run`].
pub fn run_small(name: &str) -> Option<String> {
    run_with(name, &sizes_of!(small size))
}

/// Runs a program of this crate in this process, in its large size, like [`run`].
pub fn run_large(name: &str) -> Option<String> {
    run_with(name, &sizes_of!(large))
}

/// A size of each program of this crate.
struct Sizes<'a> {
    random_writes: &'a random_writes::Size,
    sha_256: &'a sha_256::Size,
    avl_tree: &'a avl_tree::Size,
    lbm: &'a lbm::Size,
    recommender: &'a recommender::Size,
}

fn run_with(name: &str, sizes: &Sizes<'_>) -> Option<String> {
    Some(match name {
        "random_writes" => random_writes::run(sizes.random_writes),
        "sha_256" => sha_256::run(sizes.sha_256),
        "avl_tree" => avl_tree::run(sizes.avl_tree),
        "lbm" => lbm::run(sizes.lbm),
        "recommender" => recommender::run(sizes.recommender),
        _ => return None,
    })
}

/// The error that a run's output differs from that of an unpaged run.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum WrongAnswer {
    /// The first line of the answer differs.
    #[error(
        "{run} answered `{found}` and not `{answer}`: its memory was damaged, or the program was changed"
    )]
    Other {
        /// The run.
        run: &'static str,
        /// The line that the program should have printed.
        answer: &'static str,
        /// The line that the program printed.
        found: String,
    },
    /// The solver's output has no verdict.
    #[error("picosat's output cannot be read")]
    NoVerdict(#[from] NoVerdict),
    /// The solver's assignment leaves a clause unsatisfied.
    #[error("picosat's assignment does not satisfy the formula: its memory was damaged")]
    NoModel,
}

impl Run {
    /// Checks the run's standard output. An assignment of the solver must satisfy the formula.
    ///
    /// # Errors
    /// If it differs from the output of an undisturbed run.
    pub fn check(&self, output: &[u8]) -> Result<(), WrongAnswer> {
        let output = String::from_utf8_lossy(output);
        let found = output.lines().next().unwrap_or_default();
        if found != self.answer {
            return Err(WrongAnswer::Other { run: self.name, answer: self.answer, found: found.into() });
        }
        if let Start::Picosat(instance) = self.start
            && let Verdict::Satisfiable(assignment) = Verdict::read(&output)?
            && !instance.formula().is_satisfied_by(&assignment)
        {
            return Err(WrongAnswer::NoModel);
        }
        Ok(())
    }
}

impl Instance {
    /// The two instances.
    pub const ALL: [Instance; 2] = [Instance::Satisfiable, Instance::Unsatisfiable];

    /// The name on the command line.
    pub fn name(self) -> &'static str {
        match self {
            Instance::Satisfiable => "satisfiable",
            Instance::Unsatisfiable => "unsatisfiable",
        }
    }

    /// The formula.
    pub fn formula(self) -> Formula {
        Formula::new(match self {
            Instance::Satisfiable => &sizes::SATISFIABLE.size,
            Instance::Unsatisfiable => &sizes::UNSATISFIABLE.size,
        })
    }

    /// Writes the file that the solver is started with.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_dimacs(self, writer: impl Write) -> io::Result<()> {
        let mut writer = io::BufWriter::new(writer);
        self.formula().write_dimacs(&mut writer)?;
        writer.flush()
    }
}
