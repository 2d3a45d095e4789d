//! The cycles from which on banks, ranks and the data bus take commands.

use crate::command::Kind;
use crate::geometry::MAX_BANKS;
use crate::scheduler::request::Direction;
use crate::specification::Specification;

/// The row of a bank that has none open. There are fewer rows than that.
pub(super) const NO_ROW: u32 = u32::MAX;

/// An array by bank.
const BANKS: usize = MAX_BANKS as usize;
/// Four gates a bank group, of which there are no more than banks.
const GATES: usize = BANKS * 4;

/// The gaps between commands, in cycles.
#[derive(Clone, Debug)]
struct Gaps {
    // Wide: a table of the description's times, each of which is looked up on its own.
    rcd: u64,
    rcd_write: u64,
    rp: u64,
    rc: u64,
    ras: u64,
    rrd: u64,
    faw: u64,
    ccd: u64,
    rtrs: u64,
    burst: u64,
    cas: u64,
    cwd: u64,
    /// Read or write to the cycle after its burst.
    read_time: u64,
    write_time: u64,
    read_to_precharge: u64,
    write_to_precharge: u64,
    write_to_read: u64,
    read_to_write: u64,
    refresh: u64,
    same_group: GroupGaps,
}

/// The gaps in one bank group.
#[derive(Clone, Debug)]
struct GroupGaps {
    rrd: u64,
    ccd: u64,
    write_to_write: u64,
    write_to_read: u64,
}

/// A bank: the cycles from which on it takes each command, as far as it matters to the bank itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    pub(super) row: u32,
    pub(super) rank: u8,
    /// The bank group of the bank, counted through all ranks.
    pub(super) group: u8,
    /// An activate, if no row is open.
    pub(super) activate: u64,
    /// A precharge, if a row is open.
    pub(super) precharge: u64,
    /// A read, if a row is open.
    pub(super) read: u64,
    /// A write, if a row is open.
    pub(super) write: u64,
}

/// A rank: the same.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// The ends of the windows of the last four activates; `oldest` is the index of the first of them.
    windows: [u64; 4],
    oldest: usize,
    refresh: u64,
    open_banks: u32,
}

/// A bank group: the same, for what the groups of its rank hold up too.
#[derive(Clone, Debug)]
struct Group {
    rank: u8,
    read: u64,
    write: u64,
}

/// The number of the gate through which a command comes to a bank group; refreshes have none.
#[inline]
pub(super) fn gate(kind: Kind, group: u8) -> u8 {
    group << 2 | kind as u8
}

/// All banks of a channel, rank by rank, and its data bus.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    gaps: Gaps,
    banks: [Bank; BANKS],
    ranks: Vec<Rank>,
    groups: Vec<Group>,
    banks_a_rank: usize,
    groups_a_rank: usize,
    /// The cycles from which on rank, bank group and data bus let each command pass, by [`gate`]. Only the bank itself
    /// delays a precharge.
    pub(super) gates: [u64; GATES],
}

impl Banks {
    pub(super) fn new(specification: &Specification) -> Self {
        let (geometry, timing) = (&specification.geometry, &specification.timing);
        let same_group = specification.same_group();
        let write_time = timing.t_cwd + timing.burst;
        let gaps = Gaps {
            rcd: timing.t_rcd.0,
            rcd_write: timing.activate_to_write().0,
            rp: timing.t_rp.0,
            rc: timing.t_rc.0,
            ras: timing.t_ras.0,
            rrd: timing.t_rrd.0,
            faw: timing.t_faw.0,
            ccd: timing.t_ccd.0,
            rtrs: timing.t_rtrs.0,
            burst: timing.burst.0,
            cas: timing.t_cas.0,
            cwd: timing.t_cwd.0,
            read_time: (timing.t_cas + timing.burst).0,
            write_time: write_time.0,
            read_to_precharge: timing.t_rtp.0,
            write_to_precharge: timing.write_to_precharge().0,
            write_to_read: (write_time + timing.t_wtr).0,
            read_to_write: timing.read_to_write().0,
            refresh: specification.refresh.duration.0,
            same_group: GroupGaps {
                rrd: same_group.t_rrd.0,
                ccd: same_group.t_ccd.0,
                write_to_write: same_group.write_to_write().0,
                write_to_read: (write_time + same_group.t_wtr).0,
            },
        };
        let (banks_a_rank, groups_a_rank) = (geometry.banks as usize, geometry.groups as usize);
        let bank = |nth| {
            let (rank, bank) = (nth / banks_a_rank, nth % banks_a_rank);
            let group = rank * groups_a_rank + bank % groups_a_rank;
            Bank {
                row: NO_ROW,
                rank: rank as u8,
                group: group as u8,
                activate: 0,
                precharge: 0,
                read: 0,
                write: 0,
            }
        };
        let groups = 0..geometry.ranks as usize * groups_a_rank;
        Banks {
            gaps,
            banks: std::array::from_fn(bank),
            ranks: vec![Rank::default(); geometry.ranks as usize],
            groups: groups
                .map(|nth| Group { rank: (nth / groups_a_rank) as u8, read: 0, write: 0 })
                .collect(),
            banks_a_rank,
            groups_a_rank,
            gates: [0; GATES],
        }
    }

    #[inline]
    pub(super) fn get(&self, bank: usize) -> &Bank {
        &self.banks[bank % BANKS]
    }

    /// The first bank of a rank.
    #[inline]
    pub(super) fn nth(&self, rank: u8) -> usize {
        usize::from(rank) * self.banks_a_rank
    }

