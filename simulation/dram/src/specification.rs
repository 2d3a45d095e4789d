//! The description of a memory system: one TOML file.

use crate::error::DramError;
use crate::geometry::{Field, Geometry};
use crate::units::Cycle;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

/// The built-in description.
const USIMM: &str = include_str!("usimm.toml");
/// The longest time that a file may state.
const LONGEST: Cycle = Cycle(1 << 24);

/// All that the model knows of a memory system.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Specification {
    /// The clock that all times are counted in.
    pub clock: Clock,
    /// Channels, ranks, banks, rows, columns and the mapping of addresses.
    pub geometry: Geometry,
    /// The least times between commands.
    pub timing: Timing,
    /// The scheduler's queues.
    pub queues: Queues,
    /// The refresh.
    pub refresh: Refresh,
    /// The currents from which energy is computed.
    pub power: Power,
}

/// The clock of the DRAM.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clock {
    /// Its frequency in megahertz; data move on both edges.
    pub mhz: u32,
}

/// The least times between commands, as DDR3's standard names them, in cycles from command to command.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Activate to a read or write of that bank.
    pub t_rcd: Cycle,
    /// Precharge to activate of that bank.
    pub t_rp: Cycle,
    /// Read to the first beat of its burst.
    pub t_cas: Cycle,
    /// Write to the first beat of its burst.
    pub t_cwd: Cycle,
    /// Activate to activate of one bank.
    pub t_rc: Cycle,
    /// Activate to precharge of one bank.
    pub t_ras: Cycle,
    /// Activate to activate in one rank.
    pub t_rrd: Cycle,
    /// The window in which a rank takes at most four activates.
    pub t_faw: Cycle,
    /// End of a written burst to precharge of that bank.
    pub t_wr: Cycle,
    /// End of a written burst to a read in that rank.
    pub t_wtr: Cycle,
    /// Read to precharge of one bank.
    pub t_rtp: Cycle,
    /// Read or write to the next read or write in one rank.
    pub t_ccd: Cycle,
    /// Idle time of the data bus between bursts of two ranks, or of two directions.
    pub t_rtrs: Cycle,
    /// Time of one block on the data bus.
    pub burst: Cycle,
}

/// The queues of each channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// Reads that the scheduler chooses from.
    pub read: u32,
    /// Writes that the scheduler chooses from.
    pub write: u32,
    /// Queued writes at which a drain begins.
    pub high: u32,
    /// Queued writes at which a drain ends.
    pub low: u32,
}

/// The refresh of each rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Refresh {
    /// The mean time between two refreshes of a rank (tREFI).
    pub interval: Cycle,
    /// Refresh to the next activate or refresh of the rank (tRFC).
    pub duration: Cycle,
    /// Refreshes that are put off and then done in a row, 1 to 8.
    pub batch: u32,
    /// The time by which each rank's refreshes lag behind those of the rank before.
    pub stagger: Cycle,
}

/// The currents of one device in milliamperes, as its data sheet names them, and its voltage.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Power {
    /// The supply in volts.
    pub volts: f64,
    /// Devices of a rank.
    pub devices: u32,
    /// Activating and precharging one bank again and again.
    pub idd0_ma: f64,
    /// Standby, all banks precharged.
    pub idd2n_ma: f64,
    /// Standby, a bank open.
    pub idd3n_ma: f64,
    /// Reading without a pause.
    pub idd4r_ma: f64,
    /// Writing without a pause.
    pub idd4w_ma: f64,
    /// Refreshing without a pause.
    pub idd5_ma: f64,
}

impl Specification {
    /// The memory on which IR-ORAM was measured: DDR3-1600 as in USIMM. A block's number is spread over the channels
    /// and then the banks.
    pub fn usimm() -> Self {
        USIMM.parse().expect("the built-in description is in order")
    }

    /// The same memory with a super-row in each run of [`Geometry::super_row_blocks`] numbers: channel, column, bank,
    /// rank and row from the lowest bit. A layout by subtrees requires it.
    pub fn with_super_rows(mut self) -> Self {
        self.geometry.order = [Field::Channel, Field::Column, Field::Bank, Field::Rank, Field::Row];
        self
    }

