//! Random numbers from the system.

use crate::device::DeviceError;

/// Returns random bytes.
///
/// # Errors
/// [`DeviceError::Unavailable`] if the system gives none.
pub(crate) fn random_bytes<const N: usize>() -> Result<[u8; N], DeviceError> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes).map_err(|error| {
        DeviceError::Unavailable(format!("the system returned no random numbers: {error}"))
    })?;
    Ok(bytes)
}
