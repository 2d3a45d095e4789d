//! The machine's physical memory, and the layout of its untrusted part.
//!
//! ```text
//! 0x8000_0000  private, 1 GiB   firmware, then the runtime, then the launch package, then what the runtime allocates
//! 0xC000_0000  untrusted        the mailbox, the exit record, calls' data; from `PAGES_OFFSET` on, sealed pages;
//!                               the last `HOST_BYTES` are a program's on the host's own hart
//! ```
//! Offsets count from the beginning of untrusted memory, which is also the beginning of the file that the host maps.

/// The start of the memory that only the runtime and the firmware can access.
pub const PRIVATE_START: u64 = 0x8000_0000;
/// The size of the private memory in bytes.
pub const PRIVATE_BYTES: u64 = 1 << 30;
/// The address at which the firmware enters the runtime.
pub const RUNTIME_START: u64 = PRIVATE_START + 0x20_0000;
/// The start of the memory that the host sees and changes at any time.
pub const UNTRUSTED_START: u64 = PRIVATE_START + PRIVATE_BYTES;

/// The offset of the sequence number of the runtime's last request: 8 bytes, little-endian, 0 before the first.
pub const REQUEST_NUMBER_OFFSET: u64 = 0x000;
/// The offset of the [request](crate::mailbox::Request) itself.
pub const REQUEST_OFFSET: u64 = 0x040;
/// The offset of the number of the request that the host has answered last: 8 bytes, little-endian.
pub const ANSWER_NUMBER_OFFSET: u64 = 0x080;
/// The offset of the [answer](crate::mailbox::Answer) itself.
pub const ANSWER_OFFSET: u64 = 0x0C0;
/// The offset of the length of the [exit record](crate::exit::ExitRecord) in bytes: 8 bytes, little-endian, 0 as long
/// as there is none.
pub const EXIT_LENGTH_OFFSET: u64 = 0x100;
/// The offset of the exit record.
pub const EXIT_OFFSET: u64 = 0x1_0000;
/// The maximum number of bytes of an exit record.
pub const MAX_EXIT_BYTES: u64 = 0x1_0000;
/// The offset of the data of a request or an answer: written or read text, a page.
pub const DATA_OFFSET: u64 = 0x2_0000;
/// The maximum number of bytes of data of one request.
pub const MAX_DATA_BYTES: u32 = 0x1_0000;
/// The offset of the sealed pages, after everything else.
pub const PAGES_OFFSET: u64 = 0x4_0000;

/// The number of bytes at the end of untrusted memory for a program that runs on the host's own hart.
pub const HOST_BYTES: u64 = 0x1_0000;

/// Returns the number of bytes of untrusted memory for this many bytes of sealed pages; `None` if they are too many.
pub const fn untrusted_bytes(pages: u64) -> Option<u64> {
    match pages.checked_add(PAGES_OFFSET + HOST_BYTES) {
        Some(bytes) => bytes.checked_next_multiple_of(GRAIN),
        None => None,
    }
}

/// The size of untrusted memory is a multiple of this: the emulator requires it.
const GRAIN: u64 = 2 << 20;

// The parts do not overlap, and each page of the layout holds only one of them.
const _: () = assert!(EXIT_LENGTH_OFFSET + 8 <= EXIT_OFFSET && EXIT_OFFSET + MAX_EXIT_BYTES <= DATA_OFFSET);
const _: () = assert!(DATA_OFFSET + MAX_DATA_BYTES as u64 <= PAGES_OFFSET);
