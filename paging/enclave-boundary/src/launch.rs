//! The launch package in private memory: the program, its arguments, and the options of its paging.
//!
//! Magic (8 bytes), length of the options (4 bytes, little-endian), length of the program's image (8 bytes), the
//! options by [borsh](https://borsh.io), the image unchanged. Bytes after it are ignored: it was loaded into whole
//! pages.

use alloc::string::String;
use alloc::vec::Vec;
use borsh::{BorshDeserialize, BorshSerialize};
use core::fmt;
use zeroize::{Zeroize, ZeroizeOnDrop};

/// The first bytes of a package; the last of them is its format.
pub const MAGIC: [u8; 8] = *b"AMELESP\x01";
/// The number of bytes before the options.
const HEADER_BYTES: usize = 20;
/// The maximum number of bytes of the options, most of which are arguments and environment.
pub const MAX_OPTION_BYTES: u32 = 1 << 20;
/// The fewest resident pages with which every instruction completes: one may lie on two, and access two more.
pub const MIN_RESIDENT: u32 = 4;
/// The maximum number of resident pages: a quarter of private memory.
pub const MAX_RESIDENT: u32 = (crate::map::PRIVATE_BYTES / 4 / 4096) as u32;

/// The maximum number of harts of an enclave.
pub const MAX_HARTS: u32 = 8;

/// The options of a run, and its seed.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct LaunchOptions {
    /// The paging of the program's memory.
    pub paging: Paging,
    /// The allowed calls of the host, in addition to the standard streams.
    pub allowed: AllowedCalls,
    /// The instrumentation of the run.
    pub instrumentation: Instrumentation,
    /// The secret from which keys and all random numbers are derived.
    pub seed: Seed,
    /// The program's arguments, its name first; without the terminating zeros.
    pub arguments: Vec<Vec<u8>>,
    /// The environment of the program, `NAME=value` each.
    pub environment: Vec<Vec<u8>>,
}

/// The paging of the program's memory.
#[derive(Clone, Debug, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Paging {
    /// The pager's name of the scheme.
    pub scheme: String,
    /// K, the number of main pages that each write of DetWoORAM and its variants refreshes.
    pub ratio: u64,
    /// The number of resident pages: at least [`MIN_RESIDENT`].
    pub resident: u32,
    /// The sealing layer's name of the cipher.
    pub cipher: String,
    /// The number of bytes of untrusted memory for sealed pages, without the mailbox.
    pub untrusted_bytes: u64,
    /// The number of pages of the program's memory; `None` for the number that the untrusted memory holds.
    pub pages: Option<u64>,
    /// The place of the sealed pages.
    pub storage: SealedStorage,
    /// The mode of the page table.
    pub mode: PagingMode,
    /// True if each slot of untrusted memory is written before the program begins, as after a long run. It is for
    /// measurements.
    pub filled: bool,
    /// The number of harts that seal and open pages: at least 1; more than 1 requires a parallel scheme.
    pub harts: u32,
}

/// The place where the sealed pages are stored: one of the paper's two variants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum SealedStorage {
    /// The pages are in untrusted memory itself.
    #[default]
    Backing,
    /// The pages are at the host, with a copy in untrusted memory in between (Figure 1).
    Intermediary,
}

/// The mode of the program's page table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub enum PagingMode {
    /// Three, for 39 bits of address.
    #[default]
    Sv39,
    /// Four, for 48 bits.
    Sv48,
}

/// Calls of the host in addition to the standard streams. None by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct AllowedCalls {
    /// The time of day: the host learns when the program asks, and chooses the answer.
    pub clock: bool,
}

/// The instrumentation of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct Instrumentation {
    /// True if the runtime notifies the host of every fault and waits for its answer.
    pub after_fault: bool,
    /// True if instructions are counted for each part, which makes every fault a few instructions longer.
    pub meters: bool,
    /// True if the shares of a batch run one after the other, so that each hart's instructions are counted separately.
    pub sequential_shares: bool,
    /// The window of faults in which everything is counted; `None` counts the whole run.
    pub window: Option<FaultWindow>,
}

/// A window of faults. The program is ended after its last.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, BorshSerialize, BorshDeserialize)]
pub struct FaultWindow {
    /// The number of faults of the program before it.
    pub warm_up_faults: u64,
    /// The number of counted faults: at least 1.
    pub faults: u64,
}

/// A 32-byte seed. It is wiped when it is dropped, and never printed.
#[derive(Clone, PartialEq, Eq, BorshSerialize, BorshDeserialize, Zeroize, ZeroizeOnDrop)]
pub struct Seed(pub [u8; 32]);

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Seed(…)")
    }
}

impl fmt::Debug for LaunchOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LaunchOptions")
            .field("paging", &self.paging)
            .field("allowed", &self.allowed)
            .finish_non_exhaustive()
    }
}

/// The reason why bytes are not a launch package.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LaunchError {
    /// The package begins with other bytes, or has another format.
    #[error("the launch package is missing, or has another format")]
    Magic,
    /// The package is truncated.
    #[error("the launch package should have {needed} bytes, but there are {found}")]
    Short {
        /// The number of bytes that it should have.
        needed: u64,
        /// The number of bytes that it has.
        found: u64,
    },
    /// The options cannot be decoded.
    #[error("the options of the launch package cannot be read")]
    Options,
    /// Options that are too long.
    #[error(
        "arguments, environment and other options have {found} bytes: at most {MAX_OPTION_BYTES} are allowed"
    )]
    TooLong {
        /// The number of bytes that they have.
        found: u64,
    },
    /// An argument with a zero byte, or no argument at all.
    #[error("a program needs a name, and arguments and environment must not contain a zero byte")]
    Arguments,
}

impl LaunchOptions {
    /// Checks the options.
    fn checked(self) -> Result<Self, LaunchError> {
        let mut texts = self.arguments.iter().chain(&self.environment);
        if self.arguments.is_empty() || texts.any(|text| text.contains(&0)) {
            return Err(LaunchError::Arguments);
        }
        Ok(self)
    }
}

/// Encodes a package with the given image.
///
/// # Errors
/// [`LaunchError::TooLong`], [`LaunchError::Arguments`].
pub fn encode(launch: &LaunchOptions, image: &[u8]) -> Result<Vec<u8>, LaunchError> {
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

/// Parses the options, and the program's image.
///
/// # Errors
/// [`LaunchError`].
pub fn parse(bytes: &[u8]) -> Result<(LaunchOptions, &[u8]), LaunchError> {
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
    let launch: LaunchOptions = borsh::from_slice(options).map_err(|_| LaunchError::Options)?;
    Ok((launch.checked()?, &rest[..image as usize]))
}
