//! Parts of which those that cannot be had are left out.

use anyhow::Result;

/// A part by its name, and how it is had.
pub type Part<'a> = (&'static str, &'a dyn Fn() -> Result<()>);

/// Has each of them. A line for each that cannot be had, with its name and the reason.
pub fn left_out(parts: &[Part<'_>]) -> Vec<String> {
    let failed = |(name, make): &Part<'_>| make().err().map(|error| format!("without {name}: {error:#}"));
    parts.iter().filter_map(failed).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    #[test]
    fn what_cannot_be_had_is_named_and_the_rest_is_had() {
        let had = Cell::new(0);
        let good = || {
            had.set(had.get() + 1);
            Ok(())
        };
        let bad = || anyhow::bail!("no source of picosat");
        let lines = left_out(&[("Python", &good), ("picosat for RISC-V", &bad), ("dash for RISC-V", &good)]);
        assert_eq!(lines, ["without picosat for RISC-V: no source of picosat"]);
        assert_eq!(had.get(), 2);
    }
}
