//! Files of traces: the format is told from the first bytes.

use super::format::{self, Contents, Format};
use super::unpack::{self, Bytes};
use super::{Miss, TraceError, packed, text};
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Cursor, Read, Write};
use std::path::{Path, PathBuf};

/// The formats in which traces are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WrittenFormat {
    /// Some two bytes for each miss.
    Packed,
    /// USIMM's text.
    Usimm,
}

/// The reason why a file is not a trace, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The file cannot be read, or something in it is wrong.
    #[error("{}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The fault, with its line or record.
        why: TraceError,
    },
    /// The file cannot be written.
    #[error("{} cannot be written: {why}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: io::Error,
    },
    /// A trace would be written over itself.
    #[error("{} is the trace itself: name another file to write", path.display())]
    Same {
        /// The file.
        path: PathBuf,
    },
}

/// The misses of a file.
pub struct Trace {
    path: PathBuf,
    format: Format,
    contents: Contents,
}

/// Opens a trace in any format, packed by gzip or xz or not. Without a format, its first bytes tell it.
///
/// # Errors
/// [`FileError::Read`], if there is no such file or it begins as no trace does.
pub fn open(path: impl AsRef<Path>, format: Option<Format>) -> Result<Trace, FileError> {
    let path = path.as_ref().to_path_buf();
    let opened = File::open(&path)
        .map_err(TraceError::from)
        .and_then(|file| read_as(Box::new(BufReader::new(file)), format));
    match opened {
        Ok((format, contents)) => Ok(Trace { path, format, contents }),
        Err(why) => Err(FileError::Read { path, why }),
    }
}

/// Bytes that are inspected to tell a format.
const DETECTION_BYTES: u64 = 4096;

/// Unpacks a file, and reads it in the format that it has.
pub(super) fn read_as(from: Bytes, format: Option<Format>) -> Result<(Format, Contents), TraceError> {
    let mut from = unpack::open(from)?;
    let mut first = Vec::new();
    (&mut from).take(DETECTION_BYTES).read_to_end(&mut first)?;
    let format = format.map_or_else(|| format::detect(&first), Ok)?;
    Ok((format, format.read(Box::new(Cursor::new(first).chain(from)))?))
}

impl Trace {
    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The misses, from the first on, that only warm the last-level cache; only packed traces have some.
    pub fn warm_up(&self) -> u64 {
        self.contents.warm_up
    }

    /// The notice of the program and of the licences; only packed traces have one.
    pub fn notice(&self) -> Option<&str> {
        self.contents.notice.as_deref()
    }

    fn error_at(&self, why: TraceError) -> FileError {
        FileError::Read { path: self.path.clone(), why }
    }
}

/// The misses. Errors name the file, and the line or record.
impl Iterator for Trace {
    type Item = Result<Miss, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let miss = self.contents.misses.next()?;
        Some(miss.map_err(|why| self.error_at(why)))
    }
}

