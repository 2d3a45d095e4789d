//! The description of a memory system: one TOML file.

use crate::command::Kind;
use crate::error::DramError;
use crate::geometry::{Field, Geometry};
use crate::units::Cycle;
use serde::{Deserialize, Serialize};
use std::str::FromStr;

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
    /// The timings that are longer in one bank group. Without them, all rules treat a group as a rank.
    #[serde(default)]
    pub same_group: Option<SameGroup>,
    /// The time of commands on the command bus.
    #[serde(default)]
    pub command_bus: CommandBus,
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
    /// The clock's frequency in megahertz; data move on both edges.
    pub mhz: u32,
}

/// The least times between commands, as DDR3's standard names them, in cycles from command to command. In a memory with
/// bank groups they are those between groups: tRRD_S, tWTR_S and tCCD_S.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    // Wide: a table of the standard's times, each of which is looked up on its own.
    /// Activate to a read of that bank and, unless `t_rcd_write` is given, to a write.
    pub t_rcd: Cycle,
    /// Activate to a write of that bank (tRCDWR of HBM).
    #[serde(default)]
    pub t_rcd_write: Option<Cycle>,
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
    /// Read to write in one rank, if that is longer than the data bus needs.
    #[serde(default)]
    pub t_rtw: Option<Cycle>,
    /// Idle time of the data bus between bursts of two ranks, or of two directions.
    pub t_rtrs: Cycle,
    /// Time of one burst on the data bus.
    pub burst: Cycle,
}

/// The least times between commands of one bank group, none shorter than the rank's.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SameGroup {
    /// Activate to activate (tRRD_L).
    pub t_rrd: Cycle,
    /// End of a written burst to a read (tWTR_L).
    pub t_wtr: Cycle,
    /// Read or write to the next read or write (tCCD_L).
    pub t_ccd: Cycle,
    /// Write to write (tCCD_L_WR of DDR5), if that is longer.
    #[serde(default)]
    pub t_ccd_write: Option<Cycle>,
}

/// The cycles for which commands hold the command bus; one for those that are not named.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CommandBus {
    /// An activate.
    pub activate: Cycle,
    /// A read or write.
    pub column: Cycle,
}

impl Default for CommandBus {
    fn default() -> Self {
        CommandBus { activate: Cycle(1), column: Cycle(1) }
    }
}

impl CommandBus {
    /// The cycles of a command.
    #[inline]
    pub(crate) fn cycles(&self, kind: Kind) -> Cycle {
        match kind {
            Kind::Activate => self.activate,
            Kind::Read | Kind::Write => self.column,
            Kind::Precharge | Kind::Refresh => Cycle(1),
        }
    }
}

/// The queues of each channel.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Queues {
    /// The number of reads that the scheduler chooses from.
    pub read: u32,
    /// The number of writes that the scheduler chooses from.
    pub write: u32,
    /// The number of queued writes at which a drain begins.
    pub high: u32,
    /// The number of queued writes at which a drain ends.
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
    /// The number of refreshes that are postponed and then done in a row, 1 to 8.
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
    /// The number of devices of a rank.
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
    /// The same memory with a super-row in each run of [`Geometry::super_row_blocks`] numbers. From the lowest bit, a
    /// number has channel, bank group (if there are several), column, bank, rank and row. A layout by subtrees requires
    /// it.
    pub fn with_super_rows(mut self) -> Self {
        use Field::{Bank, Channel, Column, Group, Rank, Row};
        self.geometry.order = match self.geometry.groups {
            1 => vec![Channel, Column, Bank, Rank, Row],
            _ => vec![Channel, Group, Column, Bank, Rank, Row],
        };
        self
    }

    /// Returns which values are invalid.
    pub fn check(&self) -> Result<(), DramError> {
        self.geometry.check()?;
        self.timing.check()?;
        self.same_group().check(&self.timing)?;
        self.command_bus.check()?;
        self.queues.check()?;
        self.refresh.check(self.geometry.ranks, &self.timing)?;
        self.power.check()?;
        if self.clock.mhz == 0 { invalid("clock.mhz is 0".into()) } else { Ok(()) }
    }
}

impl Specification {
    /// The times in one bank group.
    pub(crate) fn same_group(&self) -> SameGroup {
        let Timing { t_rrd, t_wtr, t_ccd, .. } = self.timing;
        self.same_group.clone().unwrap_or(SameGroup { t_rrd, t_wtr, t_ccd, t_ccd_write: None })
    }
}

