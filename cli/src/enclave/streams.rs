//! The standard streams of the program in the enclave.

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use std::io::{self, Cursor, Read};
use std::os::fd::AsFd;

/// The time for which a read of standard input waits before it is looked whether the machine is still there.
const READ_TIMEOUT: Timespec = Timespec { tv_sec: 0, tv_nsec: 200_000_000 };

/// The streams of a run.
#[derive(Debug)]
pub struct Streams {
    /// The input.
    pub input: Input,
    /// Output and errors.
    pub output: Output,
}

/// The place that input comes from.
#[derive(Debug)]
pub enum Input {
    /// Standard input of this process; what was read is kept, if it will be read again.
    Standard {
        /// The bytes that were read.
        recorded: Option<Vec<u8>>,
    },
    /// Bytes that are there: those that another run has read, for example.
    Buffer(Cursor<Vec<u8>>),
}

/// The place that output goes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// The streams of this process.
    Standard,
    /// Nowhere.
    Discard,
}

impl Streams {
    /// Those of this process.
    pub fn standard() -> Self {
        Streams { input: Input::Standard { recorded: None }, output: Output::Standard }
    }

    /// Those of this process, to be [run again](Streams::replay) with.
    pub fn recorded() -> Self {
        Streams { input: Input::Standard { recorded: Some(Vec::new()) }, output: Output::Standard }
    }

    /// This input, and no output.
    pub fn from_input(input: Vec<u8>) -> Self {
        Streams { input: Input::Buffer(Cursor::new(input)), output: Output::Discard }
    }

    /// The same input once more, and no output.
    pub fn replay(self) -> Self {
        let bytes = match self.input {
            Input::Standard { recorded } => recorded.unwrap_or_default(),
            Input::Buffer(bytes) => bytes.into_inner(),
        };
        Streams::from_input(bytes)
    }
}

impl Input {
    /// Reads as much as there is, at most `max` bytes; nothing yet is `None`.
    pub(super) fn read(&mut self, max: u32) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = vec![0; max as usize];
        let read = match self {
            Input::Buffer(of) => of.read(&mut bytes)?,
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
    /// Writes bytes, perhaps not all of them, and says how many.
    pub(super) fn write(self, to: impl AsFd, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Output::Discard => Ok(bytes.len()),
            Output::Standard => Ok(rustix::io::retry_on_intr(|| rustix::io::write(&to, bytes))?),
        }
    }
}
