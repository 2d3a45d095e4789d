//! Calls of the host: requests of the runtime and answers of the host, in untrusted memory.
//!
//! There is one request at a time. The runtime stores data and request, and then increments
//! [`REQUEST_NUMBER_OFFSET`](crate::map::REQUEST_NUMBER_OFFSET). The host handles it, stores data and answer, and then
//! stores the same number at [`ANSWER_NUMBER_OFFSET`]. Everything that is read is copied out once, and the copy is
//! parsed.

use crate::map::{ANSWER_NUMBER_OFFSET, ANSWER_OFFSET, EXIT_LENGTH_OFFSET, MAX_DATA_BYTES, REQUEST_OFFSET};

/// The number of bytes of a request.
pub const REQUEST_BYTES: usize = 32;
/// The number of bytes of an answer.
pub const ANSWER_BYTES: usize = 32;

// Each fits its place in untrusted memory.
const _: () = assert!(REQUEST_OFFSET + REQUEST_BYTES as u64 <= ANSWER_NUMBER_OFFSET);
const _: () = assert!(ANSWER_OFFSET + ANSWER_BYTES as u64 <= EXIT_LENGTH_OFFSET);

const WRITE: u32 = 1;
const READ: u32 = 2;
const CLOCK: u32 = 3;
const STORE: u32 = 4;
const LOAD: u32 = 5;
const AFTER_FAULT: u32 = 6;

/// Linux's largest error number.
const MAX_ERRNO: u64 = 4095;
/// The exclusive bound of a clock's seconds. Seconds below it fit a signed number of nanoseconds.
const MAX_SECONDS: u64 = 1 << 33;

/// An output stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    /// Standard output.
    Output,
    /// Standard error.
    Error,
}

/// A clock of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Clock {
    /// The real-time clock.
    Realtime,
    /// The monotonic clock.
    Monotonic,
}

/// A request of the runtime to the host. The host sees its contents and its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Request {
    /// Writes the data to a stream.
    Write {
        /// The stream.
        stream: Stream,
        /// The number of bytes of the data.
        bytes: u32,
    },
    /// Reads from standard input: the answer's bytes are the data; 0 at its end.
    Read {
        /// The maximum number of bytes to read.
        max: u32,
    },
    /// Reads a clock.
    Clock(Clock),
    /// Stores the data, which are sealed, in the host's own memory.
    Store {
        /// The offset of the first byte.
        at: u64,
        /// The number of bytes of the data.
        bytes: u32,
    },
    /// Loads stored data.
    Load {
        /// The offset of the first byte.
        at: u64,
        /// The number of requested bytes: all of them or an error.
        bytes: u32,
    },
    /// Reports another fault, after all its work is done. The runtime waits meanwhile.
    AfterFault {
        /// The number of faults so far, including those during loading.
        faults: u64,
        /// The number of pages that were written through the scheme so far.
        evictions: u64,
    },
}

/// The reason why bytes are not a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequestError {
    /// An unknown number of a request.
    #[error("no request has the number {0}")]
    Kind(u32),
    /// An unknown stream or clock.
    #[error("the request names stream or clock {0}, which does not exist")]
    Argument(u32),
    /// The request has more data than fit.
    #[error("the request is for {0} bytes, more than the buffer has")]
    Length(u32),
}

impl Request {
    /// Encodes the request.
    pub fn encode(&self) -> [u8; REQUEST_BYTES] {
        let (kind, argument, length, at, more): (u32, u32, u32, u64, u64) = match *self {
            Request::Write { stream: Stream::Output, bytes } => (WRITE, 1, bytes, 0, 0),
            Request::Write { stream: Stream::Error, bytes } => (WRITE, 2, bytes, 0, 0),
            Request::Read { max } => (READ, 0, max, 0, 0),
            Request::Clock(Clock::Realtime) => (CLOCK, 0, 0, 0, 0),
            Request::Clock(Clock::Monotonic) => (CLOCK, 1, 0, 0, 0),
            Request::Store { at, bytes } => (STORE, 0, bytes, at, 0),
            Request::Load { at, bytes } => (LOAD, 0, bytes, at, 0),
            Request::AfterFault { faults, evictions } => (AFTER_FAULT, 0, 0, faults, evictions),
        };
        let mut encoded = [0; REQUEST_BYTES];
        put(&mut encoded, 0, u64::from(argument) << 32 | u64::from(kind));
        put(&mut encoded, 8, length.into());
        put(&mut encoded, 16, at);
        put(&mut encoded, 24, more);
        encoded
    }

