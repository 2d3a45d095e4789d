//! Files of traces: the format is detected from the first bytes.

use super::{Miss, TraceError, packed, text};
use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

/// The formats of traces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Some two bytes for each miss.
    Packed,
    /// USIMM's text.
    Text,
}

/// The reason why a file is no trace, or cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// It cannot be read, or something in it is wrong.
    #[error("{}: {why}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The fault, with its line or record.
        why: TraceError,
    },
    /// It cannot be written.
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
    warm_up: u64,
    misses: Misses,
}

type Misses = Box<dyn Iterator<Item = Result<Miss, TraceError>> + Send>;

/// Opens a trace in either format.
///
/// # Errors
/// [`FileError::Read`], if there is no such file or it begins as no trace does.
pub fn open(path: impl AsRef<Path>) -> Result<Trace, FileError> {
    let path = path.as_ref().to_path_buf();
    let opened =
        File::open(&path).map_err(TraceError::from).and_then(|file| detect_format(BufReader::new(file)));
    match opened {
        Ok((format, warm_up, misses)) => Ok(Trace { path, format, warm_up, misses }),
        Err(why) => Err(FileError::Read { path, why }),
    }
}

/// The first bytes of compressed files, and the compressor's name.
const COMPRESSED: [(&[u8], &str); 4] =
    [(b"\x1f\x8b", "gzip"), (b"\xfd7zXZ\0", "xz"), (b"BZh", "bzip2"), (b"\x28\xb5\x2f\xfd", "zstd")];

/// Bytes that are inspected to detect a text.
const DETECTION_BYTES: usize = 64;

/// Tells the format from the first bytes. A text has no bytes that are not printed.
fn detect_format(mut from: impl BufRead + Send + 'static) -> Result<(Format, u64, Misses), TraceError> {
    let first = from.fill_buf()?;
    let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
    if first.is_empty() {
        return Err(TraceError::Empty);
    }
    if first.starts_with(&packed::MAGIC[..packed::KIND]) {
        let packed = packed::read(from)?;
        return Ok((Format::Packed, packed.warm_up(), Box::new(packed)));
    }
    if let Some((_, by)) = COMPRESSED.iter().find(|(bytes, _)| first.starts_with(bytes)) {
        return Err(TraceError::Compressed(by));
    }
    match first.iter().take(DETECTION_BYTES).position(|byte| !is_text(byte)) {
        Some(byte) => Err(TraceError::Binary { byte }),
        None => Ok((Format::Text, 0, Box::new(text::read(from)))),
    }
}

impl Trace {
    /// The format of the file.
    pub fn format(&self) -> Format {
        self.format
    }

    /// The misses, from the first on, that only warm the last-level cache; a text has none.
    pub fn warm_up(&self) -> u64 {
        self.warm_up
    }

    fn error_at(&self, why: TraceError) -> FileError {
        FileError::Read { path: self.path.clone(), why }
    }
}

/// The misses. Errors name the file, and the line or record.
impl Iterator for Trace {
    type Item = Result<Miss, FileError>;

    fn next(&mut self) -> Option<Self::Item> {
        let miss = self.misses.next()?;
        Some(miss.map_err(|why| self.error_at(why)))
    }
}

