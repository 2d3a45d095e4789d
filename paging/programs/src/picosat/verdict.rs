//! The output of a solver, in the format of the solvers' competitions.

use thiserror::Error;

/// The verdict of a solver on a formula.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The formula can be satisfied, by these values of the variables 1, 2, …
    Satisfiable(Vec<bool>),
    /// The formula cannot be satisfied.
    Unsatisfiable,
}

/// A solver's output without a verdict.
#[derive(Clone, PartialEq, Eq, Debug, Error)]
pub enum NoVerdict {
    /// No line begins with `s `.
    #[error("the solver printed no line that begins with `s `: was it stopped, or is its input damaged?")]
    NoStatus,
    /// The line that begins with `s ` holds something else.
    #[error("the solver printed `s {0}` instead of `s SATISFIABLE` or `s UNSATISFIABLE`")]
    OtherStatus(String),
    /// A line that begins with `v ` holds something other than a literal of the next variable.
    #[error("the solver's assignment has `{found}` instead of the value of variable {variable}")]
    OtherLiteral {
        /// The text.
        found: String,
        /// The variable expected there.
        variable: usize,
    },
}

impl Verdict {
    /// Reads the output of a solver.
    ///
    /// # Errors
    /// If it contains no verdict, or an assignment that does not go through the variables from 1 on.
    pub fn read(output: &str) -> Result<Self, NoVerdict> {
        let status = output.lines().find_map(|line| line.strip_prefix("s ")).ok_or(NoVerdict::NoStatus)?;
        match status.trim_end() {
            "UNSATISFIABLE" => Ok(Verdict::Unsatisfiable),
            "SATISFIABLE" => assignment(output).map(Verdict::Satisfiable),
            other => Err(NoVerdict::OtherStatus(other.into())),
        }
    }
}

fn assignment(output: &str) -> Result<Vec<bool>, NoVerdict> {
    let words = output.lines().filter_map(|line| line.strip_prefix("v ")).flat_map(str::split_whitespace);
    let mut values = Vec::new();
    for word in words.take_while(|&word| word != "0") {
        let variable = values.len() + 1;
        match word.parse::<i64>() {
            Ok(literal) if literal.unsigned_abs() == variable as u64 => values.push(literal > 0),
            _ => return Err(NoVerdict::OtherLiteral { found: word.into(), variable }),
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_are_read_and_everything_else_is_told_apart() {
        assert_eq!(Verdict::read("c hello\ns UNSATISFIABLE\n"), Ok(Verdict::Unsatisfiable));
        assert_eq!(
            Verdict::read("s SATISFIABLE\nv 1 -2\nv 3 0\n"),
            Ok(Verdict::Satisfiable(vec![true, false, true]))
        );
        assert_eq!(Verdict::read("v 1 0\n"), Err(NoVerdict::NoStatus));
        assert_eq!(Verdict::read("s UNKNOWN\n"), Err(NoVerdict::OtherStatus("UNKNOWN".into())));
        let found = |found: &str, variable| NoVerdict::OtherLiteral { found: found.into(), variable };
        assert_eq!(Verdict::read("s SATISFIABLE\nv 1 3 0\n"), Err(found("3", 2)));
        assert_eq!(Verdict::read("s SATISFIABLE\nv x 0\n"), Err(found("x", 1)));
    }
}
