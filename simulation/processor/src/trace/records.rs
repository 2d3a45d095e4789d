//! Traces of binary records, each of which stands for none, one or several misses.

use super::{Miss, TraceError};
use std::collections::VecDeque;
use std::io::{self, BufRead, Read};

/// The misses of binary records. `next` reads one record at a time and appends its misses to a queue. It returns false
/// at the end. After an error there are no more misses.
pub(super) fn misses(
    mut next: impl FnMut(&mut VecDeque<Miss>) -> Result<bool, TraceError>,
) -> impl Iterator<Item = Result<Miss, TraceError>> {
    let (mut queue, mut is_over) = (VecDeque::new(), false);
    std::iter::from_fn(move || {
        while queue.is_empty() && !is_over {
            match next(&mut queue) {
                Ok(more) => is_over = !more,
                Err(error) => {
                    is_over = true;
                    return Some(Err(error));
                }
            }
        }
        queue.pop_front().map(Ok)
    })
}

/// A file of records, and the place in it.
pub(super) struct Records<R> {
    from: R,
    /// The name of the format.
    format: &'static str,
    /// The current record, counted from 1, and its first byte, counted from 0.
    record: u64,
    begin: u64,
    /// Bytes that were read.
    read: u64,
}

impl<R: BufRead> Records<R> {
    pub(super) fn new(from: R, format: &'static str) -> Self {
        Records { from, format, record: 0, begin: 0, read: 0 }
    }

    /// Begins the next record.
    pub(super) fn begin(&mut self) {
        self.record += 1;
        self.begin = self.read;
    }

    /// A fault of the current record.
    pub(super) fn fault(&self, why: impl Into<String>) -> TraceError {
        let Records { format, record, begin: byte, .. } = *self;
        TraceError::Record { format, record, byte, why: why.into() }
    }

    /// Reads up to `count` bytes: fewer at the end of the file.
    pub(super) fn bytes(&mut self, count: u64, into: &mut Vec<u8>) -> io::Result<()> {
        into.clear();
        self.from.by_ref().take(count).read_to_end(into)?;
        self.read += into.len() as u64;
        Ok(())
    }
}
