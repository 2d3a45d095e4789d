//! The entry of a large object in the catalogue, its list unread.

use crate::catalogue::{Manifest, Object};

/// Tells whether it is a static large object.
pub(super) fn is_static(object: &Object) -> bool {
    matches!(object.details.manifest, Some(Manifest::Static { .. }))
}

/// Tells whether it stands for others.
pub(super) fn is_large(object: &Object) -> bool {
    object.details.manifest.is_some()
}

/// Size and ETag of a static large object, which the catalogue knows.
pub(super) fn known_size(object: &Object) -> Option<(u64, String)> {
    match &object.details.manifest {
        Some(Manifest::Static { bytes, etag }) => Some((*bytes, format!("\"{etag}\""))),
        _ => None,
    }
}

/// Bytes and ETag as a list of segments has them.
pub(super) fn size_and_etag(segment: &Object) -> (u64, String) {
    match &segment.details.manifest {
        Some(Manifest::Static { bytes, etag }) => (*bytes, etag.clone()),
        _ => (segment.bytes(), segment.etag.clone()),
    }
}
