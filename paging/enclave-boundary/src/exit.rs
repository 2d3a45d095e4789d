//! The record that the runtime writes to untrusted memory at the end of a run.
//!
//! Everything in it is public: the host reads it. Format (1 byte), then the record by [borsh](https://borsh.io).

use crate::map::MAX_EXIT_BYTES;
use alloc::string::String;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// The format of the record.
const FORMAT: u8 = 1;
/// The maximum number of bytes of an error's text.
const MAX_TEXT_BYTES: usize = 4096;
/// The maximum number of refused calls that are listed; Linux has fewer.
const MAX_REFUSED: usize = 1024;

/// The end of a run, and its counts.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ExitRecord {
    /// The end.
    pub ending: Ending,
    /// The counts of paging.
    pub faults: Faults,
    /// The counts of instructions.
    pub instructions: Instructions,
    /// The number of nanoseconds by the machine's timer, within the window if there is one. Where instructions are
    /// counted, the timer follows their number.
    pub nanos: u64,
    /// Memory.
    pub memory: Memory,
    /// The number of handled system calls.
    pub system_calls: u64,
    /// The number of system calls among them that called the host.
    pub host_calls: u64,
    /// The number of answers of the clock that would have gone back in time, and were clamped.
    pub clamped_times: u64,
    /// The system calls that were refused, by name.
    pub refused: Vec<Refused>,
}

/// The way in which the program ended.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Ending {
    /// The program exited with this code.
    Exited(u8),
    /// The runtime ended it, after the last fault of the requested window.
    WindowEnded,
    /// A signal ended the program, in Linux's numbering.
    Signalled {
        /// The number.
        signal: u8,
        /// The reason in words, without an address.
        reason: String,
    },
    /// A failure of the runtime ended the program.
    Failed {
        /// The kind of the failure.
        kind: Failure,
        /// The failure in words.
        text: String,
    },
}

/// The kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Failure {
    /// The package cannot be run: options, program, memory.
    Launch,
    /// A page was forged, swapped, replayed or rolled back.
    Forged,
    /// No page is left where one is needed: for the stack, say.
    OutOfMemory,
    /// A system call that cannot be refused safely.
    Refused,
    /// The host gave an invalid answer, or none.
    Host,
    /// A failure of the runtime itself.
    Runtime,
}

/// Counts of paging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Faults {
    /// The number of pages that were paged in through the scheme.
    pub faults: u64,
    /// The number of pages that were written through the scheme to make room.
    pub evictions: u64,
    /// The number of steps of the scheme's offline work.
    pub idle_steps: u64,
    /// The number of faults during loading, before the program's first instruction. The other counts do not include
    /// them.
    pub loading: u64,
}

/// Instructions that the enclave's harts retired, within the window if there is one. Waiting for the host is not
/// included. Fields that say so are 0 without meters.
///
/// Harts whose shares run [one after the other](crate::launch::Instrumentation::sequential_shares) would in parallel
/// take `total - shared + longest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Instructions {
    /// The instructions from the program's first to its end, including all work of the runtime.
    pub total: u64,
    /// The part of `total` for page faults. The program's own faults count from the trap to the return; faults during
    /// its system calls count too.
    pub faults: u64,
    /// The part of `faults` for the scheme's offline work.
    pub idle: u64,
    /// The part of `idle` that another processor would have done while the program ran. For each fault it is the
    /// smaller of two numbers: its offline work, and everything between its end and the beginning of the next fault. If
    /// several harts work, the longest share counts.
    pub hidden: u64,
    /// The part of `faults` for batches that were distributed to harts, summed over all harts. Needs
    /// [`sequential_shares`](crate::launch::Instrumentation::sequential_shares).
    pub shared: u64,
    /// The part of `shared` for the longest share of each batch. Needs `sequential_shares`.
    pub longest: u64,
    /// The part of `faults` for distributing: offering work, waking harts, and joining. Needs `sequential_shares`.
    pub handing_over: u64,
    /// The part of `total` for system calls without the page faults during them.
    pub system_calls: u64,
    /// The part of `faults` for ciphers. Needs meters.
    pub ciphers: u64,
    /// The part of `faults` for copies between private and untrusted memory, and to the buffer for sealing. Needs
    /// meters.
    pub copies: u64,
    /// The part of `faults` for unmapping and mapping pages in the page table. Needs meters.
    pub frames: u64,
    /// The part of `faults` for writing through the scheme, including ciphers and copies. Needs meters.
    pub writes: u64,
    /// The part of `faults` for reading through the scheme, including ciphers and copies. Needs meters.
    pub reads: u64,
}

/// Memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Memory {
    /// The number of pages that the program could use.
    pub pages: u64,
    /// The maximum number of pages that the program used at a time.
    pub max_held_pages: u64,
    /// The number of pages that were resident.
    pub resident: u64,
    /// The number of bytes of untrusted memory that sealed pages took.
    pub untrusted_bytes: u64,
    /// The number of bytes on the trusted side, without the resident pages: position map, stash, versions, key.
    pub trusted_bytes: u64,
}

/// A system call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Refused {
    /// The name of the system call, or its number as text if the table has no name.
    pub name: String,
    /// The number of the system call.
    pub number: u64,
    /// The number of times that the program made this call.
    pub times: u64,
}

/// The reason why bytes are not an exit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExitError {
    /// The record has another format.
    #[error("the exit record has format {0}, which this version does not know")]
    Format(u8),
    /// The record is not valid.
    #[error("the exit record cannot be read")]
    Record,
}

impl ExitRecord {
    /// A record of a run that ended before anything was counted.
    pub fn of(ending: Ending) -> Self {
        ExitRecord {
            ending,
            faults: Faults::default(),
            instructions: Instructions::default(),
            nanos: 0,
            memory: Memory::default(),
            system_calls: 0,
            host_calls: 0,
            clamped_times: 0,
            refused: Vec::new(),
        }
    }

    /// Returns the record's bytes, at most [`MAX_EXIT_BYTES`]: long texts and lists are truncated.
    pub fn encode(&self) -> Vec<u8> {
        let mut record = self.clone();
        record.refused.truncate(MAX_REFUSED);
        record.refused.iter_mut().for_each(|refused| cut(&mut refused.name, 32));
        match &mut record.ending {
            Ending::Exited(_) | Ending::WindowEnded => {}
            Ending::Signalled { reason: text, .. } | Ending::Failed { text, .. } => cut(text, MAX_TEXT_BYTES),
        }
        let mut bytes = alloc::vec![FORMAT];
        borsh::to_writer(&mut bytes, &record).expect("memory takes every write");
        bytes
    }

    /// Parses a record.
    ///
    /// # Errors
    /// [`ExitError`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ExitError> {
        if bytes.len() as u64 > MAX_EXIT_BYTES {
            return Err(ExitError::Record);
        }
        match bytes.split_first() {
            Some((&FORMAT, record)) => borsh::from_slice(record).map_err(|_| ExitError::Record),
            Some((&format, _)) => Err(ExitError::Format(format)),
            None => Err(ExitError::Record),
        }
    }
}

/// Truncates a text to this many bytes, or a few fewer, at a character boundary.
fn cut(text: &mut String, max: usize) {
    text.truncate(text.floor_char_boundary(max));
}

// The longest possible record: names with their lengths and numbers, the text, and the counts.
const _: () = assert!(MAX_REFUSED * (4 + 32 + 16) + MAX_TEXT_BYTES + 512 <= MAX_EXIT_BYTES as usize);