/// Writes a trace in another format, or rewrites it in its own, and returns the number of its misses. In a text,
/// those that only warm the cache are misses like the others.
///
/// # Errors
/// The errors of reading and of writing. What was written before a fault remains.
pub fn convert(from: &Path, into: &Path, format: Format) -> Result<u64, FileError> {
    let trace = open(from)?;
    if into.canonicalize().is_ok_and(|into| from.canonicalize().is_ok_and(|from| from == into)) {
        return Err(FileError::Same { path: into.to_path_buf() });
    }
    let failed = |why| FileError::Write { path: into.to_path_buf(), why };
    let mut file = BufWriter::new(File::create(into).map_err(failed)?);
    let mut count = 0;
    match format {
        Format::Packed => {
            let mut writer = packed::Writer::new(file, trace.warm_up()).map_err(failed)?;
            for miss in trace {
                writer.write(miss?).map_err(failed)?;
                count += 1;
            }
            writer.finish().map_err(failed)?;
        }
        Format::Text => {
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
        let trace = open(path).unwrap();
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
        assert_eq!(convert(&first, &text, Format::Text).unwrap(), 1000);
        assert_eq!(convert(&text, &again, Format::Packed).unwrap(), 1000);
        assert_eq!(read(&first), (Format::Packed, misses()));
        assert_eq!(read(&text), (Format::Text, misses()));
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
            open(into).unwrap().warm_up()
        };
        assert_eq!(open(&first).unwrap().warm_up(), 1);
        assert_eq!([Format::Packed, Format::Text].map(|format| warm_up(&first, format)), [1, 0]);
    }

    #[test]
    fn an_invalid_trace_is_reported_with_its_file() {
        let folder = tempfile::tempdir().unwrap();
        for (bytes, why) in [
            (&b""[..], "it is empty"),
            (
                b"\x7fELF\x02\x01",
                "byte 0 is of no text, and it does not begin as a packed trace does: name a trace",
            ),
            (b"12 R 0x4\0", "byte 8 is of no text"),
            (b"ameles trace v9\n", "a packed trace of another version than 1: record it again"),
            (b"ameles trace v1", "does not begin as a packed trace does: name one that"),
            (b"\x1f\x8b\x08\0", "it is compressed by gzip: unpack it first"),
            (b"#!/bin/sh\n", "line 1 of the trace: \"#!/bin/sh\" is no miss: write for example"),
            (
                b"{\"a\": 1, \"b\": [2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18]}",
                "13, 14, 1\"… is no miss",
            ),
            (
                &[&[b' '; 64][..], b"\xff\n"].concat(),
                "line 1 of the trace: it is no text in UTF-8: write for example",
            ),
        ] {
            let path = file(&folder, bytes);
            let error = open(&path).and_then(|trace| trace.collect::<Result<Vec<_>, _>>()).unwrap_err();
            let error = error.to_string();
            assert!(error.starts_with(&path.display().to_string()) && error.contains(why), "{error}");
        }
        let none = folder.path().join("none");
        let error = open(&none).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with(&none.display().to_string()) && error.contains("No such file"), "{error}");
    }

    #[test]
    fn a_fault_within_a_trace_is_reported_with_its_file_and_place() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, b"1 R 0x40 0x0\n2 X 0x80\n");
        let last = open(&path).unwrap().last().unwrap().unwrap_err().to_string();
        assert!(last.contains("some.trace: line 2 of the trace: \"2 X 0x80\" is no miss"), "{last}");
        let into = folder.path().join("into");
        assert!(matches!(convert(&path, &into, Format::Packed), Err(FileError::Read { .. })));
    }

    #[test]
    fn a_trace_is_not_written_over_itself_or_into_nowhere() {
        let folder = tempfile::tempdir().unwrap();
        let path = file(&folder, b"1 R 0x40 0x0\n");
        let error = convert(&path, &folder.path().join("./some.trace"), Format::Packed).unwrap_err();
        assert!(matches!(error, FileError::Same { .. }), "{error}");
        assert_eq!(read(&path).1.len(), 1);
        let error = convert(&path, &folder.path().join("none/some"), Format::Text).unwrap_err().to_string();
        assert!(error.contains("none/some cannot be written: No such file"), "{error}");
    }

    #[test]
    fn fuzz_file_of_a_trace() {
        bolero::check!().for_each(|bytes: &[u8]| {
            if let Ok((_, _, misses)) = detect_format(io::Cursor::new(bytes.to_vec())) {
                let _ = misses.collect::<Result<Vec<_>, _>>();
            }
        });
    }
}
