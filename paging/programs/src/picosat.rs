//! `picosat`: two random instances for the real solver of that name (Biere 2008). Represents tools of verification.
//!
//! The solver is a separate program, packaged by Debian: `picosat FILE`. This module makes the files and checks
//! its output.

mod verdict;

pub use verdict::{NoVerdict, Verdict};

use crate::random::Random;
use std::io::{self, Write};

/// A random instance of 3-SAT.
#[derive(Clone, Copy, Debug)]
pub struct Size {
    /// The number of variables, at least 3.
    pub variables: u32,
    /// The number of clauses, each of three different variables.
    pub clauses: u32,
    /// True if an assignment is drawn first, and every clause kept only if that satisfies it.
    pub planted: bool,
    /// The seed of assignment and clauses.
    pub seed: u64,
}

/// A variable, counted from 1, or minus that for its negation: a literal as DIMACS writes it.
pub type Literal = i32;

/// A formula: all clauses shall hold, each by one of its literals at least.
#[derive(Clone, Debug)]
pub struct Formula {
    variables: u32,
    clauses: Vec<[Literal; 3]>,
}

impl Formula {
    /// The formula that `size` describes.
    pub fn new(size: &Size) -> Self {
        let mut random = Random::new(size.seed);
        let planted: Option<Vec<bool>> =
            size.planted.then(|| (0..size.variables).map(|_| random.coin()).collect());
        let mut clauses = Vec::with_capacity(size.clauses as usize);
        while clauses.len() < size.clauses as usize {
            let clause: [Literal; 3] = std::array::from_fn(|_| {
                let variable = random.below(size.variables) as Literal + 1;
                if random.coin() { variable } else { -variable }
            });
            let [a, b, c] = clause.map(Literal::abs);
            let distinct = a != b && b != c && a != c;
            if distinct && planted.as_ref().is_none_or(|assignment| satisfies(assignment, &clause)) {
                clauses.push(clause);
            }
        }
        Formula { variables: size.variables, clauses }
    }

    /// Writes the formula in DIMACS CNF, the format of the solvers' competitions.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write_dimacs(&self, mut writer: impl Write) -> io::Result<()> {
        writeln!(writer, "p cnf {} {}", self.variables, self.clauses.len())?;
        for [a, b, c] in &self.clauses {
            writeln!(writer, "{a} {b} {c} 0")?;
        }
        Ok(())
    }

    /// Returns whether every clause holds if the variables 1, 2, … have the values of `assignment`.
    pub fn is_satisfied_by(&self, assignment: &[bool]) -> bool {
        assignment.len() == self.variables as usize
            && self.clauses.iter().all(|clause| satisfies(assignment, clause))
    }
}

fn satisfies(assignment: &[bool], clause: &[Literal; 3]) -> bool {
    clause.iter().any(|&literal| assignment[literal.unsigned_abs() as usize - 1] == (literal > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tries all assignments.
    fn is_satisfiable(formula: &Formula) -> bool {
        (0u32..1 << formula.variables).any(|bits| {
            let assignment: Vec<bool> = (0..formula.variables).map(|bit| bits >> bit & 1 == 1).collect();
            formula.is_satisfied_by(&assignment)
        })
    }

    #[test]
    fn a_planted_formula_can_be_satisfied_however_many_clauses_it_has_and_another_cannot() {
        for seed in 0..5 {
            let size = Size { variables: 8, clauses: 200, planted: true, seed };
            assert!(is_satisfiable(&Formula::new(&size)));
            assert!(!is_satisfiable(&Formula::new(&Size { planted: false, ..size })));
        }
    }

    #[test]
    fn dimacs_states_the_counts_and_ends_every_clause_with_a_zero() {
        let formula = Formula { variables: 4, clauses: vec![[1, -2, 3], [-4, 2, 1]] };
        let mut file = Vec::new();
        formula.write_dimacs(&mut file).unwrap();
        assert_eq!(String::from_utf8(file).unwrap(), "p cnf 4 2\n1 -2 3 0\n-4 2 1 0\n");
    }

    #[test]
    fn a_clause_has_three_different_variables_of_either_sign() {
        let formula = Formula::new(&Size { variables: 5, clauses: 500, planted: false, seed: 3 });
        let mut seen = [false; 11];
        for clause in &formula.clauses {
            let [a, b, c] = clause.map(Literal::abs);
            assert!(a != b && b != c && a != c, "{clause:?}");
            clause.iter().for_each(|literal| seen[(literal + 5) as usize] = true);
        }
        assert_eq!(seen.iter().filter(|&&seen| seen).count(), 10);
    }
}
