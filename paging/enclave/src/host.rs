//! Calls of the host: every answer is checked, and none is trusted.

use alloc::string::ToString;
use ameles_enclave_boundary::exit::{Ending, Failure};
use ameles_enclave_boundary::mailbox::{Answer, Clock, Request, Stream};
use ameles_enclave_boundary::map::MAX_DATA_BYTES;

/// The mailbox.
pub trait Mailbox {
    /// Sends a request with its data, waits, and copies the answer and as many of its bytes as were requested.
    ///
    /// # Errors
    /// The host gave an invalid answer.
    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, Ending>;
}

/// The host behind the mailbox, and its latest times.
pub struct Host<M> {
    mailbox: M,
    allows_clock: bool,
    /// The latest times that the program got, in nanoseconds: of the real-time clock, and of the monotonic clock.
    latest: [u64; 2],
    /// The number of calls so far.
    pub calls: u64,
    /// The number of times that would have gone back, and were clamped.
    pub clamped_times: u64,
}

/// The error, in Linux's numbering, or the end of the run.
#[derive(Debug, PartialEq, Eq)]
pub enum HostError {
    /// The host reports a failure.
    Failed(u16),
    /// The host gave an invalid answer.
    End(Ending),
}

/// The maximum number of nanoseconds of a clock.
const MAX_NANOS: u64 = i64::MAX as u64;

impl<M: Mailbox> Host<M> {
    /// A host that was not called yet.
    pub fn new(mailbox: M, allows_clock: bool) -> Self {
        Host { mailbox, allows_clock, latest: [0; 2], calls: 0, clamped_times: 0 }
    }

    /// Writes a part of the bytes to a stream, and returns how many.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) -> Result<usize, HostError> {
        let bytes = &bytes[..bytes.len().min(MAX_DATA_BYTES as usize)];
        let request = Request::Write { stream, bytes: bytes.len() as u32 };
        self.done(request, bytes, &mut [])
    }

    /// Reads from standard input, and returns how many bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, HostError> {
        let max = into.len().min(MAX_DATA_BYTES as usize);
        self.done(Request::Read { max: max as u32 }, &[], &mut into[..max])
    }

    /// Returns whether the program may read the time.
    pub fn allows_clock(&self) -> bool {
        self.allows_clock
    }

    /// The time in nanoseconds. It never goes back, for any answers of the host.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn time(&mut self, clock: Clock) -> Result<u64, HostError> {
        let said = match self.call(Request::Clock(clock), &[], &mut [])? {
            Answer::Time { seconds, nanos } => {
                seconds.saturating_mul(1_000_000_000).saturating_add(nanos.into()).min(MAX_NANOS)
            }
            _ => return Err(HostError::End(dishonest_host())),
        };
        let latest = &mut self.latest[usize::from(clock == Clock::Monotonic)];
        self.clamped_times += u64::from(said < *latest);
        *latest = said.max(*latest);
        Ok(*latest)
    }

    fn done(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<usize, HostError> {
        match self.call(request, data, into)? {
            Answer::Done { bytes } => Ok(bytes as usize),
            _ => Err(HostError::End(dishonest_host())),
        }
    }

    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, HostError> {
        self.calls += 1;
        match self.mailbox.call(request, data, into).map_err(HostError::End)? {
            Answer::Failed { errno } => Err(HostError::Failed(errno)),
            answer => Ok(answer),
        }
    }
}

/// The ending of a run whose host gave an invalid answer.
pub fn dishonest_host() -> Ending {
    Ending::Failed { kind: Failure::Host, text: ameles_enclave_boundary::mailbox::AnswerError.to_string() }
}
