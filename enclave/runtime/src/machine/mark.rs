//! The mark by which the host knows this runtime.

use lethe_boundary::mark::MARK;

// The linker's script names the section too, and keeps what nothing refers to.
#[used]
#[unsafe(link_section = ".note.lethe-enclave")]
static KNOWN_BY: [u8; MARK.len()] = MARK;
