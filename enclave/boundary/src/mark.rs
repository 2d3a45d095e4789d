//! The mark by which the host knows a runtime, before it starts a machine for it.

/// The section of the runtime's file that holds it.
pub const MARK_SECTION: &str = ".note.lethe-enclave";

/// Its bytes. They change with what the host and the runtime agree on, so that neither takes an older other.
pub const MARK: [u8; 24] = *b"lethe enclave boundary 1";
