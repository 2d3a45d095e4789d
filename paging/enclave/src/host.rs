//! The host, as the runtime calls it: everything comes back checked, and nothing is believed.

use alloc::string::ToString;
use ameles_enclave_boundary::exit::{Ending, Failure};
use ameles_enclave_boundary::mailbox::{Answer, Clock, Request, Stream};
use ameles_enclave_boundary::map::MAX_DATA_BYTES;

/// The mailbox.
pub trait Mailbox {
    /// Hands a request with its data over, waits, and copies the answer and so many of its bytes as the request asked
    /// for.
    ///
    /// # Errors
    /// The host gave an answer that no honest host gives.
    fn call(&mut self, request: Request, data: &[u8], into: &mut [u8]) -> Result<Answer, Ending>;
}

/// The host behind the mailbox, with what is remembered of it.
pub struct Host<M> {
    mailbox: M,
    allows_clock: bool,
    /// The latest times that the program was told, in nanoseconds: of day, and since some moment.
    latest: [u64; 2],
    /// Calls so far.
    pub calls: u64,
    /// Times that would have gone back, and were held.
    pub clamped_times: u64,
}

/// The error as Linux numbers it, or the end of the run.
#[derive(Debug, PartialEq, Eq)]
pub enum HostError {
    /// The host says that it failed.
    Failed(u16),
    /// The host lied.
    End(Ending),
}

/// The most nanoseconds that a clock says.
const MAX_NANOS: u64 = i64::MAX as u64;

impl<M: Mailbox> Host<M> {
    /// A host that was asked nothing yet.
    pub fn new(mailbox: M, allows_clock: bool) -> Self {
        Host { mailbox, allows_clock, latest: [0; 2], calls: 0, clamped_times: 0 }
    }

    /// Writes a part of the bytes to a stream, and says how many.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn write(&mut self, stream: Stream, bytes: &[u8]) -> Result<usize, HostError> {
        let bytes = &bytes[..bytes.len().min(MAX_DATA_BYTES as usize)];
        let request = Request::Write { stream, bytes: bytes.len() as u32 };
        self.done(request, bytes, &mut [])
    }

    /// Reads from standard input, and says how many bytes.
    ///
    /// # Errors
    /// [`HostError`].
    pub fn read(&mut self, into: &mut [u8]) -> Result<usize, HostError> {
        let max = into.len().min(MAX_DATA_BYTES as usize);
        self.done(Request::Read { max: max as u32 }, &[], &mut into[..max])
    }

    /// Tells whether the program may ask for the time.
    pub fn allows_clock(&self) -> bool {
        self.allows_clock
    }

    /// The time in nanoseconds. It never goes back, whatever the host says.
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

/// The end of a run whose host lied.
pub fn dishonest_host() -> Ending {
    Ending::Failed { kind: Failure::Host, text: ameles_enclave_boundary::mailbox::AnswerError.to_string() }
}
