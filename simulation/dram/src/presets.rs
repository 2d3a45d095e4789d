//! The memories that have a name.

use crate::specification::Specification;

/// The names and their files.
const PRESETS: [(&str, &str); 6] = [
    ("ddr3", include_str!("usimm.toml")),
    ("ddr4", include_str!("ddr4.toml")),
    ("ddr5", include_str!("ddr5.toml")),
    ("lpddr5", include_str!("lpddr5.toml")),
    ("hbm2", include_str!("hbm2.toml")),
    ("hbm3", include_str!("hbm3.toml")),
];

impl Specification {
    /// The names of the memories that [`Specification::preset`] knows.
    pub const PRESETS: [&str; 6] = {
        let mut names = [""; 6];
        let mut nth = 0;
        while nth < names.len() {
            names[nth] = PRESETS[nth].0;
            nth += 1;
        }
        names
    };

    /// A memory by its name. The source of each number stands in its file.
    pub fn preset(name: &str) -> Option<Self> {
        let (_, text) = PRESETS.iter().find(|(known, _)| *known == name)?;
        Some(text.parse().expect("the built-in descriptions are in order"))
    }

    /// The memory on which IR-ORAM was measured: DDR3-1600 as in USIMM. A block's number is spread over the channels
    /// and then the banks.
    pub fn usimm() -> Self {
        Self::preset("ddr3").expect("it has a name")
    }
}
