//! The mark by which the host knows this runtime.

use ameles_enclave_boundary::mark::MARK;

// The linker's script names the section too, and keeps what nothing refers to.
#[used]
#[unsafe(link_section = ".note.ameles-enclave")]
static RUNTIME_MARK: [u8; MARK.len()] = MARK;
