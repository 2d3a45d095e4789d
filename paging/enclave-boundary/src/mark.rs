//! The mark by which the host recognises a runtime, before it starts a machine for it.

/// The section of the runtime's file that contains it.
pub const MARK_SECTION: &str = ".note.ameles-enclave";

/// The bytes of the mark. They change with the protocol, so that host and runtime refuse another version of it.
pub const MARK: [u8; 25] = *b"ameles enclave boundary 1";
