//! The mark by which the host recognises this runtime.

use ameles_enclave_boundary::mark::MARK;

// The linker's script names the section too, and keeps unreferenced ones.
#[used]
#[unsafe(link_section = ".note.ameles-enclave")]
static RUNTIME_MARK: [u8; MARK.len()] = MARK;
