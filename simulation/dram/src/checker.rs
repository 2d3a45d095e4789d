//! The DRAM's own rules: judges a list of commands without knowing how they were chosen.

use crate::command::{Command, Kind};
use crate::specification::{SameGroup, Specification, Timing};
use crate::units::Cycle;
use std::collections::BTreeMap;
use std::fmt;

/// A rule of the DRAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rule {
    /// The commands of a channel are given in the order of time, and no command is given while another is on the bus.
    CommandBus,
    /// A row is opened in a precharged bank, used and closed while it is open; a refresh finds no open row.
    State,
    /// tRCD, for writes of HBM tRCDWR.
    Rcd,
    /// tRP.
    Rp,
    /// tRC.
    Rc,
    /// tRAS.
    Ras,
    /// tRRD, between bank groups tRRD_S.
    Rrd,
    /// tRRD_L.
    RrdSameGroup,
    /// tFAW.
    Faw,
    /// tWR.
    Wr,
    /// tWTR, between bank groups tWTR_S.
    Wtr,
    /// tWTR_L.
    WtrSameGroup,
    /// tRTP.
    Rtp,
    /// tRTW, if the standard has it.
    Rtw,
    /// tCCD, between bank groups tCCD_S.
    Ccd,
    /// tCCD_L.
    CcdSameGroup,
    /// tCCD_L_WR.
    CcdWriteSameGroup,
    /// Bursts do not overlap on the data bus, and come in the order of their commands.
    DataBus,
    /// tRTRS.
    Rtrs,
    /// tRFC.
    Rfc,
    /// A refresh was put off by more than eight times tREFI.
    Refi,
}

/// A rule that was broken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The rule.
    pub rule: Rule,
    /// The command that came too early; for a refresh that never came, the last cycle that was judged.
    pub cycle: Cycle,
    /// The channel.
    pub channel: u32,
    /// The command with which it conflicts, if the rule is about two.
    pub earlier: Option<Command>,
}

/// A judge of the commands of one memory.
#[derive(Clone, Debug)]
pub struct Checker {
    specification: Specification,
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} is violated in {} of channel {}", self.rule, self.cycle, self.channel)?;
        self.earlier.map_or(Ok(()), |earlier| write!(f, ", after {earlier:?}"))
    }
}

impl Checker {
    /// Makes a judge for memories of a description.
    pub fn new(specification: &Specification) -> Self {
        Checker { specification: specification.clone() }
    }

    /// Checks all commands before the cycle `end`: those of each channel in chronological order, channels in any
    /// order.
    ///
    /// # Errors
    /// The first violation of the first channel that has one.
    pub fn check(&self, commands: &[Command], end: Cycle) -> Result<(), Violation> {
        for channel in 0..self.specification.geometry.channels {
            let (mut judged, mut open) = (Vec::new(), BTreeMap::new());
            for command in commands.iter().filter(|command| command.channel == channel) {
                self.check_next(&judged, &mut open, command)?;
                judged.push(*command);
            }
            self.check_refreshes(&judged, channel, end)?;
        }
        Ok(())
    }

    /// Judges a command after those that came before it in its channel.
    fn check_next(
        &self,
        before: &[Command],
        open: &mut OpenRows,
        command: &Command,
    ) -> Result<(), Violation> {
        let broken =
            |rule, earlier| Violation { rule, cycle: command.cycle, channel: command.channel, earlier };
        let held = |last: &Command| match last.kind {
            Kind::Activate => self.specification.command_bus.activate,
            Kind::Read | Kind::Write => self.specification.command_bus.column,
            Kind::Precharge | Kind::Refresh => Cycle(1),
        };
        if let Some(last) = before.last().filter(|last| command.cycle < last.cycle + held(last)) {
            return Err(broken(Rule::CommandBus, Some(*last)));
        }
        if !is_state_right(open, command) {
            return Err(broken(Rule::State, None));
        }
        let horizon = self.horizon();
        let recent = || {
            let is_recent = |earlier: &&Command| earlier.cycle + horizon >= command.cycle;
            before.iter().rev().take_while(is_recent)
        };
        for earlier in recent() {
            for (rule, gap) in self.gaps(earlier, command) {
                if command.cycle < earlier.cycle + gap {
                    return Err(broken(rule, Some(*earlier)));
                }
            }
        }
        if command.kind == Kind::Activate {
            let mut activates =
                recent().filter(|earlier| earlier.kind == Kind::Activate && earlier.rank == command.rank);
            if let Some(fourth) = activates.nth(3)
                && command.cycle < fourth.cycle + self.specification.timing.t_faw
            {
                return Err(broken(Rule::Faw, Some(*fourth)));
            }
        }
        Ok(())
    }

