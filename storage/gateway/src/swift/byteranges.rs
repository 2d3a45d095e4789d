//! Several ranges in one answer: `multipart/byteranges` (RFC 9110, section 14.6), with a length known in advance.

use bytes::Bytes;
use std::ops::Range;

/// The frame around the ranges of an answer.
#[derive(Clone, Debug)]
pub(super) struct Frame {
    boundary: String,
    content_type: String,
    bytes: u64,
}

impl Frame {
    /// Creates a frame for ranges of an object of this many bytes. The boundary must not occur in the object.
    pub(super) fn new(boundary: String, content_type: String, bytes: u64) -> Self {
        Frame { boundary, content_type, bytes }
    }

    /// Returns the `Content-Type` of the answer.
    pub(super) fn content_type(&self) -> String {
        format!("multipart/byteranges; boundary={}", self.boundary)
    }

    /// Returns the bytes before a range.
    pub(super) fn before(&self, range: &Range<u64>) -> Bytes {
        let Frame { boundary, content_type, bytes } = self;
        let (first, last) = (range.start, range.end - 1);
        format!(
            "--{boundary}\r\nContent-Type: {content_type}\r\nContent-Range: bytes {first}-{last}/{bytes}\r\n\r\n"
        )
        .into()
    }

    /// Returns the bytes after each range.
    pub(super) fn after(&self) -> Bytes {
        Bytes::from_static(b"\r\n")
    }

    /// Returns the bytes at the end.
    pub(super) fn end(&self) -> Bytes {
        format!("--{}--\r\n", self.boundary).into()
    }

    /// Returns the length of the whole answer.
    pub(super) fn length(&self, ranges: &[Range<u64>]) -> u64 {
        let part = |range: &Range<u64>| {
            (self.before(range).len() + self.after().len()) as u64 + (range.end - range.start)
        };
        ranges.iter().map(part).sum::<u64>() + self.end().len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_the_answer() {
        let frame = Frame::new("b0".into(), "text/plain".into(), 26);
        let alphabet = b"abcdefghijklmnopqrstuvwxyz";
        let ranges = [0..1, 3..6, 25..26];
        let mut whole = Vec::new();
        for range in &ranges {
            whole.extend(frame.before(range));
            whole.extend(&alphabet[range.start as usize..range.end as usize]);
            whole.extend(frame.after());
        }
        whole.extend(frame.end());
        assert_eq!(whole.len() as u64, frame.length(&ranges));
        let expected = "--b0\r\nContent-Type: text/plain\r\nContent-Range: bytes 0-0/26\r\n\r\na\r\n\
            --b0\r\nContent-Type: text/plain\r\nContent-Range: bytes 3-5/26\r\n\r\ndef\r\n\
            --b0\r\nContent-Type: text/plain\r\nContent-Range: bytes 25-25/26\r\n\r\nz\r\n--b0--\r\n";
        assert_eq!(String::from_utf8(whole).unwrap(), expected);
    }
}
