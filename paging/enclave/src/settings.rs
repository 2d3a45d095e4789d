//! The options of a launch package, checked.

use crate::layout;
use alloc::string::{String, ToString};
use ameles_enclave_boundary::launch::{MAX_HARTS, MAX_RESIDENT, MIN_RESIDENT, Paging};
use ameles_enclave_boundary::map;
use ameles_pager::fault::policy::Policy;
use ameles_pager::fault_path_builder::FaultPathBuilder;
use ameles_pager::scheme::{Scheme, UnknownScheme};
use ameles_pager::scheme_error::SchemeError;
use ameles_seal::pages::PageCipher;
use core::ops::Range;
use core::str::FromStr;

/// The maximum amount of untrusted memory, in bytes.
const MAX_UNTRUSTED: u64 = 1 << 36;

/// The checked options.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The scheme, sealing and the fault path.
    pub fault_path: FaultPathBuilder,
    /// The number of bytes of untrusted memory for sealed pages.
    pub untrusted_bytes: usize,
    /// The addresses reserved for the runtime.
    pub kernel: Range<u64>,
    /// The number of harts that seal and open pages.
    pub harts: usize,
}

/// Invalid options.
#[derive(Debug, thiserror::Error)]
pub enum SettingsError {
    /// The scheme's name.
    #[error(transparent)]
    Scheme(#[from] UnknownScheme),
    /// The cipher's name.
    #[error("{0}")]
    Cipher(String),
    /// Harts.
    #[error("{harts} harts: {scheme} uses one hart; only parallel and eager-parallel use 1 to {MAX_HARTS}")]
    Harts {
        /// The number of harts.
        harts: u32,
        /// The scheme.
        scheme: Scheme,
    },
    /// The resident pages.
    #[error("{0} resident pages: choose from {MIN_RESIDENT} to {MAX_RESIDENT}")]
    Resident(u32),
    /// Untrusted memory.
    #[error("{0} bytes of untrusted memory are not enough for a page, or more than 64 GiB")]
    Untrusted(u64),
    /// Parameters that the scheme refuses.
    #[error(transparent)]
    Refused(#[from] SchemeError),
}

impl Settings {
    /// Checks the options.
    ///
    /// # Errors
    /// [`SettingsError`].
    pub fn of(paging: &Paging) -> Result<Self, SettingsError> {
        let scheme: Scheme = paging.scheme.parse()?;
        let cipher =
            PageCipher::from_str(&paging.cipher).map_err(|error| SettingsError::Cipher(error.to_string()))?;
        let (harts, max_harts) = (paging.harts, if scheme.is_parallel() { MAX_HARTS } else { 1 });
        if !(1..=max_harts).contains(&harts) {
            return Err(SettingsError::Harts { harts, scheme });
        }
        if !(MIN_RESIDENT..=MAX_RESIDENT).contains(&paging.resident) {
            return Err(SettingsError::Resident(paging.resident));
        }
        let limit = paging.untrusted_bytes;
        let max = if limit > MAX_UNTRUSTED { 0 } else { scheme.max_pages(limit, paging.ratio, cipher) };
        let pages = paging.pages.unwrap_or(max);
        if max == 0 {
            return Err(SettingsError::Untrusted(limit));
        }
        let resident = (u64::from(paging.resident).min(pages)) as usize;
        let fault_path = FaultPathBuilder {
            scheme,
            pages,
            ratio: paging.ratio,
            cipher,
            resident,
            policy: Policy::Fifo,
            step_pages: None,
            filled: paging.filled,
        };
        let untrusted_bytes = fault_path.untrusted_bytes(limit)?;
        let kernel = layout::kernel(map::untrusted_bytes(limit).ok_or(SettingsError::Untrusted(limit))?);
        Ok(Settings { fault_path, untrusted_bytes, kernel, harts: harts as usize })
    }
}