/// Writes a trace in a format of the lab, and returns the number of its misses. A packed trace keeps the notice of the
/// trace `from`. A text has no place for a notice, and does not distinguish the misses that only warm the cache.
///
/// # Errors
/// The errors of reading and of writing. What was written before a fault remains.
pub fn convert(from: &Path, into: &Path, format: WrittenFormat) -> Result<u64, FileError> {
    let trace = open(from, None)?;
    if into.canonicalize().is_ok_and(|into| from.canonicalize().is_ok_and(|from| from == into)) {
        return Err(FileError::Same { path: into.to_path_buf() });
    }
    let failed = |why| FileError::Write { path: into.to_path_buf(), why };
    let mut file = BufWriter::new(File::create(into).map_err(failed)?);
    let mut count = 0;
    match format {
        WrittenFormat::Packed => {
            let mut writer = match trace.notice() {
                Some(notice) => packed::Writer::with_notice(file, trace.warm_up(), notice),
                None => packed::Writer::new(file, trace.warm_up()),
            }
            .map_err(failed)?;
            for miss in trace {
                writer.write(miss?).map_err(failed)?;
                count += 1;
            }
            writer.finish().map_err(failed)?;
        }
        WrittenFormat::Usimm => {
            for miss in trace {
                text::write([miss?], &mut file).map_err(failed)?;
                count += 1;
            }
            file.flush().map_err(failed)?;
        }
    }
    Ok(count)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::Kind;
    use crate::units::Line;
    use std::fs;
    use tempfile::TempDir;

    fn misses() -> Vec<Miss> {
        (0..1000u64)
            .map(|nth| Miss {
                instructions: nth as u32 % 7,
                kind: if nth % 3 == 0 { Kind::Store } else { Kind::Load },
                line: Line(nth * nth),
            })
            .collect()
    }

    fn read(path: &Path) -> (Format, Vec<Miss>) {
        let trace = open(path, None).unwrap();
        (trace.format(), trace.collect::<Result<_, _>>().unwrap())
    }

    /// A file with these bytes.
    fn file(folder: &TempDir, bytes: &[u8]) -> PathBuf {
        let path = folder.path().join("some.trace");
        fs::write(&path, bytes).unwrap();
        path
    }

    #[test]
    fn a_trace_is_the_same_in_either_format_and_the_format_is_detected() {
        let folder = tempfile::tempdir().unwrap();
        let mut bytes = Vec::new();
        packed::write(misses(), &mut bytes).unwrap();
        let first = file(&folder, &bytes);
        let [text, again] = ["a.usimm", "b.trace"].map(|name| folder.path().join(name));
        assert_eq!(convert(&first, &text, WrittenFormat::Usimm).unwrap(), 1000);
        assert_eq!(convert(&text, &again, WrittenFormat::Packed).unwrap(), 1000);
        assert_eq!(read(&first), (Format::Packed, misses()));
        assert_eq!(read(&text), (Format::Usimm, misses()));
        assert_eq!(fs::read(&again).unwrap(), bytes);
    }

    #[test]
    fn a_packed_trace_keeps_its_warm_up_and_a_text_has_none() {
        let folder = tempfile::tempdir().unwrap();
        let warm = Miss { instructions: 0, kind: Kind::Load, line: Line(5) };
        let mut bytes = Vec::new();
        let mut writer = packed::Writer::new(&mut bytes, 1).unwrap();
        [warm].into_iter().chain(misses()).for_each(|miss| writer.write(miss).unwrap());
        writer.finish().unwrap();
        let first = file(&folder, &bytes);
        let warm_up = |path: &Path, format| {
            let into = path.with_extension("into");
            assert_eq!(convert(path, &into, format).unwrap(), 1001);
            open(into, None).unwrap().warm_up()
        };
        assert_eq!(open(&first, None).unwrap().warm_up(), 1);
        assert_eq!(
            [WrittenFormat::Packed, WrittenFormat::Usimm].map(|format| warm_up(&first, format)),
            [1, 0]
        );
    }

    #[test]
    fn an_invalid_trace_is_reported_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        for (bytes, why) in [
            (&b""[..], "it is empty"),
            (
                b"\x7fELF\x02\x01",
                "byte 0 is not text, and the file does not begin as a binary trace: name a trace",
            ),
            (b"12 R 0x4\0", "byte 8 is not text"),
            (b"ameles trace v9\n", "a packed trace of another version than 1: record it again"),
            (b"ameles trace v1", "does not begin as a packed trace does: name one that"),
            (b"\x1f\x8b\x08\0", "what gzip packed cannot be unpacked"),
            (
                b"#!/bin/sh\n",
                "line 1 of the trace: \"#!/bin/sh\" is not the beginning of a trace: write it as",
            ),
            (
                b"{\"a\": 1, \"b\": [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}",
                "13, 14, 1\"… is not the beginning of a trace",
            ),
            (
                &[&b"1 R 0x40\n"[..], &[b' '; 64], b"\xff\n"].concat(),
                "line 2 of the trace: it is not text in UTF-8: write for example",
            ),
        ] {
            let path = file(&folder, bytes);
            let error = open(&path, None).and_then(|trace| trace.collect::<Result<Vec<_>, _>>()).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(&path.display().to_string()) && error.contains(why), "{error}");
        }
        let none = folder.path().join("none");
        let error = open(&none, None).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&none.display().to_string()) && error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_fault_within_a_trace_is_reported_with_its_file_and_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, b"1 R 0x40 0x0\n2 X 0x80\n");
        let last = open(&path, None).unwrap().last().unwrap().unwrap_err().to_string();
        assert!(last.contains("some.trace: line 2 of the trace: \"2 X 0x80\" is not a miss"), "{last}");
        let into = folder.path().join("into");
        assert!(matches!(convert(&path, &into, WrittenFormat::Packed), Err(FileError::Read { .. })));
    }

    #[test]
    fn a_trace_is_not_written_over_itself_or_into_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, b"1 R 0x40 0x0\n");
        let error = convert(&path, &folder.path().join("./some.trace"), WrittenFormat::Packed).unwrap_err();
        assert!(matches!(error, FileError::Same { .. }), "{error}");
        assert_eq!(read(&path).1.len(), 1);
        let error =
            convert(&path, &folder.path().join("none/some"), WrittenFormat::Usimm).unwrap_err().to_string();
        assert!(error.contains("none/some cannot be written: No such file"), "{error}");
    }

    #[test]
    fn fuzz_file_of_a_trace() {
        bolero::check!().for_each(|bytes: &[u8]| {
            if let Ok((_, contents)) = read_as(Box::new(Cursor::new(bytes.to_vec())), None) {
                let _ = contents.misses.collect::<Result<Vec<_>, _>>();
            }
        });
    }
}
