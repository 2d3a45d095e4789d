//! The parameters of a URL.

use super::refusal::{Outcome, Refusal};

/// Parameters in their order. A parameter without `=` has an empty value.
#[derive(Clone, Debug, Default)]
pub(super) struct Query(Vec<(String, String)>);

impl Query {
    /// Parses the text after the question mark.
    ///
    /// # Errors
    /// A value is not UTF-8 or has a zero byte.
    pub(super) fn parse(query: Option<&str>) -> Outcome<Query> {
        let query = query.unwrap_or_default();
        let text = |part: &str| {
            let spaced = part.replace('+', " ");
            let text = percent_encoding::percent_decode_str(&spaced).decode_utf8().ok()?.into_owned();
            (!text.contains('\0')).then_some(text)
        };
        let pairs = query.split('&').filter(|pair| !pair.is_empty()).map(|pair| {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            Some((text(name)?, text(value)?))
        });
        pairs
            .collect::<Option<_>>()
            .map(Query)
            .ok_or_else(|| Refusal::precondition_failed("Invalid UTF8 or contains NULL"))
    }

    /// Returns the value of a parameter, the last one if there are several.
    pub(super) fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().rev().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns whether the query has this parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    /// Returns whether a parameter is true.
    pub(super) fn is_true(&self, name: &str) -> bool {
        self.get(name).is_some_and(is_true)
    }
}

/// Returns whether a text means true.
pub(super) fn is_true(text: &str) -> bool {
    ["true", "1", "yes", "on", "t", "y"].iter().any(|yes| text.eq_ignore_ascii_case(yes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_decoded_and_the_last_one_counts() {
        let query = Query::parse(Some("a=1&b=%2Fx+y&a=2&inline&c=")).unwrap();
        assert_eq!(query.get("a"), Some("2"));
        assert_eq!(query.get("b"), Some("/x y"));
        assert_eq!(query.get("c"), Some(""));
        assert!(query.has("inline") && !query.has("d") && !query.is_true("inline"));
        assert!(Query::parse(Some("r=True")).unwrap().is_true("r"));
        assert!(Query::parse(Some("a=%ff")).is_err() && Query::parse(Some("a=%00")).is_err());
        assert!(Query::parse(None).unwrap().get("a").is_none());
    }
}
