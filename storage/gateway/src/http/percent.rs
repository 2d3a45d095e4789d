//! The percent-encoding of paths and queries.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// All bytes except for letters, digits and `-_.~`.
pub(crate) const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// The reserved characters without the slash, which paths keep.
pub(crate) const RESERVED_IN_PATH: &AsciiSet = &RESERVED.remove(b'/');

/// Encodes a path, except for its slashes.
pub(crate) fn encode_path(path: &str) -> String {
    utf8_percent_encode(path, RESERVED_IN_PATH).to_string()
}
