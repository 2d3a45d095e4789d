//! The recorder: a first-level cache that writes its misses to a file.
//!
//! A trace begins with the lines that a last-level cache holds at that time, so that a short one finds it warm.

use crate::settings::Settings;
use ameles_processor::cache::Cache;
use ameles_processor::trace::packed::Writer;
use ameles_processor::trace::{Kind, Miss};
use ameles_processor::units::{LINE_BYTES, Line};
use std::fs::File;
use std::io::{self, BufWriter};

/// Bytes and ways of the first-level cache of IR-ORAM's Table I.
const CACHE: (u64, usize) = (256 << 10, 2);
/// Bytes and ways of the last-level cache.
const LAST_LEVEL: (u64, usize) = (2 << 20, 8);

/// A recording in progress.
pub struct Recorder {
    cache: Cache,
    settings: Settings,
    trace: Trace,
    /// The instruction of the last record, counted from the program's first.
    last: u64,
    records: u64,
}

/// The trace, which begins when enough instructions were skipped.
enum Trace {
    /// The current last-level cache, and the file.
    Skipped(Cache, BufWriter<File>),
    Started(Writer<BufWriter<File>>),
    Complete,
}

/// The state of a recording after an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The recording continues.
    Continues,
    /// The recording has all requested misses.
    Complete,
}

impl Recorder {
    /// Begins a recording.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn new(settings: Settings) -> io::Result<Self> {
        let cache = |(bytes, ways)| Cache::new(bytes, ways).map_err(io::Error::other);
        let file = BufWriter::new(File::create(&settings.out)?);
        let (cache, trace) = (cache(CACHE)?, Trace::Skipped(cache(LAST_LEVEL)?, file));
        let last = settings.skip;
        Ok(Recorder { cache, settings, trace, last, records: 0 })
    }

    /// Handles an access of this many bytes by the `nth` instruction of the program, counted from 0.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn access(&mut self, nth: u64, address: u64, bytes: u64, writes: bool) -> io::Result<Progress> {
        if nth >= self.settings.skip && matches!(self.trace, Trace::Skipped(..)) {
            self.start_trace()?;
        }
        let last = address.saturating_add(bytes.max(1) - 1) / LINE_BYTES;
        for line in address / LINE_BYTES..=last {
            let access = self.cache.access(Line(line), writes);
            let kind = if writes { Kind::Store } else { Kind::Load };
            let missed = (!access.is_hit).then_some((kind, Line(line)));
            let evicted =
                access.victim.filter(|victim| victim.is_dirty).map(|victim| (Kind::Store, victim.line));
            for (kind, line) in missed.into_iter().chain(evicted) {
                if self.record(nth, kind, line)? == Progress::Complete {
                    return Ok(Progress::Complete);
                }
            }
        }
        Ok(Progress::Continues)
    }

    /// Ends the recording, if it has not ended.
    ///
    /// # Errors
    /// The file cannot be written; or the program has ended before the recording began.
    pub fn finish(&mut self) -> io::Result<()> {
        match std::mem::replace(&mut self.trace, Trace::Complete) {
            Trace::Started(trace) => trace.finish(),
            Trace::Skipped(..) => Err(io::Error::other(format!(
                "the program has ended within the first {} instructions: skip fewer",
                self.settings.skip
            ))),
            Trace::Complete => Ok(()),
        }
    }

    /// Begins the trace, with the content of the last-level cache.
    fn start_trace(&mut self) -> io::Result<()> {
        if let Trace::Skipped(cache, file) = std::mem::replace(&mut self.trace, Trace::Complete) {
            let mut trace = Writer::new(file, cache.lines().count() as u64)?;
            for (line, is_dirty) in cache.lines() {
                let kind = if is_dirty { Kind::Store } else { Kind::Load };
                trace.write(Miss { instructions: 0, kind, line })?;
            }
            self.trace = Trace::Started(trace);
        }
        Ok(())
    }

    fn record(&mut self, nth: u64, kind: Kind, line: Line) -> io::Result<Progress> {
        let trace = match &mut self.trace {
            Trace::Skipped(cache, _) => {
                cache.access(line, kind == Kind::Store);
                return Ok(Progress::Continues);
            }
            Trace::Started(trace) => trace,
            Trace::Complete => return Ok(Progress::Complete),
        };
        // The instruction that misses is not counted as one of those between.
        let between = nth.saturating_sub(self.last);
        trace.write(Miss { instructions: u32::try_from(between).unwrap_or(u32::MAX), kind, line })?;
        (self.last, self.records) = (nth + 1, self.records + 1);
        if self.records == self.settings.misses {
            self.finish()?;
            return Ok(Progress::Complete);
        }
        Ok(Progress::Continues)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_processor::trace::packed;
    use std::io::BufReader;

    /// Records accesses, and reads the trace back.
    fn recorded(skip: u64, misses: u64, accesses: &[(u64, u64, u64, bool)]) -> (Vec<Miss>, Progress) {
        let folder = std::env::temp_dir();
        let unique = format!("ameles-recorder-{}-{skip}-{misses}-{}", std::process::id(), accesses.len());
        let out = folder.join(unique);
        let mut recorder = Recorder::new(Settings { out: out.clone(), skip, misses }).unwrap();
        let mut progress = Progress::Continues;
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
        assert_eq!(progress, Progress::Continues);
    }

    #[test]
    fn an_access_over_the_end_of_a_line_touches_both() {
        let (trace, _) = recorded(0, 0, &[(0, 60, 8, false), (1, u64::MAX - 1, 8, false)]);
        let last = u64::MAX / 64;
        assert_eq!(trace, [miss(0, Kind::Load, 0), miss(0, Kind::Load, 1), miss(0, Kind::Load, last)]);
    }

    #[test]
    fn a_dirty_line_that_has_to_go_is_a_store_of_its_own() {
        // Lines of one set are 128 KiB apart.
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
    fn what_is_skipped_warms_both_caches_and_the_trace_begins_with_what_the_second_holds() {
        let accesses = [(5, 0, 8, false), (6, 128, 8, true), (100, 0, 8, false), (107, 64, 8, false)];
        let (trace, _) = recorded(100, 0, &accesses);
        let expected = [miss(0, Kind::Load, 0), miss(0, Kind::Store, 2), miss(7, Kind::Load, 1)];
        assert_eq!(trace, expected);
    }

    #[test]
    fn a_program_that_ends_before_the_recording_begins_is_an_error() {
        let out = std::env::temp_dir().join(format!("ameles-recorder-{}-early", std::process::id()));
        let mut recorder = Recorder::new(Settings { out: out.clone(), skip: 100, misses: 0 }).unwrap();
        recorder.access(5, 0, 8, false).unwrap();
        let error = recorder.finish().unwrap_err().to_string();
        assert_eq!(error, "the program has ended within the first 100 instructions: skip fewer");
        std::fs::remove_file(out).unwrap();
    }

    #[test]
    fn a_recording_ends_with_the_misses_that_were_asked_for() {
        let accesses: Vec<_> = (0..5).map(|nth| (nth, nth * 64, 8, false)).collect();
        let (trace, progress) = recorded(0, 3, &accesses);
        assert_eq!((trace.len(), progress), (3, Progress::Complete));
    }
}
