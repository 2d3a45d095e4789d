//! A body in chunks (`aws-chunked`): the decoder checks the signature of each chunk, and the trailer after them.
//!
//! Bytes are passed on before the signature of their chunk is checked, so that no chunk must be kept in memory. A
//! reader must not use them before the end was reached without an error.

use super::payload_error::PayloadError;
use super::signed::Signed;
use base16ct::lower::encode_string as hex;
use bytes::{Buf as _, Bytes};
use http::{HeaderMap, HeaderName, HeaderValue};
use sha2::{Digest as _, Sha256};

/// The largest number of bytes of the line before a chunk: 16 digits and a signature have 98.
const MAX_HEAD: usize = 128;
/// The largest number of bytes of a trailer.
const MAX_TRAILER: usize = 16 << 10;
const SIGNATURE: &str = ";chunk-signature=";
const TRAILER_SIGNATURE: &str = "x-amz-trailer-signature";
const WRONG_HEAD: PayloadError = PayloadError::Malformed("a chunk does not begin with its size");

/// The result of a step of the decoder.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Step {
    Data(Bytes),
    /// All input was used.
    More,
}

/// Decodes a body in chunks.
pub(super) struct Chunks {
    /// The number of bytes of the body that are still missing.
    remaining: u64,
    has_trailer: bool,
    signed: Option<Signed>,
    state: State,
    /// The beginning of a line.
    line: Vec<u8>,
}

enum State {
    Head,
    Chunk(Chunk),
    /// The bytes after the last chunk, to the end.
    Trailer,
}

struct Chunk {
    /// The number of bytes of the chunk that are still missing. Its line end follows the last one.
    remaining: u64,
    signature: Vec<u8>,
    hasher: Sha256,
}

impl Chunks {
    /// Creates a decoder for a body of this many bytes; `signed` if its chunks are signed.
    pub(super) fn new(bytes: u64, has_trailer: bool, signed: Option<Signed>) -> Self {
        Chunks { remaining: bytes, has_trailer, signed, state: State::Head, line: Vec::new() }
    }

    /// Returns the number of missing bytes.
    pub(super) fn remaining(&self) -> u64 {
        self.remaining
    }

    /// Decodes more input.
    pub(super) fn step(&mut self, input: &mut Bytes) -> Result<Step, PayloadError> {
        while input.has_remaining() {
            match &mut self.state {
                State::Head => {
                    if self.read_line_end(input, MAX_HEAD)? {
                        self.begin()?;
                    }
                }
                State::Chunk(Chunk { remaining: 0, .. }) => {
                    if self.read_line_end(input, 2)? {
                        self.finish_chunk()?;
                    }
                }
                State::Chunk(chunk) => {
                    let taken = usize::try_from(chunk.remaining).unwrap_or(usize::MAX).min(input.len());
                    let data = input.split_to(taken);
                    chunk.remaining -= taken as u64;
                    if self.signed.is_some() {
                        chunk.hasher.update(&data);
                    }
                    return Ok(Step::Data(data));
                }
                State::Trailer => {
                    if self.line.len() + input.len() > MAX_TRAILER {
                        return Err(PayloadError::Malformed("its trailer is longer than 16 KiB"));
                    }
                    self.line.extend_from_slice(&std::mem::take(input));
                }
            }
        }
        Ok(Step::More)
    }

    /// Reads to the end of a line, and returns whether it was reached.
    fn read_line_end(&mut self, input: &mut Bytes, max: usize) -> Result<bool, PayloadError> {
        while input.has_remaining() {
            self.line.push(input.get_u8());
            if self.line.ends_with(b"\r\n") {
                self.line.truncate(self.line.len() - 2);
                return Ok(true);
            }
            if self.line.len() >= max {
                return Err(WRONG_HEAD);
            }
        }
        Ok(false)
    }

    fn begin(&mut self) -> Result<(), PayloadError> {
        let line = std::mem::take(&mut self.line);
        let line = std::str::from_utf8(&line).map_err(|_| WRONG_HEAD)?;
        let (size, signature) = match (&self.signed, line.split_once(SIGNATURE)) {
            (Some(_), Some((size, signature))) => (size, signature.as_bytes().to_vec()),
            (None, None) => (line, Vec::new()),
            _ => {
                return Err(PayloadError::Malformed(
                    "a chunk has no signature, or one that was not announced",
                ));
            }
        };
        let is_number = (1..=16).contains(&size.len()) && size.bytes().all(|digit| digit.is_ascii_hexdigit());
        let size = u64::from_str_radix(size, 16).ok().filter(|_| is_number).ok_or(WRONG_HEAD)?;
        self.remaining = self.remaining.checked_sub(size).ok_or(PayloadError::WrongLength)?;
        let chunk = Chunk { remaining: size, signature, hasher: Sha256::new() };
        self.state = match size {
            0 => {
                self.check(chunk)?;
                State::Trailer
            }
            _ => State::Chunk(chunk),
        };
        Ok(())
    }

