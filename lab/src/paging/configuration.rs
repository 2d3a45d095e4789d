//! The configurations that are compared, and their common setting.

use super::pager::Paging;
use ameles_pager::scheme::Scheme;
use ameles_seal::pages::PageCipher;
use std::fmt;

/// The paper's values of K.
pub(crate) const RATIOS: [u64; 3] = [3, 7, 15];

/// The paper's untrusted memory, in bytes.
pub(crate) const UNTRUSTED_BYTES: u64 = 64 << 20;

/// A scheme, with its K.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Configuration {
    pub(super) scheme: Scheme,
    /// The K of schemes that have one.
    pub(super) k: Option<u64>,
}

impl Configuration {
    /// The configuration that all others are compared with.
    pub(super) const PLAIN: Configuration = Configuration { scheme: Scheme::Plain, k: None };

    pub(crate) const fn new(scheme: Scheme, k: Option<u64>) -> Self {
        Configuration { scheme, k }
    }

    /// Every scheme, with all of these values of K if it has one. Plain comes first.
    pub(super) fn all(ratios: &[u64]) -> Vec<Configuration> {
        let of = |scheme: Scheme| {
            let with_ratio = ratios.iter().filter(move |_| scheme.has_ratio()).map(|k| Some(*k));
            with_ratio.chain((!scheme.has_ratio()).then_some(None)).map(move |k| Self::new(scheme, k))
        };
        Scheme::ALL.into_iter().flat_map(of).collect()
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.k {
            Some(k) => write!(f, "{}, K = {k}", self.scheme),
            None => write!(f, "{}", self.scheme),
        }
    }
}

/// The setting that all configurations of a table have in common.
#[derive(Clone, Copy, Debug)]
pub(super) struct Setting {
    pub(super) cipher: PageCipher,
    /// The number of pages that are resident.
    pub(super) resident: u64,
    /// The number of faults before the measured ones. So many that every slot has been written once: DetWoORAM opens no
    /// slot that never was, which would flatter it.
    pub(super) warm_up_faults: u64,
    /// The number of faults that are measured.
    pub(super) faults: u64,
}

impl Setting {
    pub(super) fn paging(&self, Configuration { scheme, k }: Configuration) -> Paging {
        Paging {
            scheme,
            k: k.unwrap_or(RATIOS[0]),
            cipher: self.cipher,
            resident: self.resident,
            untrusted_bytes: UNTRUSTED_BYTES,
        }
    }
}