    /// Returns which values are invalid.
    pub fn check(&self) -> Result<(), DramError> {
        self.geometry.check()?;
        self.timing.check()?;
        self.queues.check()?;
        self.refresh.check(self.geometry.ranks, &self.timing)?;
        self.power.check()?;
        if self.clock.mhz == 0 { invalid("clock.mhz is 0".into()) } else { Ok(()) }
    }
}

impl FromStr for Specification {
    type Err = DramError;

    /// Reads a description from TOML and checks it.
    fn from_str(text: &str) -> Result<Self, DramError> {
        let specification: Specification = toml::from_str(text)?;
        specification.check()?;
        Ok(specification)
    }
}

fn invalid(why: String) -> Result<(), DramError> {
    Err(DramError::Invalid(why))
}

impl Timing {
    /// Write to the earliest precharge of its bank.
    pub(crate) fn write_to_precharge(&self) -> Cycle {
        self.t_cwd + self.burst + self.t_wr
    }

    fn check(&self) -> Result<(), DramError> {
        let named = [
            ("t_rcd", self.t_rcd),
            ("t_rp", self.t_rp),
            ("t_cas", self.t_cas),
            ("t_cwd", self.t_cwd),
            ("t_rc", self.t_rc),
            ("t_ras", self.t_ras),
            ("t_rrd", self.t_rrd),
            ("t_faw", self.t_faw),
            ("t_wr", self.t_wr),
            ("t_wtr", self.t_wtr),
            ("t_rtp", self.t_rtp),
            ("t_ccd", self.t_ccd),
            ("t_rtrs", self.t_rtrs),
            ("burst", self.burst),
        ];
        if let Some((name, time)) = named.iter().find(|(_, time)| *time > LONGEST) {
            return invalid(format!("timing.{name} is {} cycles: at most {}", time.0, LONGEST.0));
        }
        if self.burst == Cycle(0) {
            return invalid("timing.burst is 0: a block needs time on the bus".into());
        }
        if self.t_rc < self.t_ras {
            return invalid(format!(
                "timing.t_rc ({}) is less than timing.t_ras ({}): a row is open before it can be closed",
                self.t_rc.0, self.t_ras.0
            ));
        }
        Ok(())
    }
}

impl Queues {
    /// The maximum number of requests that a queue may hold.
    const MAX: u32 = 1 << 14;

    fn check(&self) -> Result<(), DramError> {
        let Queues { read, write, high, low } = *self;
        if read == 0 || write == 0 || read > Self::MAX || write > Self::MAX {
            let max = Self::MAX;
            return invalid(format!("queues of {read} reads and {write} writes: each holds 1 to {max}"));
        }
        if low >= high || high > write {
            return invalid(format!(
                "a drain from {high} queued writes down to {low}, in a queue of {write}: low < high <= write must hold"
            ));
        }
        Ok(())
    }
}

impl Refresh {
    fn check(&self, ranks: u32, timing: &Timing) -> Result<(), DramError> {
        let named = [("interval", self.interval), ("duration", self.duration), ("stagger", self.stagger)];
        if let Some((name, time)) = named.iter().find(|(_, time)| *time > LONGEST) {
            return invalid(format!("refresh.{name} is {} cycles: at most {}", time.0, LONGEST.0));
        }
        if !(1..=8).contains(&self.batch) {
            return invalid(format!("refresh.batch is {}: DDR3 lets 1 to 8 be put off", self.batch));
        }
        // Closing the rows comes before a batch, opening one and a burst after it.
        let closing = timing.t_rc + timing.t_rp + timing.write_to_precharge() + timing.t_rtp;
        let opening = timing.t_rcd + timing.t_cas + timing.burst;
        if (self.duration + closing + opening) * 2 > self.interval {
            return invalid(format!(
                "refresh.interval is {} cycles: with refreshes of {} too little is left for work",
                self.interval.0, self.duration.0
            ));
        }
        if self.stagger * u64::from(ranks - 1) >= self.interval {
            return invalid("refresh.stagger, times the ranks, must stay below refresh.interval".into());
        }
        Ok(())
    }
}

