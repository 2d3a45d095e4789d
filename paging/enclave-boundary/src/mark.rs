//! The note by which the host recognises a runtime, before it starts a machine for it.

/// The section of the runtime's file that contains it.
pub const MARK_SECTION: &str = ".note.ameles-enclave";

/// Its bytes. They change with the protocol between host and runtime, so that neither accepts an older other.
pub const MARK: [u8; 25] = *b"ameles enclave boundary 1";
