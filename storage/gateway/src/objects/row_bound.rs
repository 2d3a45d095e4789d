//! The bound on an object's details: all of them become a row, and rows are in trusted memory.

use crate::catalogue::Details;
use crate::error::Error;

/// The largest number of bytes of an object's headers, as in S3.
const MAX_HEADERS: usize = 8 << 10;

/// Checks the details of a new object.
///
/// # Errors
/// [`Error::MetadataTooLarge`].
pub(crate) fn check(details: &Details) -> Result<(), Error> {
    let bytes = details.header_bytes();
    if bytes > MAX_HEADERS {
        return Err(Error::MetadataTooLarge { bytes, max: MAX_HEADERS });
    }
    Ok(())
}
