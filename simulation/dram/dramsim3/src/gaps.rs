//! The least times between commands of a channel, by the place of the second one.

use ameles_dram::{Cycle, Kind, SameGroup, Specification};

/// The place of a command, seen from an earlier one.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Relation {
    OtherRank,
    SameRank,
    SameGroup,
    SameBank,
}

/// The times of a memory.
pub(crate) struct Gaps {
    pub(crate) specification: Specification,
    pub(crate) same_group: SameGroup,
    /// True if writes of two ranks follow each other without t_rtrs.
    pub(crate) has_free_writes: bool,
}

impl Gaps {
    /// The least time from a command to each kind of later command that it delays.
    pub(crate) fn after(&self, kind: Kind, relation: Relation) -> Vec<(Kind, Cycle)> {
        let (is_in_rank, is_in_group) = (relation >= Relation::SameRank, relation >= Relation::SameGroup);
        let timing = &self.specification.timing;
        let (group, burst, rtrs) = (&self.same_group, timing.burst, timing.t_rtrs);
        let (read, write) = (timing.t_cas + burst, timing.t_cwd + burst);
        let later = |end: Cycle, latency: Cycle| Cycle(end.0.saturating_sub(latency.0));
        let pick =
            |in_group: Cycle, in_rank: Cycle| if is_in_group { in_group.max(in_rank) } else { in_rank };
        let mut gaps = match (kind, is_in_rank) {
            (Kind::Read, true) => vec![
                (Kind::Read, pick(group.t_ccd, timing.t_ccd).max(burst)),
                (Kind::Write, later(read + rtrs, timing.t_cwd)),
            ],
            (Kind::Write, true) => vec![
                (Kind::Read, write + pick(group.t_wtr, timing.t_wtr)),
                (Kind::Write, pick(group.t_ccd, timing.t_ccd).max(burst)),
            ],
            (Kind::Read, false) => {
                vec![(Kind::Read, burst + rtrs), (Kind::Write, later(read + rtrs, timing.t_cwd))]
            }
            (Kind::Write, false) => {
                let free = self.has_free_writes;
                vec![
                    (Kind::Read, later(write + rtrs, timing.t_cas)),
                    (Kind::Write, if free { burst } else { burst + rtrs }),
                ]
            }
            (Kind::Activate, true) => vec![(Kind::Activate, pick(group.t_rrd, timing.t_rrd))],
            (Kind::Refresh, true) => {
                let duration = self.specification.refresh.duration;
                vec![(Kind::Activate, duration), (Kind::Refresh, duration)]
            }
            _ => Vec::new(),
        };
        if relation == Relation::SameBank {
            gaps.extend(match kind {
                Kind::Activate => vec![
                    (Kind::Activate, timing.t_rc),
                    (Kind::Refresh, timing.t_rc),
                    (Kind::Read, timing.t_rcd),
                    (Kind::Write, timing.t_rcd_write.unwrap_or(timing.t_rcd)),
                    (Kind::Precharge, timing.t_ras),
                ],
                Kind::Precharge => vec![(Kind::Activate, timing.t_rp), (Kind::Refresh, timing.t_rp)],
                Kind::Read => vec![(Kind::Precharge, timing.t_rtp)],
                Kind::Write => vec![(Kind::Precharge, write + timing.t_wr)],
                Kind::Refresh => Vec::new(),
            });
        }
        gaps
    }
}