    /// The least times from one command to another of its channel, with the rules that require them.
    fn gaps(&self, earlier: &Command, command: &Command) -> Vec<(Rule, Cycle)> {
        let timing = &self.specification.timing;
        let mut gaps = Vec::new();
        if let (Some((begin, _)), Some((_, end))) = (burst(timing, command.kind), burst(timing, earlier.kind))
        {
            // The burst may begin when the earlier one has ended: `cycle + begin >= earlier + end`.
            let after = |end: Cycle| Cycle(end.0.saturating_sub(begin.0));
            gaps.push((Rule::DataBus, after(end)));
            if earlier.rank != command.rank || earlier.kind != command.kind {
                gaps.push((Rule::Rtrs, after(end + timing.t_rtrs)));
            }
        }
        if earlier.rank != command.rank {
            return gaps;
        }
        let written = timing.t_cwd + timing.burst;
        let refresh = self.specification.refresh.duration;
        match (earlier.kind, command.kind) {
            (Kind::Activate, Kind::Activate) => gaps.push((Rule::Rrd, timing.t_rrd)),
            (Kind::Activate, Kind::Refresh) => gaps.push((Rule::Rc, timing.t_rc)),
            (Kind::Precharge, Kind::Refresh) => gaps.push((Rule::Rp, timing.t_rp)),
            (Kind::Refresh, _) => gaps.push((Rule::Rfc, refresh)),
            (Kind::Write, Kind::Read) => {
                gaps.extend([(Rule::Ccd, timing.t_ccd), (Rule::Wtr, written + timing.t_wtr)]);
            }
            (Kind::Read, Kind::Write) => {
                gaps.push((Rule::Ccd, timing.t_ccd));
                gaps.extend(timing.t_rtw.map(|t_rtw| (Rule::Rtw, t_rtw)));
            }
            (Kind::Read | Kind::Write, Kind::Read | Kind::Write) => gaps.push((Rule::Ccd, timing.t_ccd)),
            _ => {}
        }
        let groups = self.specification.geometry.groups;
        if earlier.bank % groups == command.bank % groups {
            gaps.extend(self.group_gaps(earlier.kind, command.kind));
        }
        if earlier.bank != command.bank {
            return gaps;
        }
        match (earlier.kind, command.kind) {
            (Kind::Activate, Kind::Activate) => gaps.push((Rule::Rc, timing.t_rc)),
            (Kind::Activate, Kind::Read) => gaps.push((Rule::Rcd, timing.t_rcd)),
            (Kind::Activate, Kind::Write) => {
                gaps.push((Rule::Rcd, timing.t_rcd_write.unwrap_or(timing.t_rcd)));
            }
            (Kind::Activate, Kind::Precharge) => gaps.push((Rule::Ras, timing.t_ras)),
            (Kind::Precharge, Kind::Activate) => gaps.push((Rule::Rp, timing.t_rp)),
            (Kind::Read, Kind::Precharge) => gaps.push((Rule::Rtp, timing.t_rtp)),
            (Kind::Write, Kind::Precharge) => gaps.push((Rule::Wr, written + timing.t_wr)),
            _ => {}
        }
        gaps
    }

