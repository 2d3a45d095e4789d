//! Metadata in headers: changes and limits.

use crate::error::Error;
use http::{HeaderMap, HeaderName, HeaderValue};
use std::collections::BTreeMap;

/// The largest number of bytes of a name.
pub(super) const MAX_NAME_BYTES: usize = 128;
/// The largest number of bytes of a value.
pub(super) const MAX_VALUE_BYTES: usize = 256;
/// The largest number of names.
pub(super) const MAX_ITEMS: usize = 90;
/// The largest number of bytes of all names and values together.
pub(super) const MAX_BYTES: usize = 4096;

/// The changes of metadata of a request: a name and its value, or `None` to remove it.
pub(super) type MetadataChanges = BTreeMap<String, Option<String>>;

/// The kind of resource that has metadata.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ResourceKind {
    Account,
    Container,
    Object,
}

impl ResourceKind {
    fn prefixes(self) -> (&'static str, &'static str) {
        match self {
            ResourceKind::Account => ("x-account-meta-", "x-remove-account-meta-"),
            ResourceKind::Container => ("x-container-meta-", "x-remove-container-meta-"),
            ResourceKind::Object => ("x-object-meta-", "x-remove-object-meta-"),
        }
    }
}

/// Returns the value of a header as text.
pub(super) fn text(value: &HeaderValue) -> Result<String, Error> {
    let text = std::str::from_utf8(value.as_bytes());
    text.map(str::to_owned).map_err(|_| Error::Metadata("A header's value is not UTF-8.".into()))
}

/// Returns the value of the header of this name as text.
pub(super) fn header(headers: &HeaderMap, name: &str) -> Result<Option<String>, Error> {
    headers.get(name).map(text).transpose()
}

/// Returns the changes of metadata of this kind in the headers of a request.
///
/// An empty value removes the name; for objects it is stored. `_` in a name becomes `-`, as proxies do.
///
/// # Errors
/// A name or a value is too long, or there are too many.
pub(super) fn changes(headers: &HeaderMap, kind: ResourceKind) -> Result<MetadataChanges, Error> {
    let (set, remove) = kind.prefixes();
    let mut changes = MetadataChanges::new();
    for (header, value) in headers {
        let header = header.as_str().replace('_', "-");
        if let Some(name) = header.strip_prefix(remove) {
            changes.entry(name.to_owned()).or_insert(None);
        } else if let Some(name) = header.strip_prefix(set) {
            let value = text(value)?;
            let is_removal = value.is_empty() && kind != ResourceKind::Object;
            changes.insert(name.to_owned(), (!is_removal).then_some(value));
        }
    }
    check(changes.iter().filter_map(|(name, value)| Some((name, value.as_ref()?))))?;
    Ok(changes)
}

/// Applies the changes.
///
/// # Errors
/// There would be too much metadata.
pub(super) fn apply(metadata: &mut BTreeMap<String, String>, changes: MetadataChanges) -> Result<(), Error> {
    for (name, value) in changes {
        match value {
            Some(value) => metadata.insert(name, value),
            None => metadata.remove(&name),
        };
    }
    check(metadata.iter())
}

/// # Errors
/// A name or a value is too long, or there are too many.
pub(super) fn check<'a>(metadata: impl Iterator<Item = (&'a String, &'a String)>) -> Result<(), Error> {
    let (mut items, mut bytes) = (0, 0);
    for (name, value) in metadata {
        if name.is_empty() {
            return Err(Error::Metadata("Metadata name cannot be empty".into()));
        }
        if name.len() > MAX_NAME_BYTES {
            return Err(Error::Metadata(format!(
                "Metadata name too long: it has {} bytes, at most {MAX_NAME_BYTES} are taken",
                name.len()
            )));
        }
        if value.len() > MAX_VALUE_BYTES {
            return Err(Error::Metadata(format!("Metadata value longer than {MAX_VALUE_BYTES}")));
        }
        items += 1;
        bytes += name.len() + value.len();
    }
    if items > MAX_ITEMS {
        return Err(Error::Metadata(format!("Too many metadata items; max {MAX_ITEMS}")));
    }
    if bytes > MAX_BYTES {
        return Err(Error::Metadata(format!("Total metadata too large; max {MAX_BYTES}")));
    }
    Ok(())
}

