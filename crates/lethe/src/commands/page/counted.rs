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

impl Counted {
    /// Bytes of the file.
    const BYTES: usize = 15 * 8;

    /// Reads the file; `None` if nothing was written there.
    pub(super) fn read(mut file: impl Read + Seek) -> std::io::Result<Option<Self>> {
        file.rewind()?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        let Ok(bytes) = <[u8; Self::BYTES]>::try_from(bytes) else { return Ok(None) };
        let mut figures = bytes.chunks_exact(8).map(|figure| {
            let mut eight = [0; 8];
            eight.copy_from_slice(figure);
            u64::from_le_bytes(eight)
        });
        let mut next = || figures.next().unwrap_or(0);
        Ok(Some(Counted {
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
        }))
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
        let counted = Counted::read(Cursor::new(written)).unwrap().unwrap();
        assert_eq!((counted.faults, counted.evictions, counted.threads), (1000, 2000, 15_000));
        assert_eq!(counted.total, Duration::from_micros(5));
    }

    #[test]
    fn a_program_that_left_nothing_or_half_of_it_has_no_counters() {
        assert_eq!(Counted::read(Cursor::new(Vec::new())).unwrap(), None);
        assert_eq!(Counted::read(Cursor::new(vec![0; 119])).unwrap(), None);
    }
}
