//! Errors of a scheme's parameters.

use crate::fault::error::FaultPathError;
use crate::scheme::Scheme;
use ameles_core::oram::OramError;
use ameles_core::range::OutOfRange;
use ameles_core::schemes::detworam::DetWoParametersError;
use ameles_core::schemes::path::PathParametersError;
use ameles_seal::pages::{PageError, RegionError};

/// The reason why a fault path of that scheme cannot be made, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SchemeError {
    /// The limit on untrusted memory.
    #[error(
        "{pages} pages under {scheme} need {needed} bytes of untrusted memory, and the limit is {limit}: raise the \
         limit, or choose at most {max} pages"
    )]
    UntrustedMemory {
        /// The number of requested pages.
        pages: u64,
        /// The scheme.
        scheme: Scheme,
        /// The bytes that the pages need.
        needed: u64,
        /// The number of allowed bytes.
        limit: u64,
        /// The maximum number of pages that fit.
        max: u64,
    },
    /// The resident pages, policy, size.
    #[error(transparent)]
    FaultPath(#[from] FaultPathError),
    /// A parameter of plain paging or OPAM outside of its range.
    #[error(transparent)]
    OutOfRange(#[from] OutOfRange),
    /// Parameters of DetWoORAM and its variants.
    #[error(transparent)]
    DetWoOram(#[from] DetWoParametersError),
    /// Parameters of Path ORAM.
    #[error(transparent)]
    Path(#[from] PathParametersError),
    /// A slot that cannot be written before the first fault.
    #[error("untrusted memory cannot be filled: {0}")]
    Fill(#[source] PageError),
    /// A write of the scheme before the first fault.
    #[error("untrusted memory cannot be filled: {0}")]
    FillByWrites(#[source] OramError<PageError>),
    /// The sealing layer.
    #[error(transparent)]
    Sealing(#[from] RegionError),
}