/// Writes metadata to the headers of an answer, except for names for which `hidden` is true.
pub(super) fn show(
    answer: &mut HeaderMap,
    kind: ResourceKind,
    metadata: &BTreeMap<String, String>,
    hidden: impl Fn(&str) -> bool,
) {
    let (prefix, _) = kind.prefixes();
    for (name, value) in metadata.iter().filter(|(name, _)| !hidden(name)) {
        put(answer, &format!("{prefix}{name}"), value);
    }
}

/// Adds a header to an answer. A value that cannot be in a header is omitted: it came by another protocol.
pub(super) fn put(answer: &mut HeaderMap, name: &str, value: &str) {
    if let (Ok(name), Ok(value)) = (HeaderName::try_from(name), HeaderValue::from_bytes(value.as_bytes())) {
        answer.insert(name, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(list: &[(&str, &str)]) -> HeaderMap {
        let pair = |&(name, value): &(&str, &str)| {
            (name.parse::<HeaderName>().unwrap(), HeaderValue::from_bytes(value.as_bytes()).unwrap())
        };
        list.iter().map(pair).collect()
    }

    #[test]
    fn an_empty_value_removes_from_containers_and_is_kept_on_objects() {
        let given = headers(&[
            ("x-container-meta-a_b", "1"),
            ("x-container-meta-c", ""),
            ("x-remove-container-meta-d", "x"),
            ("x-object-meta-e", ""),
            ("x-object-meta-f", "\u{e9}"),
        ]);
        let mut metadata: BTreeMap<String, String> =
            ["c", "d", "e"].map(|name| (name.to_owned(), "old".to_owned())).into();
        apply(&mut metadata, changes(&given, ResourceKind::Container).unwrap()).unwrap();
        assert_eq!(metadata, [("a-b", "1"), ("e", "old")].map(|(n, v)| (n.to_owned(), v.to_owned())).into());
        let object = changes(&given, ResourceKind::Object).unwrap();
        assert_eq!(object["e"], Some(String::new()));
        assert_eq!(object["f"], Some("\u{e9}".to_owned()));
    }

    #[test]
    fn what_is_set_wins_over_what_is_removed_in_one_request() {
        let given = headers(&[("x-remove-account-meta-a", "x"), ("x-account-meta-a", "1")]);
        assert_eq!(changes(&given, ResourceKind::Account).unwrap()["a"], Some("1".into()));
        let given = headers(&[("x-account-meta-a", "1"), ("x-remove-account-meta-a", "x")]);
        assert_eq!(changes(&given, ResourceKind::Account).unwrap()["a"], Some("1".into()));
    }

    #[test]
    fn metadata_is_bounded_in_names_values_number_and_sum() {
        let check = |items: Vec<(String, String)>| {
            let map: BTreeMap<String, String> = items.into_iter().collect();
            super::check(map.iter()).map_err(|error| error.to_string())
        };
        let item = |name: usize, value: usize| vec![("n".repeat(name), "v".repeat(value))];
        assert_eq!(check(item(128, 256)), Ok(()));
        assert!(check(item(129, 1)).unwrap_err().starts_with("Metadata name too long"));
        assert_eq!(check(item(1, 257)), Err("Metadata value longer than 256".into()));
        let many = |count: usize, bytes: usize| {
            (0..count).map(|index| (format!("{index:04}"), "v".repeat(bytes))).collect::<Vec<_>>()
        };
        assert_eq!(check(many(90, 1)), Ok(()));
        assert_eq!(check(many(91, 1)), Err("Too many metadata items; max 90".into()));
        assert_eq!(check(many(16, 252)), Ok(()));
        assert_eq!(check(many(17, 252)), Err("Total metadata too large; max 4096".into()));
    }
}
