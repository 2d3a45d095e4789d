//! Figures of a trace: what misses a last-level cache, and a digest by which traces are compared.

use ameles_processor::cache::Cache;
use ameles_processor::trace::{Kind, Miss};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// Bytes and ways of the last-level cache of IR-ORAM's Table I.
pub const LAST_LEVEL: (u64, usize) = (2 << 20, 8);

/// The figures of a trace.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Figures {
    /// The number of records, including warm-up.
    pub records: u64,
    /// The number of records that only warm the cache. They count in no other figure.
    pub warm_up: u64,
    /// The number of instructions, including those that miss.
    pub instructions: u64,
    /// The number of loads that miss the last-level cache.
    pub loads: u64,
    /// The number of stores that miss it.
    pub stores: u64,
    /// The number of dirty lines that have to leave it.
    pub written_back: u64,
    /// SHA-256 of the records, in hexadecimal: the same in every format of traces.
    pub digest: String,
}

impl Figures {
    /// Measures a trace whose first records, as many as given, only warm the cache.
    ///
    /// # Errors
    /// The errors of the trace.
    pub fn of<E>(warm_up: u64, trace: impl IntoIterator<Item = Result<Miss, E>>) -> Result<Self, E> {
        let (bytes, ways) = LAST_LEVEL;
        // The shape is a constant, and a test takes it.
        let Ok(mut cache) = Cache::new(bytes, ways) else { return Ok(Figures::default()) };
        let mut figures = Figures { warm_up, ..Figures::default() };
        let mut digest = Sha256::new();
        for miss in trace {
            let Miss { instructions, kind, line } = miss?;
            let stores = kind == Kind::Store;
            digest.update(instructions.to_le_bytes());
            digest.update([u8::from(stores)]);
            digest.update(line.0.to_le_bytes());
            let access = cache.access(line, stores);
            figures.records += 1;
            if figures.records <= warm_up {
                continue;
            }
            figures.instructions += u64::from(instructions) + 1;
            figures.written_back += u64::from(access.victim.is_some_and(|victim| victim.is_dirty));
            if !access.is_hit {
                *if stores { &mut figures.stores } else { &mut figures.loads } += 1;
            }
        }
        for byte in digest.finalize() {
            let _ = write!(figures.digest, "{byte:02x}");
        }
        Ok(figures)
    }

    /// Returns the number of these events for every thousand instructions.
    pub fn per_kilo(&self, events: u64) -> f64 {
        if self.instructions == 0 { 0.0 } else { events as f64 * 1000.0 / self.instructions as f64 }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_processor::trace::{FileError, TraceError};
    use ameles_processor::units::Line;

    /// Lines of one set of the cache are this many lines apart.
    const SETS: u64 = 4096;

    fn miss(instructions: u32, kind: Kind, line: u64) -> Result<Miss, FileError> {
        Ok(Miss { instructions, kind, line: Line(line) })
    }

    fn figures(warm_up: u64, trace: Vec<Result<Miss, FileError>>) -> Figures {
        Figures::of(warm_up, trace).unwrap()
    }

    #[test]
    fn what_misses_the_cache_is_counted_by_its_kind_and_hits_are_not() {
        let trace = vec![
            miss(99, Kind::Load, 0),
            miss(99, Kind::Store, 1),
            miss(99, Kind::Store, 0),
            miss(99, Kind::Load, 1),
            miss(99, Kind::Load, 2),
        ];
        let found = figures(0, trace);
        assert_eq!((found.records, found.instructions), (5, 500));
        assert_eq!((found.loads, found.stores, found.written_back), (2, 1, 0));
        assert!((found.per_kilo(found.loads) - 4.0).abs() < 1e-12);
    }

    #[test]
    fn a_warm_up_fills_the_cache_and_counts_as_nothing_else() {
        let mut trace: Vec<_> = (0..8).map(|nth| miss(0, Kind::Store, nth * SETS)).collect();
        trace.extend([miss(9, Kind::Load, 7 * SETS), miss(9, Kind::Load, 8 * SETS)]);
        let found = figures(8, trace);
        assert_eq!((found.records, found.instructions), (10, 20));
        assert_eq!((found.loads, found.stores, found.written_back), (1, 0, 1));
    }

    #[test]
    fn a_digest_is_that_of_all_of_the_records() {
        let digest = |instructions, kind, line| figures(0, vec![miss(instructions, kind, line)]).digest;
        let first = digest(1, Kind::Load, 1);
        assert_eq!(first.len(), 64);
        assert_eq!(first, digest(1, Kind::Load, 1));
        for other in [digest(2, Kind::Load, 1), digest(1, Kind::Store, 1), digest(1, Kind::Load, 2)] {
            assert_ne!(first, other);
        }
    }

    #[test]
    fn a_fault_of_the_trace_is_handed_on_and_an_empty_one_has_no_misses() {
        assert!(Figures::of(0, [Err(TraceError::Foreign)]).is_err());
        let none = figures(0, Vec::new());
        assert_eq!((none.records, none.per_kilo(none.loads)), (0, 0.0));
    }
}
