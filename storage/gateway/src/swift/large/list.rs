//! The list of a static large object, in the client's form and in the stored form.

use base16ct::lower::encode_string as hex;
use md5::{Digest as _, Md5};
use serde::de::{self, IgnoredAny, SeqAccess};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Value, json};
use std::fmt;
use std::ops::Range;

/// The largest number of segments of a list.
pub(in crate::swift) const MAX_SEGMENTS: usize = 1000;
/// The largest number of bytes of a list.
pub(in crate::swift) const MAX_LIST_BYTES: usize = 8 << 20;

/// A segment in the client's list.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ListedSegment {
    pub(super) path: String,
    #[serde(default)]
    pub(super) etag: Option<String>,
    #[serde(default)]
    pub(super) size_bytes: Option<u64>,
    #[serde(default)]
    pub(super) range: Option<String>,
}

/// The segments of a list, at most one more than the limit: a longer list is read to its end, but not kept.
pub(super) struct FirstSegments(pub(super) Vec<ListedSegment>);

impl<'de> Deserialize<'de> for FirstSegments {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Segments;

        impl<'de> de::Visitor<'de> for Segments {
            type Value = FirstSegments;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of segments")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut entries: A) -> Result<FirstSegments, A::Error> {
                let mut listed = Vec::new();
                while listed.len() <= MAX_SEGMENTS
                    && let Some(segment) = entries.next_element()?
                {
                    listed.push(segment);
                }
                while entries.next_element::<IgnoredAny>()?.is_some() {}
                Ok(FirstSegments(listed))
            }
        }

        deserializer.deserialize_seq(Segments)
    }
}

/// A stored segment, in the form in which `multipart-manifest=get` shows it.
#[derive(Serialize, Deserialize)]
pub(super) struct StoredSegment {
    /// `/container/object`
    pub(super) name: String,
    pub(super) hash: String,
    /// All bytes of the segment, even if only a range of them is used.
    pub(super) bytes: u64,
    pub(super) content_type: String,
    pub(super) last_modified: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) range: Option<String>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(super) sub_slo: bool,
}

/// Returns a stored segment in the form of `format=raw`.
pub(super) fn raw(segment: &StoredSegment) -> Value {
    let mut entry = json!({"path": segment.name, "etag": segment.hash, "size_bytes": segment.bytes});
    if let (Some(range), Some(fields)) = (&segment.range, entry.as_object_mut()) {
        fields.insert("range".into(), range.as_str().into());
    }
    entry
}

/// Returns the size and the ETag of a static large object, the ETag as in Swift.
pub(super) fn sum(segments: &[StoredSegment]) -> (u64, String) {
    let (mut bytes, mut tags) = (0u64, Md5::new());
    for segment in segments {
        match segment.range.as_deref().and_then(|range| Some((range, range_of(range, segment.bytes)?))) {
            Some((_, range)) => {
                tags.update(format!("{}:{}-{};", segment.hash, range.start, range.end - 1));
                bytes = bytes.saturating_add(range.end - range.start);
            }
            None => {
                tags.update(&segment.hash);
                bytes = bytes.saturating_add(segment.bytes);
            }
        }
    }
    (bytes, hex(&tags.finalize()))
}

/// Parses a range of a segment: `5-9`, `5-` or `-5`.
pub(super) fn range_of(range: &str, bytes: u64) -> Option<Range<u64>> {
    let (first, last) = range.split_once('-')?;
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let range = match (first.trim(), last.trim()) {
        ("", count) => bytes.saturating_sub(number(count)?)..bytes,
        (first, "") => number(first)?..bytes,
        (first, last) => number(first)?..number(last)?.saturating_add(1).min(bytes),
    };
    (range.start < range.end).then_some(range)
}
