//! Sealed pages that stay at the host: untrusted memory only transports them (the paper's Figure 1).

use super::mailbox::HostMailbox;
use super::untrusted::SealedPart;
use crate::host::Mailbox;
use ameles_enclave_boundary::mailbox::{Answer, Request};
use ameles_seal::pages::SharedMemory;

/// The memory of sealed pages.
pub(super) enum SealedMemory {
    /// Untrusted memory itself.
    Here(SealedPart),
    /// Memory of the host.
    AtHost(HostPart),
}

impl SharedMemory for SealedMemory {
    fn bytes(&self) -> usize {
        match self {
            SealedMemory::Here(part) => part.bytes(),
            SealedMemory::AtHost(part) => part.bytes,
        }
    }

    fn load(&self, at: usize, into: &mut [u8]) {
        match self {
            SealedMemory::Here(part) => part.load(at, into),
            SealedMemory::AtHost(part) => part.load(at, into),
        }
    }

    fn store(&self, at: usize, from: &[u8]) {
        match self {
            SealedMemory::Here(part) => part.store(at, from),
            SealedMemory::AtHost(part) => part.store(at, from),
        }
    }
}

/// Memory that the host claims to have. The host is called for each copy.
pub(super) struct HostPart {
    pub(super) bytes: usize,
}

impl HostPart {
    /// Loads sealed bytes from the host. If the host does not return them, they become zeros, which fail to open.
    fn load(&self, at: usize, into: &mut [u8]) {
        assert!(at <= self.bytes && into.len() <= self.bytes - at, "a copy beyond the sealed pages");
        let request = Request::Load { at: at as u64, bytes: into.len() as u32 };
        if !matches!(HostMailbox.call(request, &[], into), Ok(Answer::Done { .. })) {
            into.fill(0);
        }
    }

    /// Stores sealed bytes with the host. If the host does not keep them, they fail to open later.
    fn store(&self, at: usize, from: &[u8]) {
        assert!(at <= self.bytes && from.len() <= self.bytes - at, "a copy beyond the sealed pages");
        let request = Request::Store { at: at as u64, bytes: from.len() as u32 };
        let _ = HostMailbox.call(request, from, &mut []);
    }
}