    fn finish_chunk(&mut self) -> Result<(), PayloadError> {
        if !std::mem::take(&mut self.line).is_empty() {
            return Err(PayloadError::Malformed("a chunk does not end where its size says"));
        }
        match std::mem::replace(&mut self.state, State::Head) {
            State::Chunk(chunk) => self.check(chunk),
            State::Head | State::Trailer => Ok(()),
        }
    }

    fn check(&mut self, chunk: Chunk) -> Result<(), PayloadError> {
        let Some(signed) = &mut self.signed else { return Ok(()) };
        let digests = format!("{}\n{}", hex(&Sha256::digest(b"")), hex(&chunk.hasher.finalize()));
        signed.check_next("PAYLOAD", &digests, &chunk.signature)
    }

    /// Checks the end, and returns the trailer without its signature.
    pub(super) fn end(&mut self) -> Result<HeaderMap, PayloadError> {
        if !matches!(self.state, State::Trailer) {
            return Err(PayloadError::Incomplete);
        }
        if self.remaining > 0 {
            return Err(PayloadError::WrongLength);
        }
        let trailer = std::mem::take(&mut self.line);
        let trailer =
            std::str::from_utf8(&trailer).map_err(|_| PayloadError::Malformed("its trailer is not text"))?;
        let lines = trailer.lines().map(str::trim).filter(|line| !line.is_empty());
        let mut headers = Vec::new();
        for line in lines {
            let malformed = PayloadError::Malformed("a line of its trailer is not a header");
            let (name, value) = line.split_once(':').ok_or(malformed)?;
            headers.push((name.trim().to_ascii_lowercase(), value.trim()));
        }
        if !self.has_trailer && !headers.is_empty() {
            return Err(PayloadError::Malformed("it has a trailer that was not announced"));
        }
        let signature = headers.iter().position(|(name, _)| name == TRAILER_SIGNATURE);
        let signature = signature.map(|index| headers.remove(index).1);
        match (&mut self.signed, signature) {
            (Some(signed), Some(signature)) => {
                let mut lines: Vec<String> =
                    headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
                lines.sort();
                signed.check_next("TRAILER", &hex(&Sha256::digest(lines.concat())), signature.as_bytes())?;
            }
            (Some(_), None) if self.has_trailer => return Err(PayloadError::Signature),
            (None, Some(_)) => {
                return Err(PayloadError::Malformed("its trailer has a signature, its chunks have none"));
            }
            _ => {}
        }
        let parsed = headers.iter().map(|(name, value)| {
            Some((HeaderName::try_from(name.as_str()).ok()?, HeaderValue::try_from(*value).ok()?))
        });
        parsed.collect::<Option<_>>().ok_or(PayloadError::Malformed("a line of its trailer is not a header"))
    }
}

#[cfg(test)]
mod tests {
    use super::super::key::SigningKey;
    use super::*;

    const SECRET: &str = "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY";

    /// Returns the request of AWS's example of an upload in signed chunks.
    fn example() -> Signed {
        Signed {
            key: SigningKey::new(SECRET, "20130524", "us-east-1"),
            date: "20130524T000000Z".into(),
            scope: "20130524/us-east-1/s3/aws4_request".into(),
            signature: "4f232c4386841ef735655705268965c44a0e4690baa4adea153f7db9fa80a0a9".into(),
        }
    }

    /// The example's body: 65,536 bytes, 1,024 bytes and the end.
    fn example_body() -> Vec<u8> {
        let chunk = |bytes: usize, signature: &str| {
            let mut chunk = format!("{bytes:x};chunk-signature={signature}\r\n").into_bytes();
            chunk.resize(chunk.len() + bytes, b'a');
            chunk.extend_from_slice(b"\r\n");
            chunk
        };
        [
            chunk(65_536, "ad80c730a21e5b8d04586a2213dd63b9a0e99e0e2307b0ade35a65485a288648"),
            chunk(1_024, "0055627c9e194cb4542bae2aa5492e3c1575bbb81b612b7d234b86a503ef5497"),
            chunk(0, "b6c6ea8a5354eaf15b3cb7646744f4275b71ea724fed81ceb9323e279d449df9"),
        ]
        .concat()
    }

