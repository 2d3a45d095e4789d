//! The standard streams of the program in the enclave.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Cursor, Read};
use std::os::fd::AsFd;

/// The time that a read of standard input waits before the machine is checked.
const READ_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The streams of a run.
#[derive(Debug)]
pub struct Streams {
    /// The input.
    pub input: Input,
    /// Output and errors.
    pub output: Output,
}

/// The source of input.
#[derive(Debug)]
pub enum Input {
    /// Standard input of this process, recorded if it will be replayed.
    Standard {
        /// The bytes read so far, if they are recorded.
        recorded: Option<Vec<u8>>,
    },
    /// Bytes in memory, such as the recorded input of another run.
    Buffer(Cursor<Vec<u8>>),
}

/// The destination of output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The streams of this process.
    Standard,
    /// Output is discarded.
    Discard,
}

impl Streams {
    /// Returns the streams of this process.
    pub fn standard() -> Self {
        Streams { input: Input::Standard { recorded: None }, output: Output::Standard }
    }

    /// Returns the streams of this process, with input recorded for a [replay](Streams::replay).
    pub fn recorded() -> Self {
        Streams { input: Input::Standard { recorded: Some(Vec::new()) }, output: Output::Standard }
    }

    /// Returns streams with this input and no output.
    pub fn from_input(input: Vec<u8>) -> Self {
        Streams { input: Input::Buffer(Cursor::new(input)), output: Output::Discard }
    }

    /// Returns streams with the same input and no output.
    pub fn replay(self) -> Self {
        let bytes = match self.input {
            Input::Standard { recorded } => recorded.unwrap_or_default(),
            Input::Buffer(bytes) => bytes.into_inner(),
        };
        Streams::from_input(bytes)
    }
}

impl Input {
    /// Reads the available input, at most `max` bytes. Returns `None` if there is none yet.
    pub(super) fn read(&mut self, max: u32) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; max as usize];
        let read = match self {
            Input::Buffer(buffer) => buffer.read(&mut bytes)?,
            Input::Standard { recorded } => {
                let stdin = io::stdin();
                match poll(&mut [PollFd::new(&stdin, PollFlags::IN)], Some(&READ_TIMEOUT)) {
                    Ok(0) | Err(Errno::INTR) => return Ok(None),
                    Ok(_) => {}
                    Err(error) => return Err(error.into()),
                }
                let read = match rustix::io::read(stdin.as_fd(), &mut bytes) {
                    Err(Errno::INTR | Errno::AGAIN) => return Ok(None),
                    read => read?,
                };
                if let Some(recorded) = recorded {
                    recorded.extend(&bytes[..read]);
                }
                read
            }
        };
        bytes.truncate(read);
        Ok(Some(bytes))
    }
}

impl Output {
    /// Writes bytes, perhaps only some, and returns how many.
    pub(super) fn write(self, stream: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Discard => Ok(bytes.len()),
            Output::Standard => Ok(rustix::io::retry_on_intr(|| rustix::io::write(&stream, bytes))?),
        }
    }
}