impl FromStr for Specification {
    type Err = DramError;

    /// Reads a description from TOML and checks it.
    fn from_str(text: &str) -> Result<Self, DramError> {
        let specification: Specification =
            toml::from_str(text).map_err(|error| DramError::unreadable(text, &error))?;
        specification.check()?;
        Ok(specification)
    }
}

fn invalid(why: String) -> Result<(), DramError> {
    Err(DramError::Invalid(why))
}

impl Timing {
    /// Activate to a write of its bank.
    pub(crate) fn activate_to_write(&self) -> Cycle {
        self.t_rcd_write.unwrap_or(self.t_rcd)
    }

    /// Read to write in one rank, without the data bus.
    pub(crate) fn read_to_write(&self) -> Cycle {
        self.t_rtw.unwrap_or(self.t_ccd)
    }

    /// Write to the earliest precharge of its bank.
    pub(crate) fn write_to_precharge(&self) -> Cycle {
        self.t_cwd + self.burst + self.t_wr
    }

    fn check(&self) -> Result<(), DramError> {
        let named = [
            ("t_rcd", self.t_rcd),
            ("t_rcd_write", self.activate_to_write()),
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
            ("t_rtw", self.read_to_write()),
            ("t_rtrs", self.t_rtrs),
            ("burst", self.burst),
        ];
        if let Some((name, time)) = named.iter().find(|(_, time)| *time > LONGEST) {
            return invalid(format!("timing.{name} is {} cycles: at most {}", time.0, LONGEST.0));
        }
        if self.burst == Cycle(0) {
            return invalid("timing.burst is 0: a burst needs time on the bus".into());
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

impl SameGroup {
    /// Write to write.
    pub(crate) fn write_to_write(&self) -> Cycle {
        self.t_ccd_write.unwrap_or(self.t_ccd)
    }

    fn check(&self, timing: &Timing) -> Result<(), DramError> {
        let named = [
            ("t_rrd", self.t_rrd, timing.t_rrd),
            ("t_wtr", self.t_wtr, timing.t_wtr),
            ("t_ccd", self.t_ccd, timing.t_ccd),
            ("t_ccd_write", self.write_to_write(), self.t_ccd),
        ];
        match named.iter().find(|(_, time, min)| time < min || *time > LONGEST) {
            Some((name, time, min)) => invalid(format!(
                "same_group.{name} is {}: choose {} to {}, because a group cannot be faster than its rank",
                time.0, min.0, LONGEST.0
            )),
            None => Ok(()),
        }
    }
}

impl CommandBus {
    /// The most cycles of a command.
    const MAX: u64 = 8;

    fn check(&self) -> Result<(), DramError> {
        let named = [("activate", self.activate), ("column", self.column)];
        match named.iter().find(|(_, time)| !(1..=Self::MAX).contains(&time.0)) {
            Some((name, time)) => {
                invalid(format!("command_bus.{name} is {} cycles: choose 1 to {}", time.0, Self::MAX))
            }
            None => Ok(()),
        }
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

    const USIMM: &str = include_str!("usimm.toml");

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
            ("block_bytes = 64", "block_bytes = 0", "geometry.block_bytes is 0: write 64"),
            ("block_bytes = 64", "block_bytes = 128", "geometry.block_bytes is 128: write 64"),
            ("banks = 8", "banks = 8\ngroups = 16", "16 groups"),
            ("banks = 8", "banks = 8\ngroups = 3", "number of groups is 3"),
            ("banks = 8", "banks = 8\nbursts = 16", "16 bursts"),
            ("\"rank\", \"column\"", "\"rank\"", "geometry.order"),
            ("[queues]", "[same_group]\nt_rrd = 5\nt_wtr = 6\nt_ccd = 3\n[queues]", "same_group.t_ccd is 3"),
            ("[queues]", "[command_bus]\nactivate = 2\ncolumn = 0\n[queues]", "command_bus.column is 0"),
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
            ("t_rcd = 11", "", "in section [timing]: missing field `t_rcd`"),
            ("mhz = 800", "", "in section [clock]: missing field `mhz`"),
            ("[clock]\nmhz = 800", "", "missing field `clock`"),
        ];
        for (from, to, said) in cases {
            let error = changed(from, to).unwrap_err().to_string();
            assert!(error.contains(said), "{to}: {error}");
        }
    }
}
