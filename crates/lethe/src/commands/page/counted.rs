//! What the pager has counted in the program, read back when it has ended.

use std::io::{Read, Seek};
use std::time::Duration;

/// The counters, in the order in which the preloaded library writes them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Counted {
    pub(super) faults: u64,
    pub(super) evictions: u64,
    pub(super) soft_faults: u64,
    /// From the first moment that counts to the last.
    pub(super) elapsed: Duration,
    /// Time in faults.
    pub(super) total: Duration,
    /// Of it, moving pages in and out of the program's sight.
    pub(super) frames: Duration,
    /// Of it, writing victims through the scheme.
    pub(super) write: Duration,
    /// Of it, reading pages through the scheme.
    pub(super) read: Duration,
    /// Time in off-line work, beside the program.
    pub(super) idle: Duration,
    /// Time in ciphers, on all threads of the program, if that was metered.
    pub(super) crypto: Duration,
    /// Time in copies of sealed pages, on all threads of the program, if that was metered.
    pub(super) copying: Duration,
    /// Time in both in the second process, if that was metered.
    pub(super) beside: Duration,
    pub(super) trusted_bytes: u64,
    pub(super) heap_bytes: u64,
    /// Threads that shared the work of a fault.
    pub(super) threads: u64,
}

/// What the preloaded library has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    /// Nothing: the program ran without the library.
    Nothing,
    /// It could not make the region, and has said why. The program was not begun.
    Refused,
    /// The program ran paged, and ended in a way that leaves no figures.
    NoFigures,
    /// The figures.
    Figures(Counted),
}

impl Left {
    /// Reads the file.
    pub(super) fn read(mut file: impl Read + Seek) -> std::io::Result<Self> {
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(match (Counted::read(&bytes), bytes.first()) {
            (Some(counted), _) => Left::Figures(counted),
            (None, None) => Left::Nothing,
            (None, Some(b'r')) => Left::Refused,
            (None, Some(_)) => Left::NoFigures,
        })
    }
}

impl Counted {
    /// Bytes of the file.
    const BYTES: usize = 15 * 8;

    /// `None` of anything but all the figures.
    fn read(bytes: &[u8]) -> Option<Self> {
        let bytes = <&[u8; Self::BYTES]>::try_from(bytes).ok()?;
        let mut figures = bytes.chunks_exact(8).map(|figure| {
            let mut eight = [0; 8];
            eight.copy_from_slice(figure);
            u64::from_le_bytes(eight)
        });
        let mut next = || figures.next().unwrap_or(0);
        Some(Counted {
            faults: next(),
            evictions: next(),
            soft_faults: next(),
            elapsed: Duration::from_nanos(next()),
            total: Duration::from_nanos(next()),
            frames: Duration::from_nanos(next()),
            write: Duration::from_nanos(next()),
            read: Duration::from_nanos(next()),
            idle: Duration::from_nanos(next()),
            crypto: Duration::from_nanos(next()),
            copying: Duration::from_nanos(next()),
            beside: Duration::from_nanos(next()),
            trusted_bytes: next(),
            heap_bytes: next(),
            threads: next(),
        })
    }

    /// Microseconds of one fault.
    pub(super) fn fault_micros(&self) -> f64 {
        self.total.as_secs_f64() * 1e6 / self.faults.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    #[test]
    fn counters_are_read_in_the_order_in_which_they_are_written() {
        let written: Vec<u8> = (1..=15_u64).flat_map(|figure| (figure * 1000).to_le_bytes()).collect();
        let counted = Counted::read(&written).unwrap();
        assert_eq!((counted.faults, counted.evictions, counted.threads), (1000, 2000, 15_000));
        assert_eq!(counted.total, Duration::from_micros(5));
    }

    #[test]
    fn what_was_left_says_whether_the_program_ran_paged() {
        let left = |bytes: &[u8]| Left::read(Cursor::new(bytes.to_vec())).unwrap();
        assert_eq!(left(b""), Left::Nothing);
        assert_eq!(left(b"r"), Left::Refused);
        assert_eq!(left(b"s"), Left::NoFigures);
        assert_eq!(left(&[0; Counted::BYTES - 1]), Left::NoFigures);
        assert!(matches!(left(&[0; Counted::BYTES]), Left::Figures(_)));
    }
}
