//! The recorder: a first-level cache that writes down what misses it.

use crate::settings::Settings;
use lethe_processor::cache::Cache;
use lethe_processor::trace::packed::Writer;
use lethe_processor::trace::{Kind, Miss};
use lethe_processor::units::{LINE_BYTES, Line};
use std::fs::File;
use std::io::{self, BufWriter};

/// Bytes and ways of the first-level cache of IR-ORAM's Table I.
const CACHE: (u64, usize) = (256 << 10, 2);

/// A recording under way.
pub struct Recorder {
    cache: Cache,
    settings: Settings,
    /// The trace, until it is complete.
    trace: Option<Writer<BufWriter<File>>>,
    /// The instruction of the last record, counted from the program's first.
    last: u64,
    records: u64,
}

/// The state of a recording after an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// It goes on.
    GoesOn,
    /// It has all the misses that were asked for.
    Complete,
}

impl Recorder {
    /// Begins a recording.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let (bytes, ways) = CACHE;
        let cache = Cache::new(bytes, ways).map_err(io::Error::other)?;
        let trace = Some(Writer::new(BufWriter::new(File::create(&settings.out)?))?);
        let last = settings.skip;
        Ok(Recorder { cache, settings, trace, last, records: 0 })
    }

    /// Takes an access of so many bytes by the `nth` instruction of the program, counted from 0.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn access(&mut self, nth: u64, address: u64, bytes: u64, writes: bool) -> io::Result<Progress> {
        let last = address.saturating_add(bytes.max(1) - 1) / LINE_BYTES;
        for line in address / LINE_BYTES..=last {
            let access = self.cache.access(Line(line), writes);
            if nth < self.settings.skip {
                continue;
            }
            let kind = if writes { Kind::Store } else { Kind::Load };
            let missed = (!access.is_hit).then_some((kind, Line(line)));
            let evicted = access.written_back.map(|line| (Kind::Store, line));
            for (kind, line) in missed.into_iter().chain(evicted) {
                if self.record(nth, kind, line)? == Progress::Complete {
                    return Ok(Progress::Complete);
                }
            }
        }
        Ok(Progress::GoesOn)
    }

    /// Ends the recording, if it has not ended.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn finish(&mut self) -> io::Result<()> {
        self.trace.take().map_or(Ok(()), Writer::finish)
    }

    fn record(&mut self, nth: u64, kind: Kind, line: Line) -> io::Result<Progress> {
        let Some(trace) = &mut self.trace else { return Ok(Progress::Complete) };
        // The instruction that misses is none of those between.
        let between = nth.saturating_sub(self.last);
        trace.write(Miss { instructions: u32::try_from(between).unwrap_or(u32::MAX), kind, line })?;
        (self.last, self.records) = (nth + 1, self.records + 1);
        if self.records == self.settings.misses {
            self.finish()?;
            return Ok(Progress::Complete);
        }
        Ok(Progress::GoesOn)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use lethe_processor::trace::packed;
    use std::io::BufReader;

    /// Records accesses, and reads the trace back.
    fn recorded(skip: u64, misses: u64, accesses: &[(u64, u64, u64, bool)]) -> (Vec<Miss>, Progress) {
        let folder = std::env::temp_dir();
        let unique = format!("lethe-recorder-{}-{skip}-{misses}-{}", std::process::id(), accesses.len());
        let out = folder.join(unique);
        let mut recorder = Recorder::new(Settings { out: out.clone(), skip, misses }).unwrap();
        let mut progress = Progress::GoesOn;
        for (nth, address, bytes, writes) in accesses {
            progress = recorder.access(*nth, *address, *bytes, *writes).unwrap();
        }
        recorder.finish().unwrap();
        let file = BufReader::new(File::open(&out).unwrap());
        let trace = packed::read(file).unwrap().collect::<Result<Vec<_>, _>>().unwrap();
        std::fs::remove_file(out).unwrap();
        (trace, progress)
    }

    fn miss(instructions: u32, kind: Kind, line: u64) -> Miss {
        Miss { instructions, kind, line: Line(line) }
    }

    #[test]
    fn misses_are_recorded_with_the_instructions_between_and_hits_are_not() {
        let accesses = [(10, 0, 8, false), (11, 8, 8, true), (20, 64, 4, true), (21, 0, 1, false)];
        let (trace, progress) = recorded(0, 0, &accesses);
        assert_eq!(trace, [miss(10, Kind::Load, 0), miss(9, Kind::Store, 1)]);
        assert_eq!(progress, Progress::GoesOn);
    }

    #[test]
    fn an_access_over_the_end_of_a_line_touches_both() {
        let (trace, _) = recorded(0, 0, &[(0, 60, 8, false), (1, u64::MAX - 1, 8, false)]);
        let last = u64::MAX / 64;
        assert_eq!(trace, [miss(0, Kind::Load, 0), miss(0, Kind::Load, 1), miss(0, Kind::Load, last)]);
    }

    #[test]
    fn a_dirty_line_that_has_to_go_is_a_store_of_its_own() {
        // Lines of one set lie 128 KiB apart.
        let set = |nth: u64| nth * (128 << 10);
        let (trace, _) = recorded(0, 0, &[(0, 0, 8, true), (1, set(1), 8, false), (2, set(2), 8, false)]);
        let expected = [
            miss(0, Kind::Store, 0),
            miss(0, Kind::Load, 2048),
            miss(0, Kind::Load, 4096),
            miss(0, Kind::Store, 0),
        ];
        assert_eq!(trace, expected);
    }

    #[test]
    fn what_is_skipped_warms_the_cache_and_is_not_recorded() {
        let (trace, _) = recorded(100, 0, &[(5, 0, 8, false), (100, 0, 8, false), (107, 64, 8, false)]);
        assert_eq!(trace, [miss(7, Kind::Load, 1)]);
    }

    #[test]
    fn a_recording_ends_with_the_misses_that_were_asked_for() {
        let accesses: Vec<_> = (0..5).map(|nth| (nth, nth * 64, 8, false)).collect();
        let (trace, progress) = recorded(0, 3, &accesses);
        assert_eq!((trace.len(), progress), (3, Progress::Complete));
    }
}
