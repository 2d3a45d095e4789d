//! The parts of the setup that a machine cannot have: they are named, and the rest is set up.

use anyhow::Result;

/// A part of the setup: its name, and the function that sets it up.
pub type Part<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// Sets up each part. Returns a line for each that fails, with its name and the reason.
pub fn unavailable(parts: &[Part<'_>]) -> Vec<String> {
    let failed = |(name, set_up): &Part<'_>| set_up().err().map(|error| format!("without {name}: {error:#}"));
    parts.iter().filter_map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn a_part_that_fails_is_named_and_the_others_are_set_up() {
        let count = Cell::new(0);
        let good = || {
            count.set(count.get() + 1);
            Ok(())
        };
        let bad = || anyhow::bail!("no source of picosat");
        let lines =
            unavailable(&[("Python", &good), ("picosat for RISC-V", &bad), ("dash for RISC-V", &good)]);
        assert_eq!(lines, ["without picosat for RISC-V: no source of picosat"]);
        assert_eq!(count.get(), 2);
    }
}
