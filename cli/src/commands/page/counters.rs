//! The counts of the pager in the program, read back when it has ended.

use std::io::{Read, Seek};
use std::time::Duration;

/// The counts of a program and its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    pub(super) faults: u64,
    pub(super) evictions: u64,
    pub(super) soft_faults: u64,
    pub(super) times: Times,
    pub(super) trusted_bytes: u64,
    pub(super) heap_bytes: u64,
    /// Threads that shared the work of a fault.
    pub(super) threads: u64,
    /// The most that the region held at a time.
    pub(super) paged_bytes: u64,
    /// Private memory elsewhere that the program wrote to, when it ended; 0 where that is not known.
    pub(super) unpaged_bytes: u64,
    /// Programs that it started.
    pub(super) children: u64,
    /// Children by `fork`, which were paged too, and theirs.
    pub(super) forks: Forks,
    /// Pages that might be resident at the end.
    pub(super) resident: u64,
    /// As many as would have halved the faults; 0 if none would have, or that is not known.
    pub(super) halving: u64,
    /// The first of the programs that it started, or the one that it made way for.
    pub(super) name: String,
}

/// The times of the faults that count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Times {
    /// The time from the first moment that counts to the last.
    pub(super) elapsed: Duration,
    /// Time in faults.
    pub(super) total: Duration,
    /// The part of it that moves pages in and out of the program's sight.
    pub(super) frames: Duration,
    /// The part of it that writes victims through the scheme.
    pub(super) write: Duration,
    /// The part of it that reads pages through the scheme.
    pub(super) read: Duration,
    /// Time in off-line work, beside the program.
    pub(super) idle: Duration,
    /// Time in ciphers, on all threads of the program, if that was metered.
    pub(super) crypto: Duration,
    /// Time in copies of sealed pages, on all threads of the program, if that was metered.
    pub(super) copying: Duration,
    /// Time in both in the second process, if that was metered.
    pub(super) beside: Duration,
}

/// The counts of children by `fork`, and of theirs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forks {
    /// The number of them.
    pub(super) count: u64,
    /// Faults of those that have ended.
    pub(super) faults: u64,
    /// Their evictions.
    pub(super) evictions: u64,
}

/// The end of the program, as the preloaded library has seen it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// Properly, or after as many faults as were asked for.
    Whole,
    /// Without a word to the library: by a signal, say. The figures are a little older than its end.
    Cut,
    /// It ran another program in its place, which is not paged.
    MadeWay,
}

/// The counts that the preloaded library has left.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LeftCounters {
    /// Nothing: the program ran without the library.
    Nothing,
    /// It could not make the region, and has said why. The program was not begun.
    Refused,
    /// The figures.
    Figures(Box<Counters>, Ending),
}

impl LeftCounters {
    /// Reads the file.
    pub(super) fn read(mut file: impl Read + Seek) -> std::io::Result<Self> {
        file.rewind()?;
        let mut board = [0; BOARD_BYTES];
        file.read_exact(&mut board)?;
        let mut words = board.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let how = match words.next().and_then(|state| u8::try_from(state).ok()) {
            Some(b'r') => return Ok(LeftCounters::Refused),
            Some(b's') => Ending::Cut,
            Some(b'e') => Ending::Whole,
            Some(b'x') => Ending::MadeWay,
            _ => return Ok(LeftCounters::Nothing),
        };
        let mut counted = Counters::of(words);
        let name = &board[BOARD_BYTES - NAME_BYTES..];
        counted.name =
            String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
        Ok(LeftCounters::Figures(Box::new(counted), how))
    }
}

/// The bytes of the board that the preloaded library lays out: a state, the figures, a name.
pub(super) const BOARD_BYTES: usize = 8 * (1 + FIGURES) + NAME_BYTES;
const FIGURES: usize = 23;
const NAME_BYTES: usize = 64;

impl Counters {
    /// The counts, in the order in which the preloaded library writes them.
    fn of(mut figures: impl Iterator<Item = u64>) -> Self {
        let mut next = || figures.next().unwrap_or(0);
        Counters {
            faults: next(),
            evictions: next(),
            soft_faults: next(),
            times: Times::of([(); 9].map(|()| Duration::from_nanos(next()))),
            trusted_bytes: next(),
            heap_bytes: next(),
            threads: next(),
            paged_bytes: next(),
            unpaged_bytes: next(),
            children: next(),
            forks: Forks { count: next(), faults: next(), evictions: next() },
            resident: next(),
            halving: next(),
            name: String::new(),
        }
    }

    /// Microseconds of one fault.
    pub(super) fn fault_micros(&self) -> f64 {
        self.times.total.as_secs_f64() * 1e6 / self.faults.max(1) as f64
    }
}

impl Times {
    fn of(times: [Duration; 9]) -> Self {
        let [elapsed, total, frames, write, read, idle, crypto, copying, beside] = times;
        Times { elapsed, total, frames, write, read, idle, crypto, copying, beside }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn left(state: u8, name: &str) -> LeftCounters {
        let figures = (1..=FIGURES as u64).flat_map(|figure| (figure * 1000).to_ne_bytes());
        let mut board: Vec<u8> = u64::from(state).to_ne_bytes().into_iter().chain(figures).collect();
        board.extend(name.bytes());
        board.resize(BOARD_BYTES, 0);
        LeftCounters::read(Cursor::new(board)).unwrap()
    }

    #[test]
    fn counters_are_read_in_the_order_in_which_they_are_written() {
        let LeftCounters::Figures(counted, Ending::MadeWay) = left(b'x', "cc1") else { panic!("figures") };
        assert_eq!((counted.faults, counted.evictions, counted.threads), (1000, 2000, 15_000));
        assert_eq!((counted.times.total, counted.children), (Duration::from_micros(5), 18_000));
        assert_eq!((counted.resident, counted.halving), (22_000, 23_000));
        assert_eq!(counted.name, "cc1");
    }

    #[test]
    fn what_was_left_says_whether_the_program_ran_paged() {
        assert_eq!(left(0, ""), LeftCounters::Nothing);
        assert_eq!(left(b'r', ""), LeftCounters::Refused);
        assert!(matches!(left(b's', ""), LeftCounters::Figures(_, Ending::Cut)));
        assert!(matches!(left(b'e', ""), LeftCounters::Figures(_, Ending::Whole)));
    }
}
