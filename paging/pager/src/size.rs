//! The size of each scheme in untrusted memory.

use crate::page::PAGE_BYTES;
use crate::scheme::Scheme;
use crate::scheme_error::SchemeError;
use ameles_core::schemes::detworam::DetWoParameters;
use ameles_core::schemes::opam::OpamParameters;
use ameles_core::schemes::path::PathParameters;
use ameles_core::schemes::plain::PlainParameters;
use ameles_core::tree::layout::Layout;
use ameles_seal::pages::{PageCipher, memory_bytes};

/// The stash for unfinished writes that `Path` counts on the trusted side: no more than necessary.
const PATH_TRUSTED_BLOCKS: u64 = 0;

impl Scheme {
    /// Untrusted memory of a region with this many pages, in bytes.
    ///
    /// # Errors
    /// Parameters that the scheme refuses.
    pub fn untrusted_bytes(self, pages: u64, ratio: u64, cipher: PageCipher) -> Result<u64, SchemeError> {
        Ok(memory_bytes(&self.layout(pages, ratio)?, cipher)? as u64)
    }

    /// The maximum number of pages for which this much untrusted memory is enough. 0 if it is not enough for one.
    pub fn max_pages(self, untrusted_bytes: u64, ratio: u64, cipher: PageCipher) -> u64 {
        let fits =
            |pages| self.untrusted_bytes(pages, ratio, cipher).is_ok_and(|needed| needed <= untrusted_bytes);
        // Every page takes at least a page.
        let (mut fit, mut too_many) = (0, untrusted_bytes / PAGE_BYTES as u64 + 1);
        while too_many - fit > 1 {
            let middle = fit + (too_many - fit) / 2;
            if fits(middle) { fit = middle } else { too_many = middle }
        }
        fit
    }

    /// Slots of untrusted memory of a region with this many pages.
    ///
    /// # Errors
    /// The errors of [`untrusted_bytes`](Self::untrusted_bytes).
    pub fn layout(self, pages: u64, ratio: u64) -> Result<Layout, SchemeError> {
        let block_bytes = PAGE_BYTES as u32;
        Ok(match self {
            Scheme::Plain => {
                let parameters = plain_parameters(pages);
                parameters.validate()?;
                parameters.layout()
            }
            Scheme::DetWoOram | Scheme::Eager | Scheme::Parallel | Scheme::EagerParallel => {
                let parameters = DetWoParameters::for_ratio(pages, ratio, block_bytes);
                parameters.validate()?;
                parameters.layout()
            }
            Scheme::Path => path_parameters(pages)?.layout(),
            Scheme::Opam => OpamParameters::for_capacity(pages, block_bytes)?.layout(),
        })
    }
}

/// The untrusted memory for this many pages, in bytes, if it is within the limit.
pub(crate) fn untrusted_bytes(
    scheme: Scheme,
    pages: u64,
    ratio: u64,
    cipher: PageCipher,
    limit: u64,
) -> Result<usize, SchemeError> {
    let needed = scheme.untrusted_bytes(pages, ratio, cipher)?;
    if needed > limit {
        let max = scheme.max_pages(limit, ratio, cipher);
        return Err(SchemeError::UntrustedMemory { pages, scheme, needed, limit, max });
    }
    Ok(needed as usize)
}

/// The parameters of plain paging.
pub(crate) fn plain_parameters(pages: u64) -> PlainParameters {
    PlainParameters { capacity: pages, block_bytes: PAGE_BYTES as u32, max_batch: 1 }
}

/// The parameters of Path ORAM.
pub(crate) fn path_parameters(pages: u64) -> Result<PathParameters, SchemeError> {
    Ok(PathParameters::for_capacity(pages, PAGE_BYTES as u32, PATH_TRUSTED_BLOCKS, 1)?)
}
