//! Conditional requests (RFC 9110, section 13) as in S3.

use crate::catalogue::{Object, UnixMillis};
use crate::error::Error;

/// The headers of conditions.
pub const HEADERS: [&str; 5] =
    ["if-match", "if-none-match", "if-modified-since", "if-unmodified-since", "if-range"];

/// The value of an `If-Match` or `If-None-Match`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TagMatch {
    /// `*`: any object.
    Any,
    /// The ETag must be this one, without quotes.
    Tag(String),
}

impl TagMatch {
    fn fits(&self, object: &Object) -> bool {
        match self {
            TagMatch::Any => true,
            TagMatch::Tag(tag) => *tag == object.etag,
        }
    }
}

/// Conditions on the object that is read, or copied from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReadConditions {
    /// `If-Match`.
    pub if_match: Option<TagMatch>,
    /// `If-None-Match`.
    pub if_none_match: Option<TagMatch>,
    /// `If-Modified-Since`; seconds count.
    pub if_modified_since: Option<UnixMillis>,
    /// `If-Unmodified-Since`; seconds count.
    pub if_unmodified_since: Option<UnixMillis>,
}

impl ReadConditions {
    /// Checks the conditions in the order of RFC 9110, section 13.2.2.
    ///
    /// # Errors
    /// [`Error::PreconditionFailed`], or [`Error::NotModified`] if the reader already has the object.
    pub fn check(&self, object: &Object) -> Result<(), Error> {
        let modified = object.modified.seconds();
        if let Some(expected) = &self.if_match {
            if !expected.fits(object) {
                return Err(Error::PreconditionFailed("If-Match"));
            }
        } else if let Some(since) = self.if_unmodified_since
            && modified > since.seconds()
        {
            return Err(Error::PreconditionFailed("If-Unmodified-Since"));
        }
        if let Some(excluded) = &self.if_none_match {
            if excluded.fits(object) {
                return Err(Error::NotModified);
            }
        } else if let Some(since) = self.if_modified_since
            && modified <= since.seconds()
        {
            return Err(Error::NotModified);
        }
        Ok(())
    }
}

/// Conditions on the current object of a key that is written or deleted. They are checked at the commit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteConditions {
    /// `If-Match`: there is an object, with this ETag.
    pub if_match: Option<TagMatch>,
    /// `If-None-Match`: there is no object, or its ETag is not this.
    pub if_none_match: Option<TagMatch>,
}

impl WriteConditions {
    /// Checks the conditions against the current object of the key.
    ///
    /// # Errors
    /// [`Error::PreconditionFailed`]; [`Error::NoSuchKey`] for an `If-Match` without an object.
    pub fn check(&self, object: Option<&Object>) -> Result<(), Error> {
        if let Some(expected) = &self.if_match {
            let object = object.ok_or(Error::NoSuchKey)?;
            if !expected.fits(object) {
                return Err(Error::PreconditionFailed("If-Match"));
            }
        }
        match (&self.if_none_match, object) {
            (Some(excluded), Some(object)) if excluded.fits(object) => {
                Err(Error::PreconditionFailed("If-None-Match"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn object() -> Object {
        Object { etag: "abc".into(), modified: UnixMillis(10_500), ..Object::default() }
    }

    fn verdict(conditions: ReadConditions) -> &'static str {
        match conditions.check(&object()) {
            Ok(()) => "ok",
            Err(Error::NotModified) => "304",
            Err(_) => "412",
        }
    }

    #[test]
    fn tags_come_before_dates_and_dates_count_in_seconds() {
        let none = ReadConditions::default;
        let tag = |tag: &str| Some(TagMatch::Tag(tag.into()));
        let second = |seconds: u64| Some(UnixMillis(seconds * 1000));
        assert_eq!(verdict(none()), "ok");
        let cases = [
            (tag("abc"), None, None, second(9), "ok"),
            (tag("abd"), None, None, None, "412"),
            (None, tag("abc"), None, None, "304"),
            (None, Some(TagMatch::Any), None, None, "304"),
            (None, tag("abd"), second(11), None, "ok"),
            (None, None, second(10), None, "304"),
            (None, None, second(9), None, "ok"),
            (None, None, None, second(10), "ok"),
            (None, None, None, second(9), "412"),
        ];
        for (if_match, if_none_match, if_modified_since, if_unmodified_since, expected) in cases {
            let conditions =
                ReadConditions { if_match, if_none_match, if_modified_since, if_unmodified_since };
            assert_eq!(verdict(conditions.clone()), expected, "{conditions:?}");
        }
    }
}
