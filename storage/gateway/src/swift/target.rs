//! The target of a request, from its path: an account, a container or an object.

use super::refusal::{Outcome, Refusal};
use percent_encoding::percent_decode_str;

/// The prefix of the account's name in a path.
pub(super) const PREFIX: &str = "AUTH_";
/// The largest number of bytes of a container's name.
pub(super) const MAX_CONTAINER_BYTES: usize = 256;
/// The largest number of bytes of an object's name.
pub(super) const MAX_OBJECT_BYTES: usize = 1024;

/// An account, perhaps with a container and an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The name without its prefix, which may be invalid.
    pub(super) account: String,
    pub(super) container: Option<String>,
    pub(super) object: Option<String>,
}

/// Decodes the path of a URL.
///
/// # Errors
/// It is not UTF-8, or has a zero byte.
pub(super) fn decode(path: &str) -> Outcome<String> {
    let text = percent_decode_str(path).decode_utf8().ok().filter(|text| !text.contains('\0'));
    text.map(Into::into).ok_or_else(|| Refusal::precondition_failed("Invalid UTF8 or contains NULL"))
}

impl Target {
    /// Parses a decoded path, `/v1/AUTH_account/container/object`. `None` for other paths.
    pub(super) fn read(path: &str) -> Option<Target> {
        let rest = path.strip_prefix("/v1/")?;
        let (account, rest) = split(rest);
        let account = account.strip_prefix(PREFIX)?.to_owned();
        let (container, object) = split(rest.unwrap_or_default());
        if container.is_empty() {
            // `/v1/AUTH_account//object` is invalid.
            return object.is_none_or(str::is_empty).then_some(Target {
                account,
                container: None,
                object: None,
            });
        }
        let object = object.filter(|object| !object.is_empty()).map(str::to_owned);
        Some(Target { account, container: Some(container.to_owned()), object })
    }

    /// Parses `container/object` as in the headers of copies and the bodies of bulk requests: encoded, perhaps with a
    /// leading slash.
    pub(super) fn read_within(account: &str, path: &str) -> Outcome<Target> {
        let path = decode(path)?;
        let (container, object) = split(path.trim_start_matches('/'));
        if container.is_empty() {
            return Err(Refusal::precondition_failed("The name must be of the form container/object."));
        }
        let object = object.filter(|object| !object.is_empty()).map(str::to_owned);
        Ok(Target { account: account.to_owned(), container: Some(container.to_owned()), object })
    }

    /// Checks the lengths of names for new resources.
    ///
    /// # Errors
    /// A name is too long.
    pub(super) fn check_lengths(&self) -> Outcome<()> {
        for (what, name, max) in
            [("Container", &self.container, MAX_CONTAINER_BYTES), ("Object", &self.object, MAX_OBJECT_BYTES)]
        {
            let length = name.as_ref().map_or(0, String::len);
            if length > max {
                return Err(Refusal::bad_request(format!(
                    "{what} name length of {length} longer than {max}"
                )));
            }
        }
        Ok(())
    }
}

fn split(path: &str) -> (&str, Option<&str>) {
    match path.split_once('/') {
        Some((first, rest)) => (first, Some(rest)),
        None => (path, None),
    }
}

/// Returns the path of an object as in URLs, but not encoded.
pub(super) fn path_of(account: &str, container: &str, object: &str) -> String {
    format!("/v1/{PREFIX}{account}/{container}/{object}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(path: &str) -> Option<(String, Option<String>, Option<String>)> {
        Target::read(&decode(path).unwrap()).map(|target| (target.account, target.container, target.object))
    }

    fn some(text: &str) -> Option<String> {
        Some(text.to_owned())
    }

    #[test]
    fn a_path_names_an_account_a_container_or_an_object() {
        for path in ["/v1/AUTH_a", "/v1/AUTH_a/", "/v1/AUTH_a//"] {
            assert_eq!(read(path), Some(("a".into(), None, None)), "{path}");
        }
        for path in ["/v1/AUTH_a/c", "/v1/AUTH_a/c/"] {
            assert_eq!(read(path), Some(("a".into(), some("c"), None)), "{path}");
        }
        assert_eq!(read("/v1/AUTH_a/c/o"), Some(("a".into(), some("c"), some("o"))));
        assert_eq!(read("/v1/AUTH_a/c%20d/o%2Fp/q/%3F"), Some(("a".into(), some("c d"), some("o/p/q/?"))));
        assert_eq!(read("/v1/AUTH_a/c//o"), Some(("a".into(), some("c"), some("/o"))));
        for path in ["/v1/a", "/v1", "/v2/AUTH_a", "/", "/v1/AUTH_a//o"] {
            assert_eq!(read(path), None, "{path}");
        }
    }

    #[test]
    fn what_is_no_text_is_refused() {
        assert!(decode("/v1/AUTH_a/%ff").is_err());
        assert!(decode("/v1/AUTH_a/%00").is_err());
    }

    #[test]
    fn a_name_is_as_long_as_swift_allows() {
        let of = |container: usize, object: usize| Target {
            account: "a".into(),
            container: Some("c".repeat(container)),
            object: Some("o".repeat(object)),
        };
        assert!(of(256, 1024).check_lengths().is_ok());
        let refused = of(257, 1).check_lengths().unwrap_err();
        assert_eq!(refused.text(), "Container name length of 257 longer than 256");
        assert!(of(1, 1025).check_lengths().is_err());
    }
}