    /// Parses a request.
    ///
    /// # Errors
    /// [`RequestError`].
    pub fn parse(bytes: &[u8; REQUEST_BYTES]) -> Result<Self, RequestError> {
        let head = get(bytes, 0);
        let (kind, argument) = (head as u32, (head >> 32) as u32);
        let (length, at, more) = (get(bytes, 8) as u32, get(bytes, 16), get(bytes, 24));
        if length > MAX_DATA_BYTES {
            return Err(RequestError::Length(length));
        }
        let bytes = length;
        Ok(match (kind, argument) {
            (WRITE, 1) => Request::Write { stream: Stream::Output, bytes },
            (WRITE, 2) => Request::Write { stream: Stream::Error, bytes },
            (READ, 0) => Request::Read { max: length },
            (CLOCK, 0) => Request::Clock(Clock::Realtime),
            (CLOCK, 1) => Request::Clock(Clock::Monotonic),
            (STORE, 0) => Request::Store { at, bytes },
            (LOAD, 0) => Request::Load { at, bytes },
            (AFTER_FAULT, 0) => Request::AfterFault { faults: at, evictions: more },
            (WRITE..=AFTER_FAULT, _) => return Err(RequestError::Argument(argument)),
            _ => return Err(RequestError::Kind(kind)),
        })
    }

    /// The maximum number of bytes that the host may report as done.
    fn max(&self) -> u32 {
        match *self {
            Request::Write { bytes, .. } | Request::Store { bytes, .. } | Request::Load { bytes, .. } => {
                bytes
            }
            Request::Read { max } => max,
            Request::Clock(_) | Request::AfterFault { .. } => 0,
        }
    }

    /// Returns whether a partial result is invalid.
    fn is_whole(&self) -> bool {
        matches!(self, Request::Store { .. } | Request::Load { .. })
    }
}

/// The host's answer to a request. It is untrusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The number of bytes that were written, read, stored or loaded.
    Done {
        /// The number of these bytes, at most the requested one.
        bytes: u32,
    },
    /// The time.
    Time {
        /// The number of seconds since the clock's beginning.
        seconds: u64,
        /// The number of nanoseconds of the second, below 10^9.
        nanos: u32,
    },
    /// The host could not serve the request.
    Failed {
        /// The error, in Linux's numbering, 1 to 4095.
        errno: u16,
    },
}

/// The host gave an invalid answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the host gave an answer that does not belong to the request")]
pub struct AnswerError;

const FAILED: u64 = 0;
const DONE: u64 = 1;
const TIME: u64 = 2;

impl Answer {
    /// Encodes the answer.
    pub fn encode(&self) -> [u8; ANSWER_BYTES] {
        let (kind, first, second) = match *self {
            Answer::Failed { errno } => (FAILED, errno.into(), 0),
            Answer::Done { bytes } => (DONE, bytes.into(), 0),
            Answer::Time { seconds, nanos } => (TIME, seconds, nanos.into()),
        };
        let mut encoded = [0; ANSWER_BYTES];
        put(&mut encoded, 0, kind);
        put(&mut encoded, 8, first);
        put(&mut encoded, 16, second);
        encoded
    }

    /// Parses an answer to the request.
    ///
    /// # Errors
    /// [`AnswerError`].
    pub fn parse(bytes: &[u8; ANSWER_BYTES], request: &Request) -> Result<Self, AnswerError> {
        let (kind, first, second) = (get(bytes, 0), get(bytes, 8), get(bytes, 16));
        let of_time = matches!(request, Request::Clock(_));
        let max = u64::from(request.max());
        match kind {
            FAILED if (1..=MAX_ERRNO).contains(&first) => Ok(Answer::Failed { errno: first as u16 }),
            DONE if !of_time && (first == max || first < max && !request.is_whole()) => {
                Ok(Answer::Done { bytes: first as u32 })
            }
            TIME if of_time && first < MAX_SECONDS && second < 1_000_000_000 => {
                Ok(Answer::Time { seconds: first, nanos: second as u32 })
            }
            _ => Err(AnswerError),
        }
    }
}

fn put(bytes: &mut [u8; REQUEST_BYTES], at: usize, value: u64) {
    bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
}

fn get(bytes: &[u8; REQUEST_BYTES], at: usize) -> u64 {
    bytes[at..at + 8].iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte))
}
