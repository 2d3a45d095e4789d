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

    /// A memory by its name. The source of each number is in its file.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::energy::Counts;

    #[test]
    fn every_named_memory_has_the_bandwidth_and_the_size_of_its_standard() {
        // Megabytes per second of a channel: bits x transfers / 8. Gibibytes: bits of all devices.
        let expected = [
            ("ddr3", 64 * 1600 / 8, 16),
            ("ddr4", 64 * 3200 / 8, 4 * 2 * 8),
            ("ddr5", 32 * 4800 / 8, 8 * 2 * 4 * 2),
            ("lpddr5", 16 * 6400 / 8, 8 * 2),
            ("hbm2", 64 * 2000 / 8, 16),
            ("hbm3", 32 * 6400 / 8, 16),
        ];
        assert_eq!(expected.map(|(name, ..)| name), Specification::PRESETS);
        for (name, bandwidth, size) in expected {
            let Specification { geometry, timing, clock, .. } = Specification::preset(name).unwrap();
            let cycles = u64::from(geometry.bursts) * timing.burst.0;
            assert_eq!(u64::from(clock.mhz) * geometry.block_bytes.0 / cycles, bandwidth, "{name}");
            assert_eq!(geometry.bytes().0 >> 30, size, "{name}");
        }
    }

    #[test]
    fn a_bit_that_is_read_takes_the_energy_of_the_source() {
        // Above standby, in picojoules: power over bits a nanosecond.
        let expected = [
            ("ddr3", (157.0 - 38.0) * 1.5 * 8.0 / 102.4),
            ("ddr4", (168.0 - 52.0) * 1.2 * 8.0 / 204.8),
            ("ddr5", (145.0 - 55.0) * 1.1 * 4.0 / 153.6),
            // Milliwatts of four supplies, at 7500 transfers.
            ("lpddr5", ((12.0 - 1.7) * 1.8 + (475.0 - 21.0) * 1.05 + (126.0 - 0.6) * 0.5) / 120.0),
            // At 1200 transfers.
            ("hbm2", (202.769 - 12.394) * 1.2 / 76.8),
            ("hbm3", (560.7 - 71.2) * 1.1 / 204.8),
        ];
        for (name, picojoules) in expected {
            let memory = Specification::preset(name).unwrap();
            let bits = 8 * memory.geometry.block_bytes.0 / u64::from(memory.geometry.bursts);
            let energy = Counts { reads: 1, ..Counts::default() }.energy(&memory).total().0 / bits as f64;
            assert!((energy / picojoules - 1.0).abs() < 0.01, "{name}: {energy} instead of {picojoules}");
        }
    }

    #[test]
    fn an_unknown_name_is_no_memory() {
        assert!(Specification::preset("DDR3").is_none());
    }
}
