//! The packed format of traces: about two bytes for each miss.
//!
//! A file begins with [`MAGIC`]. The rest is compressed by gzip, which checks its length and its sum. The comment of
//! the gzip may be a notice of the program and of the licences. The compressed part is numbers in LEB128. The first one
//! counts the records that only warm the last-level cache: no instructions precede them. Then come the records, two
//! numbers each. The first is the number of instructions before the miss, times two, plus one for a store. The second
//! is the line less the line of the record before it, in zigzag.

use super::{Kind, MAX_LINE, Miss, TraceError};
use crate::units::Line;
use flate2::bufread::GzDecoder;
use flate2::write::GzEncoder;
use flate2::{Compression, GzBuilder};
use std::io::{self, BufRead, BufReader, Read, Write};

/// The beginning of a packed trace.
pub const MAGIC: &[u8; 16] = b"ameles trace v1\n";

/// The part of the magic number that every version has.
pub(super) const KIND: usize = b"ameles trace v".len();

/// A packed trace that is being read.
pub struct Packed<R> {
    bytes: io::Bytes<BufReader<GzDecoder<R>>>,
    notice: Option<String>,
    warm_up: u64,
    record: u64,
    /// Bytes that were unpacked, and those before the record.
    read: u64,
    begun: u64,
    before: Line,
    is_over: bool,
}

/// Begins to read a trace.
///
/// # Errors
/// [`TraceError::Foreign`]; [`TraceError::Version`]; [`TraceError::Packed`] with record 0 for a wrong beginning;
/// [`TraceError::Io`].
pub fn read<R: BufRead>(mut from: R) -> Result<Packed<R>, TraceError> {
    let mut magic = [0; MAGIC.len()];
    match from.read_exact(&mut magic) {
        Ok(()) if magic == *MAGIC => {}
        Ok(()) if magic.starts_with(&MAGIC[..KIND]) => return Err(TraceError::Version),
        Err(error) if error.kind() != io::ErrorKind::UnexpectedEof => return Err(error.into()),
        _ => return Err(TraceError::Foreign),
    }
    let unpacked = GzDecoder::new(from);
    let notice = unpacked.header().and_then(|header| header.comment());
    let notice = notice.map(|notice| String::from_utf8_lossy(notice).into_owned());
    let bytes = BufReader::new(unpacked).bytes();
    let mut packed =
        Packed { bytes, notice, warm_up: 0, record: 0, read: 0, begun: 0, before: Line(0), is_over: false };
    packed.warm_up = packed.number()?.ok_or_else(|| packed.fault("it is missing"))?;
    Ok(packed)
}

/// Writes a trace without a warm-up.
///
/// # Errors
/// The errors of the writer.
pub fn write(misses: impl IntoIterator<Item = Miss>, into: impl Write) -> io::Result<()> {
    let mut writer = Writer::new(into, 0)?;
    misses.into_iter().try_for_each(|miss| writer.write(miss))?;
    writer.finish()
}

/// A packed trace that is being written.
pub struct Writer<W: Write> {
    records: GzEncoder<W>,
    before: Line,
}

impl<W: Write> Writer<W> {
    /// Begins a trace with this many initial records that only warm the last-level cache.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn new(into: W, warm_up: u64) -> io::Result<Self> {
        Self::begin(into, warm_up, GzBuilder::new())
    }

    /// Begins a trace with a notice of its program and of the licences, which has no byte 0.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn with_notice(into: W, warm_up: u64, notice: &str) -> io::Result<Self> {
        Self::begin(into, warm_up, GzBuilder::new().comment(notice))
    }

    fn begin(mut into: W, warm_up: u64, gzip: GzBuilder) -> io::Result<Self> {
        into.write_all(MAGIC)?;
        let mut records = gzip.write(into, Compression::best());
        let mut number = [0; MAX_DIGITS];
        let digits = put(&mut number, warm_up);
        records.write_all(&number[..digits])?;
        Ok(Writer { records, before: Line(0) })
    }

    /// Writes a miss.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn write(&mut self, Miss { instructions, kind, line }: Miss) -> io::Result<()> {
        let mut record = [0; 2 * MAX_DIGITS];
        let first = put(&mut record, u64::from(instructions) << 1 | u64::from(kind == Kind::Store));
        let second = put(&mut record[first..], zigzag(line.0.wrapping_sub(self.before.0) as i64));
        self.before = line;
        self.records.write_all(&record[..first + second])
    }

    /// Ends the trace.
    ///
    /// # Errors
    /// The errors of the writer.
    pub fn finish(self) -> io::Result<()> {
        self.records.finish()?.flush()
    }
}

