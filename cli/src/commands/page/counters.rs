//! The counters of the pager in the program, read when the program has ended.

use ameles_lab::paging::FaultTimes;
use std::io::{Read, Seek};
use std::time::Duration;

/// The counters of a program and its children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Counters {
    /// The measured faults, their times and the threads that shared their work.
    pub(super) times: FaultTimes,
    /// The part of the time in faults that writes victims through the scheme.
    pub(super) write: Duration,
    /// The part that reads pages through the scheme.
    pub(super) read: Duration,
    pub(super) evictions: u64,
    pub(super) soft_faults: u64,
    pub(super) trusted_bytes: u64,
    pub(super) heap_bytes: u64,
    /// The maximum number of bytes in the region.
    pub(super) paged_bytes: u64,
    /// The number of bytes of private memory outside of the region that the program had written to when it ended; 0 if
    /// unknown.
    pub(super) unpaged_bytes: u64,
    /// The number of programs that the program started.
    pub(super) children: u64,
    /// Children by `fork` and their children, which are paged too.
    pub(super) forks: Forks,
    /// The maximum number of resident pages at the end.
    pub(super) resident: u64,
    /// The number of resident pages that would have halved the faults; 0 if there is none, or it is unknown.
    pub(super) halving: u64,
    /// The name of the first started program, or of the program that replaced this one.
    pub(super) name: String,
}

/// The counters of children by `fork`, and of their children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Forks {
    /// The number of children.
    pub(super) count: u64,
    /// The number of faults of the children that have ended.
    pub(super) faults: u64,
    /// The number of evictions of these children.
    pub(super) evictions: u64,
}

/// The end of the program, as the preloaded library recorded it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ending {
    /// The program ended normally, or after the requested number of faults.
    Complete,
    /// The program ended without notice to the library, for example by a signal. The figures are slightly older.
    Abrupt,
    /// The program replaced itself with another one (exec), which is not paged.
    Replaced,
}

/// The counters that the preloaded library wrote.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum FinalCounters {
    /// The program ran without the library.
    Nothing,
    /// The library could not create the region and printed the reason. The program did not start.
    Refused,
    /// The figures.
    Figures(Box<Counters>, Ending),
}

impl FinalCounters {
    /// Reads the file.
    pub(super) fn read(mut file: impl Read + Seek) -> std::io::Result<Self> {
        file.rewind()?;
        let mut board = [0; BOARD_BYTES];
        file.read_exact(&mut board)?;
        let mut words = board.as_chunks::<8>().0.iter().map(|word| u64::from_ne_bytes(*word));
        let ending = match words.next().and_then(|state| u8::try_from(state).ok()) {
            Some(b'r') => return Ok(FinalCounters::Refused),
            Some(b's') => Ending::Abrupt,
            Some(b'e') => Ending::Complete,
            Some(b'x') => Ending::Replaced,
            _ => return Ok(FinalCounters::Nothing),
        };
        let mut counters = Counters::of(words);
        let name = &board[BOARD_BYTES - NAME_BYTES..];
        counters.name =
            String::from_utf8_lossy(name.split(|byte| *byte == 0).next().unwrap_or_default()).into_owned();
        Ok(FinalCounters::Figures(Box::new(counters), ending))
    }
}

/// The bytes of the board that the preloaded library writes: a state, the figures and a name.
pub(super) const BOARD_BYTES: usize = 8 * (1 + FIGURES) + NAME_BYTES;
const FIGURES: usize = 23;
const NAME_BYTES: usize = 64;

impl Counters {
    /// Reads the counters in the order in which the preloaded library writes them.
    fn of(mut figures: impl Iterator<Item = u64>) -> Self {
        let mut next = || figures.next().unwrap_or(0);
        let [faults, evictions, soft_faults] = [(); 3].map(|()| next());
        let times = [(); 9].map(|()| Duration::from_nanos(next()));
        let [elapsed, in_faults, moving, write, read, off_line, crypto, copying, second_process] = times;
        let [trusted_bytes, heap_bytes, threads] = [(); 3].map(|()| next());
        Counters {
            times: FaultTimes {
                faults,
                elapsed,
                in_faults,
                moving,
                off_line,
                crypto,
                copying,
                second_process,
                threads,
            },
            write,
            read,
            evictions,
            soft_faults,
            trusted_bytes,
            heap_bytes,
            paged_bytes: next(),
            unpaged_bytes: next(),
            children: next(),
            forks: Forks { count: next(), faults: next(), evictions: next() },
            resident: next(),
            halving: next(),
            name: String::new(),
        }
    }

    /// Returns the mean microseconds of a fault.
    pub(super) fn fault_micros(&self) -> f64 {
        self.times.in_faults.as_secs_f64() * 1e6 / self.times.faults.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn read_board(state: u8, name: &str) -> FinalCounters {
        let figures = (1..=FIGURES as u64).flat_map(|figure| (figure * 1000).to_ne_bytes());
        let mut board: Vec<u8> = u64::from(state).to_ne_bytes().into_iter().chain(figures).collect();
        board.extend(name.bytes());
        board.resize(BOARD_BYTES, 0);
        FinalCounters::read(Cursor::new(board)).unwrap()
    }

    #[test]
    fn counters_are_read_in_the_order_in_which_they_are_written() {
        let FinalCounters::Figures(counters, Ending::Replaced) = read_board(b'x', "cc1") else {
            panic!("figures")
        };
        assert_eq!((counters.times.faults, counters.evictions, counters.times.threads), (1000, 2000, 15_000));
        assert_eq!((counters.times.in_faults, counters.children), (Duration::from_micros(5), 18_000));
        assert_eq!((counters.resident, counters.halving), (22_000, 23_000));
        assert_eq!(counters.name, "cc1");
    }

    #[test]
    fn the_board_says_whether_the_program_ran_paged() {
        assert_eq!(read_board(0, ""), FinalCounters::Nothing);
        assert_eq!(read_board(b'r', ""), FinalCounters::Refused);
        assert!(matches!(read_board(b's', ""), FinalCounters::Figures(_, Ending::Abrupt)));
        assert!(matches!(read_board(b'e', ""), FinalCounters::Figures(_, Ending::Complete)));
    }
}
