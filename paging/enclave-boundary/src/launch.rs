//! The package that lies in private memory before the runtime starts: the program, its arguments, and how it is paged.
//!
//! Magic (8 bytes), length of the options (4 bytes, little-endian), length of the program's image (8 bytes), the options
//! by [borsh](https://borsh.io), the image as it is. Bytes behind it are ignored: it was loaded into whole pages.

use alloc::string::String;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The first bytes of a package; the last of them is its format.
pub const MAGIC: [u8; 8] = *b"AMELESP\x01";
/// Bytes before the options.
const HEADER_BYTES: usize = 20;
/// The most bytes of the options: arguments and environment are most of them.
pub const MAX_OPTION_BYTES: u32 = 1 << 20;
/// The fewest resident pages with which every instruction comes to its end: it may lie on two, and touch two more.
pub const MIN_RESIDENT: u32 = 4;
/// The most resident pages: a quarter of private memory.
pub const MAX_RESIDENT: u32 = (crate::map::PRIVATE_BYTES / 4 / 4096) as u32;

/// The most harts of an enclave.
pub const MAX_HARTS: u32 = 8;

/// The options of a run, and the secret that it starts from.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Launch {
    /// The way in which the program's memory is paged.
    pub paging: Paging,
    /// The calls of the host that are allowed beside the standard streams.
    pub allowed: AllowedCalls,
    /// The listeners to its faults.
    pub instrumentation: Instrumentation,
    /// The secret from which keys and every random number are drawn.
    pub seed: Seed,
    /// The program's arguments, its name the first of them; without the zeros at their ends.
    pub arguments: Vec<Vec<u8>>,
    /// Its environment, `NAME=value` each.
    pub environment: Vec<Vec<u8>>,
}

/// The way in which the program's memory is paged.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Paging {
    /// The scheme by its name, as the pager knows it.
    pub scheme: String,
    /// K, main pages refreshed by each write of DetWoORAM and its kin.
    pub ratio: u64,
    /// Pages that are resident: at least [`MIN_RESIDENT`].
    pub resident: u32,
    /// The cipher by its name, as the sealing layer knows it.
    pub cipher: String,
    /// Bytes of untrusted memory for sealed pages, without the mailbox.
    pub untrusted_bytes: u64,
    /// Pages of the program's memory; as many as the untrusted memory holds, if not said.
    pub pages: Option<u64>,
    /// The place where sealed pages stay.
    pub storage: SealedStorage,
    /// The levels of the page table.
    pub levels: Levels,
    /// True if each slot of untrusted memory is written before the program begins, as after a long run: for measuring.
    pub filled: bool,
    /// Harts that seal and open pages: at least 1, and more than 1 for a parallel scheme only.
    pub harts: u32,
}

/// The place where sealed pages stay: the paper's two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum SealedStorage {
    /// In untrusted memory itself.
    #[default]
    Backing,
    /// At the host, by way of a copy in untrusted memory (Figure 1).
    Intermediary,
}

/// The levels of the program's page table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum Levels {
    /// Three, for 39 bits of address.
    #[default]
    Sv39,
    /// Four, for 48 bits.
    Sv48,
}

/// Calls of the host beside the standard streams. None unless told otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AllowedCalls {
    /// The time of day: the host learns when the program asks, and says what it likes.
    pub clock: bool,
}

/// The listeners to the faults of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Instrumentation {
    /// True if the runtime tells the host of every fault and stands still until it is answered.
    pub after_fault: bool,
    /// True if instructions are counted part by part, which makes every fault a few instructions longer.
    pub meters: bool,
    /// True if the shares of a batch are done one after the other, so that each hart's instructions are counted by
    /// themselves.
    pub sequential_shares: bool,
    /// The faults between which everything is counted, if not all are.
    pub window: Option<Window>,
}

/// A number of faults in the middle of a run. The program ends with its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Window {
    /// Faults of the program that come before it.
    pub warm: u64,
    /// Faults that are counted: at least 1.
    pub faults: u64,
}

/// A secret of 32 bytes. It is wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize, Zeroize, ZeroizeOnDrop)]
pub struct Seed(pub [u8; 32]);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl fmt::Debug for Launch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch")
            .field("paging", &self.paging)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// The reason why bytes are no launch package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// Other bytes, or another format.
    #[error("there is no launch package of this format")]
    Magic,
    /// An end before the end.
    #[error("the launch package says that it has {needed} bytes, and there are {found}")]
    Short {
        /// Bytes that it says it has.
        needed: u64,
        /// Bytes that there are.
        found: u64,
    },
    /// Options that cannot be read.
    #[error("the options of the launch package cannot be read")]
    Options,
    /// Options that are too long.
    #[error(
        "options of {found} bytes are too long, mostly arguments and environment: at most {MAX_OPTION_BYTES}"
    )]
    TooLong {
        /// Bytes that they have.
        found: u64,
    },
    /// An argument that C cannot read, or no argument at all.
    #[error("a program needs a name, and neither arguments nor environment may hold a zero byte")]
    Arguments,
}

impl Launch {
    /// Checks what no program could be given.
    fn checked(self) -> Result<Self, LaunchError> {
        let mut texts = self.arguments.iter().chain(&self.environment);
        if self.arguments.is_empty() || texts.any(|text| text.contains(&0)) {
            return Err(LaunchError::Arguments);
        }
        Ok(self)
    }
}

/// Bytes of a package for the given image.
///
/// # Errors
/// [`LaunchError::TooLong`], [`LaunchError::Arguments`].
pub fn encode(launch: &Launch, image: &[u8]) -> Result<Vec<u8>, LaunchError> {
    let mut options = borsh::to_vec(&launch.clone().checked()?).map_err(|_| LaunchError::Options)?;
    let length = options.len() as u64;
    if length > u64::from(MAX_OPTION_BYTES) {
        return Err(LaunchError::TooLong { found: length });
    }
    let mut package = Vec::with_capacity(HEADER_BYTES + options.len() + image.len());
    package.extend(MAGIC);
    package.extend((length as u32).to_le_bytes());
    package.extend((image.len() as u64).to_le_bytes());
    package.extend(&options);
    package.extend(image);
    options.zeroize();
    Ok(package)
}

/// The options, and the program's image.
///
/// # Errors
/// [`LaunchError`].
pub fn parse(bytes: &[u8]) -> Result<(Launch, &[u8]), LaunchError> {
    let short = |needed: u64| LaunchError::Short { needed, found: bytes.len() as u64 };
    let (header, rest) = bytes.split_at_checked(HEADER_BYTES).ok_or(short(HEADER_BYTES as u64))?;
    let (magic, lengths) = header.split_at(MAGIC.len());
    if magic != MAGIC {
        return Err(LaunchError::Magic);
    }
    let (options, image) = lengths.split_at(4);
    let options = options.iter().rev().fold(0, |value, byte| value << 8 | u64::from(*byte));
    let image = image.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte));
    if options > u64::from(MAX_OPTION_BYTES) {
        return Err(LaunchError::TooLong { found: options });
    }
    let needed = image.saturating_add(options + HEADER_BYTES as u64);
    if needed > bytes.len() as u64 {
        return Err(short(needed));
    }
    let (options, rest) = rest.split_at(options as usize);
    let launch: Launch = borsh::from_slice(options).map_err(|_| LaunchError::Options)?;
    Ok((launch.checked()?, &rest[..image as usize]))
}