/// The maximum number of digits of a number in LEB128.
const MAX_DIGITS: usize = 10;

/// Writes a number, and returns the count of its digits.
fn put(into: &mut [u8], mut number: u64) -> usize {
    let mut digits = 0;
    loop {
        let more = number >> 7 != 0;
        into[digits] = (number & 0x7f) as u8 | u8::from(more) << 7;
        digits += 1;
        number >>= 7;
        if !more {
            return digits;
        }
    }
}

fn zigzag(number: i64) -> u64 {
    (number << 1 ^ number >> 63) as u64
}

fn unzigzag(number: u64) -> i64 {
    (number >> 1) as i64 ^ -((number & 1) as i64)
}

impl<R: BufRead> Packed<R> {
    /// The records, from the first on, that only warm the last-level cache.
    pub fn warm_up(&self) -> u64 {
        self.warm_up
    }

    /// The notice of its program and of the licences, if it has one.
    pub fn notice(&self) -> Option<&str> {
        self.notice.as_deref()
    }

    fn fault(&self, why: impl Into<String>) -> TraceError {
        TraceError::Packed { record: self.record, byte: self.begun, why: why.into() }
    }

    /// A fault of the decompression, or of the file system.
    fn unreadable(&self, error: io::Error) -> TraceError {
        match error.kind() {
            io::ErrorKind::UnexpectedEof => self.fault("the file ends before it"),
            io::ErrorKind::InvalidInput | io::ErrorKind::InvalidData => {
                self.fault(format!("it and what follows cannot be unpacked ({error})"))
            }
            _ => error.into(),
        }
    }

    /// Reads a number; `None` at the end of the trace.
    fn number(&mut self) -> Result<Option<u64>, TraceError> {
        let mut number = 0u64;
        for nth in 0..MAX_DIGITS {
            let Some(byte) = self.bytes.next() else {
                return if nth == 0 { Ok(None) } else { Err(self.fault("it ends within a number")) };
            };
            let byte = byte.map_err(|error| self.unreadable(error))?;
            self.read += 1;
            let digit = u64::from(byte & 0x7f);
            if nth == MAX_DIGITS - 1 && digit > 1 {
                break;
            }
            number |= digit << (7 * nth);
            if byte & 0x80 == 0 {
                return Ok(Some(number));
            }
        }
        Err(self.fault("a number has more than 64 bits"))
    }

    fn miss(&mut self) -> Result<Option<Miss>, TraceError> {
        self.record += 1;
        self.begun = self.read;
        let Some(first) = self.number()? else {
            let is_short = self.record <= self.warm_up;
            return if is_short { Err(self.fault("it ends within its warm-up")) } else { Ok(None) };
        };
        let second = self.number()?.ok_or_else(|| self.fault("it has no line"))?;
        let instructions =
            u32::try_from(first >> 1).map_err(|_| self.fault("it has too many instructions"))?;
        if self.record <= self.warm_up && instructions > 0 {
            return Err(self.fault("it warms the cache and has instructions"));
        }
        let line = Line(self.before.0.wrapping_add(unzigzag(second) as u64));
        if line > MAX_LINE {
            return Err(self.fault("its line is beyond all addresses"));
        }
        self.before = line;
        let kind = if first & 1 == 1 { Kind::Store } else { Kind::Load };
        Ok(Some(Miss { instructions, kind, line }))
    }
}

/// The misses. After an error there is no more.
impl<R: BufRead> Iterator for Packed<R> {
    type Item = Result<Miss, TraceError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.is_over {
            return None;
        }
        let miss = self.miss().transpose();
        self.is_over = !matches!(miss, Some(Ok(_)));
        miss
    }
}