    /// Returns the decoded bytes of a body that arrives in pieces of this size.
    fn decoded(mut chunks: Chunks, body: &[u8], piece: usize) -> Result<(Vec<u8>, HeaderMap), PayloadError> {
        let mut data = Vec::new();
        for piece in body.chunks(piece) {
            let mut input = Bytes::copy_from_slice(piece);
            while let Step::Data(bytes) = chunks.step(&mut input)? {
                data.extend_from_slice(&bytes);
            }
        }
        Ok((data, chunks.end()?))
    }

    fn unsigned(body: &str, bytes: u64, has_trailer: bool) -> Result<(Vec<u8>, HeaderMap), String> {
        let decode = |piece| decoded(Chunks::new(bytes, has_trailer, None), body.as_bytes(), piece);
        let [whole, by_bytes] = [1 << 20, 1].map(|piece| decode(piece).map_err(|error| error.to_string()));
        assert_eq!(whole, by_bytes, "the pieces of the network change nothing");
        whole
    }

    #[test]
    fn the_example_of_the_documentation_comes_out_in_pieces_of_any_size() {
        // AWS, "Signature Calculations for the Authorization Header: Transferring Payload in Multiple Chunks".
        for piece in [1, 7, 1000, 1 << 20] {
            let (data, trailer) =
                decoded(Chunks::new(66_560, false, Some(example())), &example_body(), piece).expect("right");
            assert_eq!(data, vec![b'a'; 66_560]);
            assert!(trailer.is_empty());
        }
    }

    #[test]
    fn no_byte_of_a_signed_body_can_be_changed_left_out_or_added() {
        let body = example_body();
        let refuses = |body: &[u8]| decoded(Chunks::new(66_560, false, Some(example())), body, 4096).is_err();
        for index in [0, 3, 90, 95, 40_000, 65_700, body.len() - 10] {
            let mut changed = body.clone();
            changed[index] ^= 1;
            assert!(refuses(&changed), "byte {index}");
        }
        let last = body.len() - 87;
        for length in [0, 1, 40_000, last, last + 1, body.len() - 6] {
            assert!(refuses(&body[..length]), "the first {length} bytes");
        }
        assert!(refuses(&[&body[..], b"a:b\r\n\r\n"].concat()));
    }

    #[test]
    fn a_body_ends_with_its_last_chunk_and_not_before() {
        assert_eq!(unsigned("3\r\nabc\r\n0\r\n\r\n", 3, true).expect("whole").0, b"abc");
        assert_eq!(unsigned("3\r\nabc\r\n", 3, true), Err("the body ended early".into()));
        for announced in [2, 4] {
            let invalid = unsigned("3\r\nabc\r\n0\r\n\r\n", announced, true).expect_err("another length");
            assert!(invalid.contains("more or fewer bytes than x-amz-decoded-content-length"), "{invalid}");
        }
    }

    #[test]
    fn a_trailer_is_returned_if_it_was_announced() {
        let body = "1\r\na\r\n0\r\nX-Amz-Checksum-CRC32: 6Le+Qw==\r\n\r\n";
        let trailer = unsigned(body, 1, true).expect("whole").1;
        assert_eq!(trailer["x-amz-checksum-crc32"], "6Le+Qw==");
        assert!(unsigned(body, 1, false).expect_err("not announced").contains("not announced"));
        let long = format!("0\r\na:{}\r\n\r\n", "b".repeat(MAX_TRAILER));
        assert!(unsigned(&long, 0, true).expect_err("long").contains("16 KiB"));
    }

    #[test]
    fn what_is_no_chunk_is_refused() {
        for body in
            ["x\r\n", "-1\r\n", "\r\n", "+1\r\na\r\n", "1\r\nab\r\n", "1 \r\na\r\n", "00000000000000001\r\n"]
        {
            assert!(unsigned(body, 100, true).expect_err(body).contains("malformed"), "{body:?}");
        }
        let signed = unsigned("1;chunk-signature=00\r\na\r\n", 1, true).expect_err("signed");
        assert!(signed.contains("not announced"), "{signed}");
    }
}
