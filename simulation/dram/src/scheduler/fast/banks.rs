//! The cycles from which on banks, ranks and the data bus take commands.

use crate::command::Kind;
use crate::geometry::MAX_BANKS;
use crate::scheduler::request::Direction;
use crate::specification::Specification;

/// The row of a bank that has none open. There are fewer rows than that.
pub(super) const NO_ROW: u32 = u32::MAX;

/// An array by bank.
const BANKS: usize = MAX_BANKS as usize;
/// Four gates a rank, of which there are no more than banks.
const GATES: usize = BANKS * 4;

/// The gaps between commands, in cycles.
#[derive(Clone, Debug)]
struct Gaps {
    // Wide: a table of the description's times, each of which is looked up on its own.
    rcd: u64,
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
    refresh: u64,
}

/// A bank: the cycles from which on it takes each command, as far as it matters to the bank itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bank {
    pub(super) row: u32,
    pub(super) rank: u8,
    /// An activate, if no row is open.
    pub(super) activate: u64,
    /// A precharge, if a row is open.
    pub(super) precharge: u64,
    /// A read or write, if a row is open.
    pub(super) column: u64,
}

/// A rank: the same.
#[derive(Clone, Debug, Default)]
struct Rank {
    /// The ends of the windows of the last four activates; `oldest` is the index of the first of them.
    windows: [u64; 4],
    oldest: usize,
    refresh: u64,
    read: u64,
    write: u64,
    open_banks: u32,
}

/// The number of the gate through which a command comes to a rank; refreshes have none.
#[inline]
pub(super) fn gate(kind: Kind, rank: u8) -> u8 {
    rank << 2 | kind as u8
}

/// All banks of a channel, rank by rank, and its data bus.
#[derive(Clone, Debug)]
pub(super) struct Banks {
    gaps: Gaps,
    banks: [Bank; BANKS],
    ranks: Vec<Rank>,
    banks_a_rank: usize,
    /// The cycles from which on rank and bus let each command pass, by [`gate`]; nothing but
    /// the bank itself holds up a precharge.
    pub(super) gates: [u64; GATES],
}

impl Banks {
    pub(super) fn new(specification: &Specification) -> Self {
        let (geometry, timing) = (&specification.geometry, &specification.timing);
        let gaps = Gaps {
            rcd: timing.t_rcd.0,
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
            write_time: (timing.t_cwd + timing.burst).0,
            read_to_precharge: timing.t_rtp.0,
            write_to_precharge: timing.write_to_precharge().0,
            write_to_read: (timing.t_cwd + timing.burst + timing.t_wtr).0,
            refresh: specification.refresh.duration.0,
        };
        let bank = |nth| {
            let rank = (nth / geometry.banks as usize) as u8;
            Bank { row: NO_ROW, rank, activate: 0, precharge: 0, column: 0 }
        };
        Banks {
            gaps,
            banks: std::array::from_fn(bank),
            ranks: vec![Rank::default(); geometry.ranks as usize],
            banks_a_rank: geometry.banks as usize,
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
        bank.column = now + gaps.rcd;
        let rank = &mut self.ranks[bank.rank as usize];
        rank.open_banks += 1;
        rank.windows[rank.oldest] = now + gaps.faw;
        rank.oldest = (rank.oldest + 1) % 4;
        self.gates[usize::from(gate(Kind::Activate, bank.rank))] =
            (now + gaps.rrd).max(rank.windows[rank.oldest]);
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
        let gate = &mut self.gates[usize::from(gate(Kind::Activate, rank as u8))];
        *gate = end.max(*gate);
    }

    /// The time from a read or write to the next of the same row, if nothing else comes between.
    #[inline]
    pub(super) fn step(&self) -> u64 {
        self.gaps.ccd.max(self.gaps.burst)
    }

    /// The time from a read or write to the cycle after its burst.
    #[inline]
    pub(super) fn transfer_time(&self, direction: Direction) -> u64 {
        match direction {
            Direction::Read => self.gaps.read_time,
            Direction::Write => self.gaps.write_time,
        }
    }

    /// Returns whether a read or write delays those of other ranks at least as long as those of its own.
    pub(super) fn favours_own_rank(&self) -> bool {
        self.ranks.len() == 1 || self.gaps.ccd <= self.gaps.burst + self.gaps.rtrs
    }

    /// Takes note of a read or write, and of those of the same row in the last cycles before it, if any.
    #[inline]
    pub(super) fn column_command(&mut self, bank: usize, direction: Direction, now: u64) {
        let end = now + self.transfer_time(direction);
        let (gaps, bank) = (&self.gaps, &mut self.banks[bank % BANKS]);
        let moved = &mut self.ranks[bank.rank as usize];
        moved.write = now + gaps.ccd;
        let precharge = match direction {
            Direction::Read => {
                moved.read = moved.read.max(now + gaps.ccd);
                gaps.read_to_precharge
            }
            Direction::Write => {
                moved.read = now + gaps.ccd.max(gaps.write_to_read);
                gaps.write_to_precharge
            }
        };
        bank.precharge = bank.precharge.max(now + precharge);
        let turned = end + gaps.rtrs;
        let (read, write) = (turned.saturating_sub(gaps.cas), turned.saturating_sub(gaps.cwd));
        for (nth, rank) in self.ranks.iter().enumerate() {
            self.gates[(nth * 4 + Kind::Read as usize) % GATES] = rank.read.max(read);
            self.gates[(nth * 4 + Kind::Write as usize) % GATES] = rank.write.max(write);
        }
        let rank = &self.ranks[bank.rank as usize];
        let (kind, free) = match direction {
            Direction::Read => (Kind::Read, rank.read.max(end.saturating_sub(gaps.cas))),
            Direction::Write => (Kind::Write, rank.write.max(end.saturating_sub(gaps.cwd))),
        };
        self.gates[usize::from(gate(kind, bank.rank))] = free;
    }
}