impl Power {
    fn check(&self) -> Result<(), DramError> {
        let currents =
            [self.idd0_ma, self.idd2n_ma, self.idd3n_ma, self.idd4r_ma, self.idd4w_ma, self.idd5_ma];
        let is_amount = |value: f64| value.is_finite() && value >= 0.0;
        if !is_amount(self.volts) || !currents.into_iter().all(is_amount) {
            return invalid("a value of [power] is negative or no number".into());
        }
        if self.idd3n_ma < self.idd2n_ma {
            return invalid(
                "power.idd3n_ma is less than power.idd2n_ma: an open bank saves no energy".into(),
            );
        }
        if [self.idd4r_ma, self.idd4w_ma, self.idd5_ma].iter().any(|busy| *busy < self.idd3n_ma) {
            return invalid("power.idd3n_ma is more than a current of work".into());
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The built-in file with one piece of text replaced.
    fn changed(from: &str, to: &str) -> Result<Specification, DramError> {
        assert!(USIMM.contains(from), "{from}");
        USIMM.replacen(from, to, 1).parse()
    }

    #[test]
    fn the_built_in_memory_is_sixteen_gibibytes() {
        let usimm = Specification::usimm();
        assert_eq!(usimm.geometry.bytes().0, 16 << 30);
        assert_eq!(usimm.geometry.super_row_blocks() * usimm.geometry.block_bytes.0, 32 << 10);
        assert!(usimm.with_super_rows().check().is_ok());
    }

    #[test]
    fn a_description_survives_being_written_and_read_again() {
        let usimm = Specification::usimm();
        let text = toml::to_string(&usimm).unwrap();
        assert_eq!(text.parse::<Specification>().unwrap(), usimm);
    }

    #[test]
    fn senseless_values_are_one_clear_error_that_names_them() {
        let cases = [
            ("channels = 4", "channels = 3", "number of channels is 3"),
            ("ranks = 2", "ranks = 16", "at most 64 banks"),
            ("banks = 8", "banks = 0", "number of banks is 0"),
            ("rows = 32768", "rows = 0", "number of rows is 0"),
            ("\"bank\", \"rank\"", "\"rank\", \"rank\"", "geometry.order"),
            ("block_bytes = 64", "block_bytes = 0", "geometry.block_bytes"),
            ("t_rc = 39", "t_rc = 27", "timing.t_rc (27)"),
            ("t_wtr = 6", "t_wtr = 99999999", "timing.t_wtr"),
            ("burst = 4", "burst = 0", "timing.burst"),
            ("high = 40", "high = 20", "low < high"),
            ("high = 40", "high = 65", "low < high"),
            ("read = 64", "read = 0", "each holds 1 to"),
            ("batch = 8", "batch = 9", "refresh.batch is 9"),
            ("interval = 6240", "interval = 300", "refresh.interval is 300"),
            ("stagger = 0", "stagger = 6240", "refresh.stagger"),
            ("stagger = 0", "stagger = 9223372036854775807", "refresh.stagger"),
            ("block_bytes = 64", "block_bytes = 9223372036854775807", "geometry.block_bytes"),
            ("idd2n_ma = 28", "idd2n_ma = 39", "power.idd3n_ma"),
            ("idd5_ma = 155", "idd5_ma = 1", "power.idd3n_ma"),
            ("idd0_ma = 55", "idd0_ma = -1", "[power]"),
            ("volts = 1.5", "volts = nan", "[power]"),
            ("mhz = 800", "mhz = 0", "clock.mhz"),
            ("t_rcd = 11", "t_rcd = -1", "cannot be read"),
            ("t_rcd = 11", "t_rcd = 11\nt_new = 1", "unknown field `t_new`"),
            ("t_rcd = 11", "", "missing field `t_rcd`"),
        ];
        for (from, to, said) in cases {
            let error = changed(from, to).unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
    }
}