    /// The least times between two commands of a bank group.
    fn group_gaps(&self, earlier: Kind, command: Kind) -> Vec<(Rule, Cycle)> {
        let Specification { timing, same_group, .. } = &self.specification;
        let Some(SameGroup { t_rrd, t_wtr, t_ccd, t_ccd_write }) = same_group else { return Vec::new() };
        let ccd = (Rule::CcdSameGroup, *t_ccd);
        match (earlier, command) {
            (Kind::Activate, Kind::Activate) => vec![(Rule::RrdSameGroup, *t_rrd)],
            (Kind::Write, Kind::Read) => {
                vec![ccd, (Rule::WtrSameGroup, timing.t_cwd + timing.burst + *t_wtr)]
            }
            (Kind::Write, Kind::Write) => {
                vec![ccd, (Rule::CcdWriteSameGroup, t_ccd_write.unwrap_or(*t_ccd))]
            }
            (Kind::Read, Kind::Read | Kind::Write) => vec![ccd],
            _ => Vec::new(),
        }
    }

    /// A time after which no command affects a later one, except through the state of the banks.
    fn horizon(&self) -> Cycle {
        let Timing { t_rcd, t_rcd_write, t_rp, t_cas, t_cwd, t_rc, t_ras, t_rrd, t_faw, .. } =
            self.specification.timing;
        let Timing { t_wr, t_wtr, t_rtp, t_ccd, t_rtw, t_rtrs, burst, .. } = self.specification.timing;
        let all =
            [t_rcd, t_rp, t_cas, t_cwd, t_rc, t_ras, t_rrd, t_faw, t_wr, t_wtr, t_rtp, t_ccd, t_rtrs, burst];
        let SameGroup { t_rrd: rrd_l, t_wtr: wtr_l, t_ccd: ccd_l, t_ccd_write } =
            self.specification.same_group.clone().unwrap_or_default();
        let group = [rrd_l, wtr_l, ccd_l, t_ccd_write.unwrap_or_default()];
        let hbm = [t_rcd_write.unwrap_or_default(), t_rtw.unwrap_or_default()];
        let refresh = self.specification.refresh.duration;
        all.into_iter().chain(group).chain(hbm).fold(refresh, |sum, time| sum + time)
    }

    /// Judges the refreshes: the k-th of a rank may come eight intervals after its time, k intervals, and no later.
    fn check_refreshes(&self, commands: &[Command], channel: u32, end: Cycle) -> Result<(), Violation> {
        for rank in 0..self.specification.geometry.ranks {
            let is_of_rank = |command: &&Command| command.kind == Kind::Refresh && command.rank == rank;
            let cycles = commands.iter().filter(is_of_rank).map(|command| command.cycle);
            for (nth, cycle) in cycles.chain([end]).enumerate() {
                if cycle > self.specification.refresh.interval * (nth as u64 + 1 + 8) {
                    return Err(Violation { rule: Rule::Refi, cycle, channel, earlier: None });
                }
            }
        }
        Ok(())
    }
}

/// The begin and end of a command's burst, relative to the command.
fn burst(timing: &Timing, kind: Kind) -> Option<(Cycle, Cycle)> {
    let latency = match kind {
        Kind::Read => timing.t_cas,
        Kind::Write => timing.t_cwd,
        Kind::Activate | Kind::Precharge | Kind::Refresh => return None,
    };
    Some((latency, latency + timing.burst))
}

/// The open rows by rank and bank.
type OpenRows = BTreeMap<(u32, u32), u32>;

/// Returns whether the bank of a command, or all banks of its rank, are in the state that the command requires. Records
/// the state after it.
fn is_state_right(open: &mut OpenRows, command: &Command) -> bool {
    let bank = (command.rank, command.bank);
    match command.kind {
        Kind::Activate => open.insert(bank, command.row).is_none(),
        Kind::Precharge => open.remove(&bank) == Some(command.row),
        Kind::Read | Kind::Write => open.get(&bank) == Some(&command.row),
        Kind::Refresh => !open.keys().any(|(rank, _)| *rank == command.rank),
    }
}
