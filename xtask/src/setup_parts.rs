//! The parts of the setup. If one fails, the others are still set up.

use anyhow::Result;

/// A part of the setup: its name, and the function that sets it up.
pub type Part<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// Sets up each part. Returns a line for each that fails, with its name and the reason.
pub fn set_up_each(parts: &[Part<'_>]) -> Vec<String> {
    let failure =
        |(name, set_up): &Part<'_>| set_up().err().map(|error| format!("cannot set up {name}: {error:#}"));
    parts.iter().filter_map(failure).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_part_that_fails_is_named_and_the_others_are_set_up() {
        let count = Cell::new(0);
        let succeeding = || {
            count.set(count.get() + 1);
            Ok(())
        };
        let failing = || anyhow::bail!("no source of picosat");
        let lines = set_up_each(&[
            ("Python", &succeeding),
            ("picosat for RISC-V", &failing),
            ("dash for RISC-V", &succeeding),
        ]);
        assert_eq!(lines, ["cannot set up picosat for RISC-V: no source of picosat"]);
        assert_eq!(count.get(), 2);
    }
}
