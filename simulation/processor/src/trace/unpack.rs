//! Compressed files, which are unpacked while they are read.

use super::TraceError;
use flate2::bufread::MultiGzDecoder;
use lzma_rust2::XzReader;
use std::io::{self, BufRead, BufReader, Read};

/// A file that may be sent to another thread.
pub(super) type Bytes = Box<dyn BufRead + Send>;

/// The maximum memory of a dictionary in KiB: `xz -9` takes 64 MiB.
const MAX_DICTIONARY: u32 = 256 << 10;

/// The first bytes of compressed files that are not unpacked here, the compressor's name, and its command.
const OTHERS: [(&[u8], &str, &str); 2] =
    [(b"BZh", "bzip2", "bunzip2"), (b"\x28\xb5\x2f\xfd", "zstd", "unzstd")];

/// Unpacks a file of gzip or xz; any other is read as it is.
///
/// # Errors
/// [`TraceError::Compressed`] for another compressor.
pub(super) fn open(mut from: Bytes) -> Result<Bytes, TraceError> {
    let first = from.fill_buf()?;
    if let Some((_, by, command)) = OTHERS.iter().find(|(bytes, ..)| first.starts_with(bytes)) {
        return Err(TraceError::Compressed { by, command });
    }
    Ok(if first.starts_with(b"\x1f\x8b") {
        unpacked("gzip", MultiGzDecoder::new(from))
    } else if first.starts_with(b"\xfd7zXZ\0") {
        unpacked("xz", XzReader::new_mem_limit(from, true, MAX_DICTIONARY))
    } else {
        from
    })
}

fn unpacked(by: &'static str, from: impl Read + Send + 'static) -> Bytes {
    Box::new(BufReader::new(Unpacked { by, from }))
}

/// A file that is being unpacked.
struct Unpacked<R> {
    by: &'static str,
    from: R,
}

impl<R: Read> Read for Unpacked<R> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.from.read(into).map_err(|error| match error.kind() {
            io::ErrorKind::Interrupted => error,
            _ => io::Error::other(format!(
                "what {} packed cannot be unpacked ({error}): copy it again",
                self.by
            )),
        })
    }
}
