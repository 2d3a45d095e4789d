//! The bound on what a client says of an object: all of it becomes a row, and rows are kept in trusted memory.

use crate::catalogue::Details;
use crate::error::Error;

/// The most bytes of the headers of an object: as many as S3 takes with a put.
const MAX_HEADERS: usize = 8 << 10;

/// Checks the details of an object that is to be.
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
