//! The mark by which the host knows a runtime, before it starts a machine for it.

/// The section of the runtime's file that holds it.
pub const MARK_SECTION: &str = ".note.ameles-enclave";

/// Its bytes. They change with what the host and the runtime agree on, so that neither takes an older other.
pub const MARK: [u8; 25] = *b"ameles enclave boundary 1";
