//! The record that the runtime leaves in untrusted memory when the program has ended.
//!
//! Everything in it is public: the host reads it. Format (1 byte), then the record by [borsh](https://borsh.io).

use crate::map::MAX_EXIT_BYTES;
use alloc::string::String;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};

/// The format of the record.
const FORMAT: u8 = 1;
/// The most bytes of an error's text.
const MAX_TEXT_BYTES: usize = 4096;
/// The most refused calls that are named; Linux has fewer.
const MAX_REFUSED: usize = 1024;

/// The end of a run, and what it took.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct ExitRecord {
    /// The end.
    pub ending: Ending,
    /// Counts of paging.
    pub faults: Faults,
    /// Counts of instructions.
    pub instructions: Instructions,
    /// Nanoseconds by the machine's timer, within the window if there is one. Where instructions are counted, the timer
    /// goes by them.
    pub nanos: u64,
    /// Memory.
    pub memory: Memory,
    /// System calls that were served.
    pub system_calls: u64,
    /// Of them, those for which the host was asked.
    pub host_calls: u64,
    /// Answers of the clock that would have gone back in time, and were held.
    pub clamped_times: u64,
    /// System calls that were refused, by name.
    pub refused: Vec<Refused>,
}

/// The way in which the program ended.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Ending {
    /// By itself, with this code.
    Exited(u8),
    /// By the runtime, with the last fault of the window that was asked for.
    WindowEnded,
    /// By a signal, as Linux numbers it.
    Signalled {
        /// The number.
        signal: u8,
        /// The reason in words, without an address.
        reason: String,
    },
    /// By the runtime, which could not go on.
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
    /// There is no page left where one must be given: the stack, say.
    OutOfMemory,
    /// A system call that it would be dangerous to refuse and go on.
    Refused,
    /// The host gave an answer that no honest host gives, or none.
    Host,
    /// A fault of the runtime itself.
    Runtime,
}

/// Counts of paging.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Faults {
    /// Pages that were brought in through the scheme.
    pub faults: u64,
    /// Pages that were written through the scheme to make room.
    pub evictions: u64,
    /// Steps of the scheme's off-line work.
    pub idle_steps: u64,
    /// Faults while the image was loaded, before the program's first instruction: they are not among the others.
    pub loading: u64,
}

/// Counts of instructions that the enclave's harts retired, within the window if there is one. Waiting for the host is
/// in none of them. Those that say so are 0 without meters.
///
/// Harts whose shares are done [one after the other](crate::launch::Instrumentation::sequential_shares) take as long side by side as
/// `total - shared + longest`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Instructions {
    /// From the program's first instruction to its end, with everything that the runtime did for it.
    pub total: u64,
    /// Of `total`, page faults: the program's from the trap to the return, and those that its system calls made.
    pub faults: u64,
    /// Of `faults`, the scheme's off-line work.
    pub idle: u64,
    /// Of `step`, what another processor would have done while the program ran on: of each fault the smaller of its
    /// off-line work and all that came between its end and the beginning of the next. Of several harts' work, the
    /// longest share counts.
    pub hidden: u64,
    /// Of `faults`, the shares of batches that were spread over harts, those of all harts together. With
    /// [`sequential_shares`](crate::launch::Instrumentation::sequential_shares).
    pub shared: u64,
    /// Of `shared`, the longest share of each batch. With `sequential_shares`.
    pub longest: u64,
    /// Of `faults`, all that spreading took beside the shares: posting work, waking harts, and joining. With `sequential_shares`.
    pub handing_over: u64,
    /// Of `total`, system calls without the page faults that they made.
    pub system_calls: u64,
    /// Of `faults`, ciphers. With meters.
    pub ciphers: u64,
    /// Of `faults`, copies between private and untrusted memory, and to where a page is sealed. With meters.
    pub copies: u64,
    /// Of `faults`, taking pages out of the page table and putting them in. With meters.
    pub frames: u64,
    /// Of `faults`, writing through the scheme, ciphers and copies with it. With meters.
    pub writes: u64,
    /// Of `faults`, reading through the scheme, ciphers and copies with it. With meters.
    pub reads: u64,
}

/// Memory of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Memory {
    /// Pages that the program could have had.
    pub pages: u64,
    /// The most pages that it had at a time.
    pub max_held_pages: u64,
    /// Pages that were resident.
    pub resident: u64,
    /// Bytes of untrusted memory that sealed pages took.
    pub untrusted_bytes: u64,
    /// Bytes on the trusted side, without the resident pages: position map, stash, versions, key.
    pub trusted_bytes: u64,
}

/// A system call that was refused.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Refused {
    /// Its name; its number in words if it has none here.
    pub name: String,
    /// Its number.
    pub number: u64,
    /// The times that the program asked for it.
    pub times: u64,
}

/// The reason why bytes are no exit record.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExitError {
    /// Another format.
    #[error("the exit record has format {0}, which is not known here")]
    Format(u8),
    /// Nothing that is a record.
    #[error("the exit record cannot be read")]
    Record,
}

impl ExitRecord {
    /// A record of an end before anything was counted.
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

    /// Its bytes, at most [`MAX_EXIT_BYTES`]: texts and lists that are too long are cut.
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

    /// The record that these bytes are.
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

/// Shortens a text to so many bytes, or a few fewer: between two characters.
fn cut(text: &mut String, max: usize) {
    text.truncate(text.floor_char_boundary(max));
}

// The longest record there can be: names with their lengths and numbers, the text, and the counts.
const _: () = assert!(MAX_REFUSED * (4 + 32 + 16) + MAX_TEXT_BYTES + 512 <= MAX_EXIT_BYTES as usize);
