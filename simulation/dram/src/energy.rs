//! Counts of commands and of time, and the energy computed from them.
//!
//! The formulas are those of Micron's technical note TN-41-01 ("Calculating memory system power for DDR3"). Power-down
//! is left out, because the model has none. Termination is left out, because it depends on the board.

use crate::command::{Command, Kind};
use crate::specification::Specification;
use crate::units::{Cycle, Picojoules};
use std::ops::AddAssign;

/// The work of a memory, or of a part of it, from cycle 0 to the cycle of the query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The number of activates.
    pub activates: u64,
    /// The number of precharges.
    pub precharges: u64,
    /// The number of reads, one per burst. Forwarded reads are not counted.
    pub reads: u64,
    /// The number of writes, one per burst.
    pub writes: u64,
    /// The number of refreshes, each of a rank.
    pub refreshes: u64,
    /// The number of reads that a queued write answered, without a command.
    pub forwarded: u64,
    /// The time with an open bank, summed over the ranks.
    pub open: Cycle,
    /// The time without, summed over the ranks.
    pub precharged: Cycle,
}

/// The energy of a memory by its cause.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Energy {
    /// Opening and closing rows, above standby.
    pub activate: Picojoules,
    /// Reads, above standby.
    pub read: Picojoules,
    /// Writes, above standby.
    pub write: Picojoules,
    /// Refreshes, above standby.
    pub refresh: Picojoules,
    /// Standby.
    pub background: Picojoules,
}

impl Counts {
    /// The energy of this work in a memory of the given description.
    pub fn energy(&self, specification: &Specification) -> Energy {
        let Specification { power, timing, refresh, clock, .. } = specification;
        // Milliamperes times volts times nanoseconds are picojoules.
        let of_rank = power.volts * f64::from(power.devices) * 1000.0 / f64::from(clock.mhz);
        let amount = |milliamperes: f64, time: Cycle, times: u64| {
            Picojoules(milliamperes * time.0 as f64 * times as f64 * of_rank)
        };
        let (open, closed) = (power.idd3n_ma, power.idd2n_ma);
        let row = power.idd0_ma * timing.t_rc.0 as f64
            - open * timing.t_ras.0 as f64
            - closed * (timing.t_rc - timing.t_ras).0 as f64;
        Energy {
            activate: amount(row, Cycle(1), self.activates),
            read: amount(power.idd4r_ma - open, timing.burst, self.reads),
            write: amount(power.idd4w_ma - open, timing.burst, self.writes),
            refresh: amount(power.idd5_ma - open, refresh.duration, self.refreshes),
            background: amount(open, self.open, 1) + amount(closed, self.precharged, 1),
        }
    }
}

impl Energy {
    /// The sum over all causes.
    pub fn total(&self) -> Picojoules {
        self.activate + self.read + self.write + self.refresh + self.background
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.activates += other.activates;
        self.precharges += other.precharges;
        self.reads += other.reads;
        self.writes += other.writes;
        self.refreshes += other.refreshes;
        self.forwarded += other.forwarded;
        self.open += other.open;
        self.precharged += other.precharged;
    }
}

/// The counts of a channel while it works.
#[derive(Clone, Debug)]
pub(crate) struct Meter {
    /// Commands by kind.
    commands: [u64; 5],
    /// The time with an open bank, up to the last precharge.
    open: Cycle,
    /// The number of requests that are done.
    done: u64,
    /// The open banks of each rank, and the cycle since which a bank is open.
    ranks: Vec<(u32, Cycle)>,
}

impl Meter {
    pub(crate) fn new(ranks: u32) -> Self {
        Meter { commands: [0; 5], open: Cycle(0), done: 0, ranks: vec![(0, Cycle(0)); ranks as usize] }
    }

    #[inline]
    pub(crate) fn on_command(&mut self, command: &Command) {
        self.commands[command.kind as usize] += 1;
        match command.kind {
            Kind::Activate => {
                let (open, since) = &mut self.ranks[command.rank as usize];
                if *open == 0 {
                    *since = command.cycle;
                }
                *open += 1;
            }
            Kind::Precharge => {
                let (open, since) = &mut self.ranks[command.rank as usize];
                *open -= 1;
                if *open == 0 {
                    self.open += command.cycle - *since;
                }
            }
            Kind::Read | Kind::Write | Kind::Refresh => {}
        }
    }

    #[inline]
    pub(crate) fn on_done(&mut self) {
        self.done += 1;
    }

    /// The counts before `now`. Everything before `now` must have been simulated.
    pub(crate) fn counts(&self, now: Cycle) -> Counts {
        let of = |kind: Kind| self.commands[kind as usize];
        let (reads, writes) = (of(Kind::Read), of(Kind::Write));
        let mut counts = Counts {
            activates: of(Kind::Activate),
            precharges: of(Kind::Precharge),
            reads,
            writes,
            refreshes: of(Kind::Refresh),
            // All others took a command each.
            forwarded: self.done - reads - writes,
            open: self.open,
            precharged: Cycle(0),
        };
        for (open, since) in &self.ranks {
            if *open > 0 {
                counts.open += now - *since;
            }
        }
        counts.precharged = now * self.ranks.len() as u64 - counts.open;
        counts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(cycle: u64, kind: Kind, rank: u32) -> Command {
        Command { cycle: Cycle(cycle), kind, channel: 0, rank, bank: 0, row: 0, column: 0 }
    }

    #[test]
    fn a_rank_is_open_from_its_first_activate_to_its_last_precharge() {
        let mut meter = Meter::new(2);
        let commands = [
            (10, Kind::Activate, 0),
            (15, Kind::Activate, 0),
            (40, Kind::Precharge, 0),
            (50, Kind::Precharge, 0),
            (60, Kind::Activate, 1),
        ];
        for (cycle, kind, rank) in commands {
            meter.on_command(&command(cycle, kind, rank));
        }
        let counts = meter.counts(Cycle(100));
        assert_eq!((counts.open, counts.precharged), (Cycle(40 + 40), Cycle(200 - 80)));
        assert_eq!((counts.activates, counts.precharges), (3, 2));
    }

    #[test]
    fn energy_is_what_the_data_sheet_gives_by_hand() {
        let usimm = Specification::usimm();
        // A cycle is 1.25 ns; 8 devices at 1.5 V use 15 pJ per milliampere and cycle.
        let counts = Counts { activates: 1, ..Counts::default() };
        assert_eq!(
            counts.energy(&usimm).total(),
            Picojoules((55.0 * 39.0 - 38.0 * 28.0 - 28.0 * 11.0) * 15.0)
        );
        let counts = Counts { reads: 2, writes: 1, refreshes: 1, ..Counts::default() };
        let energy = counts.energy(&usimm);
        assert_eq!(energy.read, Picojoules((157.0 - 38.0) * 4.0 * 2.0 * 15.0));
        assert_eq!(energy.write, Picojoules((128.0 - 38.0) * 4.0 * 15.0));
        assert_eq!(energy.refresh, Picojoules((155.0 - 38.0) * 208.0 * 15.0));
        let counts = Counts { open: Cycle(10), precharged: Cycle(100), ..Counts::default() };
        assert_eq!(counts.energy(&usimm).total(), Picojoules((380.0 + 2800.0) * 15.0));
    }
}