    /// The banks of a rank.
    pub(super) fn of_rank(&self, rank: usize) -> std::ops::Range<usize> {
        rank * self.banks_a_rank..(rank + 1) * self.banks_a_rank
    }

    pub(super) fn is_open(&self, rank: usize) -> bool {
        self.ranks[rank].open_banks > 0
    }

    /// The first cycle in which a rank takes a refresh, if all its banks are precharged.
    pub(super) fn refresh_cycle(&self, rank: usize) -> u64 {
        let banks = self.banks[self.of_rank(rank)].iter().map(|bank| bank.activate);
        banks.fold(self.ranks[rank].refresh, u64::max)
    }

    pub(super) fn activate(&mut self, bank: usize, row: u32, now: u64) {
        let (gaps, bank) = (&self.gaps, &mut self.banks[bank]);
        bank.row = row;
        bank.activate = now + gaps.rc;
        bank.precharge = now + gaps.ras;
        bank.read = now + gaps.rcd;
        bank.write = now + gaps.rcd_write;
        let rank = &mut self.ranks[bank.rank as usize];
        rank.open_banks += 1;
        rank.windows[rank.oldest] = now + gaps.faw;
        rank.oldest = (rank.oldest + 1) % 4;
        let free = (now + gaps.rrd).max(rank.windows[rank.oldest]);
        let own = now + gaps.same_group.rrd;
        let (nth_rank, nth_group) = (usize::from(bank.rank), bank.group);
        self.delay_activates(nth_rank, free);
        let gate = &mut self.gates[usize::from(gate(Kind::Activate, nth_group)) % GATES];
        *gate = own.max(*gate);
    }

    /// Lets no group of a rank take an activate before a cycle.
    #[inline]
    fn delay_activates(&mut self, rank: usize, until: u64) {
        for group in rank * self.groups_a_rank..(rank + 1) * self.groups_a_rank {
            let gate = &mut self.gates[usize::from(gate(Kind::Activate, group as u8)) % GATES];
            *gate = until.max(*gate);
        }
    }

    pub(super) fn precharge(&mut self, bank: usize, now: u64) {
        let bank = &mut self.banks[bank];
        bank.row = NO_ROW;
        bank.activate = bank.activate.max(now + self.gaps.rp);
        self.ranks[bank.rank as usize].open_banks -= 1;
    }

    pub(super) fn refresh(&mut self, rank: usize, now: u64) {
        let end = now + self.gaps.refresh;
        self.ranks[rank].refresh = end;
        self.delay_activates(rank, end);
    }

    /// The time from a read or write to the next of the same row, if nothing else comes between.
    #[inline]
    pub(super) fn step(&self, direction: Direction) -> u64 {
        let GroupGaps { ccd, write_to_write, .. } = self.gaps.same_group;
        let gap = if direction == Direction::Write { ccd.max(write_to_write) } else { ccd };
        gap.max(self.gaps.burst)
    }

    /// The time from a read or write to the cycle after its burst.
    #[inline]
    pub(super) fn transfer_time(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.gaps.read_time,
            Direction::Write => self.gaps.write_time,
        }
    }

    /// Returns whether a read or write delays those of other banks at least as long as those of its own.
    pub(super) fn favours_own_bank(&self) -> bool {
        let step = self.step(Direction::Read).max(self.step(Direction::Write));
        let is_alone = self.groups_a_rank == 1 || step <= self.gaps.ccd.max(self.gaps.burst);
        is_alone && (self.ranks.len() == 1 || step <= self.gaps.burst + self.gaps.rtrs)
    }

    /// Takes note of a read or write, and of those of the same row in the last cycles before it, if any.
    #[inline]
    pub(super) fn column_command(&mut self, bank: usize, direction: Direction, now: u64) {
        let end = now + self.transfer_time(direction);
        let Banks { gaps, banks, groups, gates, .. } = self;
        let bank = &mut banks[bank % BANKS];
        let precharge = match direction {
            Direction::Read => gaps.read_to_precharge,
            Direction::Write => gaps.write_to_precharge,
        };
        bank.precharge = bank.precharge.max(now + precharge);
        let turned = end + gaps.rtrs;
        for (nth, group) in groups.iter_mut().enumerate() {
            let (mut read, mut write) = (turned.saturating_sub(gaps.cas), turned.saturating_sub(gaps.cwd));
            if group.rank == bank.rank {
                group.delay(gaps, usize::from(bank.group) == nth, direction, now);
                match direction {
                    Direction::Read => read = end.saturating_sub(gaps.cas),
                    Direction::Write => write = end.saturating_sub(gaps.cwd),
                }
            }
            gates[(nth * 4 + Kind::Read as usize) % GATES] = group.read.max(read);
            gates[(nth * 4 + Kind::Write as usize) % GATES] = group.write.max(write);
        }
    }
}

impl Group {
    /// Takes note of a read or write in this group, or in another of its rank.
    #[inline]
    fn delay(&mut self, gaps: &Gaps, is_own: bool, direction: Direction, now: u64) {
        let (ccd, write_to_write, write_to_read) = if is_own {
            let GroupGaps { ccd, write_to_write, write_to_read, .. } = gaps.same_group;
            (ccd, ccd.max(write_to_write), ccd.max(write_to_read))
        } else {
            (gaps.ccd, gaps.ccd, gaps.ccd.max(gaps.write_to_read))
        };
        let (read, write) = match direction {
            Direction::Read => (ccd, ccd.max(gaps.read_to_write)),
            Direction::Write => (write_to_read, write_to_write),
        };
        self.read = self.read.max(now + read);
        self.write = self.write.max(now + write);
    }
}
