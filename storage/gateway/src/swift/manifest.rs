//! The facts about a large object in the catalogue, without its list.

use crate::catalogue::{Manifest, Object};

/// Returns whether an object is a static large object.
pub(super) fn is_static(object: &Object) -> bool {
    matches!(object.details.manifest, Some(Manifest::Static { .. }))
}

/// Returns whether an object is a large object.
pub(super) fn is_large(object: &Object) -> bool {
    object.details.manifest.is_some()
}

/// Returns size and ETag of a static large object, which the catalogue knows.
pub(super) fn known_size(object: &Object) -> Option<(u64, String)> {
    match &object.details.manifest {
        Some(Manifest::Static { bytes, etag }) => Some((*bytes, format!("\"{etag}\""))),
        _ => None,
    }
}

/// Returns bytes and ETag as in a list of segments.
pub(super) fn size_and_etag(segment: &Object) -> (u64, String) {
    match &segment.details.manifest {
        Some(Manifest::Static { bytes, etag }) => (*bytes, etag.clone()),
        _ => (segment.bytes(), segment.etag.clone()),
    }
}
