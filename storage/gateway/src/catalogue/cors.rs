//! Rules about pages of other sites: whether a browser gives them a container's answers.

use minicbor::{Decode, Encode};

/// A rule. The first one that matches a request counts.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct CorsRule {
    /// The owner's name for the rule.
    #[n(0)]
    pub id: Option<String>,
    /// The sites, such as `https://example.org`, each with at most one `*`.
    #[n(1)]
    #[cbor(default)]
    pub origins: Vec<String>,
    /// The methods.
    #[n(2)]
    #[cbor(default)]
    pub methods: Vec<String>,
    /// The headers that a page may send, each with at most one `*`.
    #[n(3)]
    #[cbor(default)]
    pub headers: Vec<String>,
    /// The headers that a page may see.
    #[n(4)]
    #[cbor(default)]
    pub exposed: Vec<String>,
    /// The time that a browser may cache an answer, in seconds. As in S3 it may be negative: then the browser does not
    /// cache.
    #[n(5)]
    pub max_age_seconds: Option<i32>,
}

impl CorsRule {
    /// Returns the pattern that matches a page's site, if the rule allows the page this request with these headers.
    pub(crate) fn matched_origin(&self, origin: &str, method: &str, headers: &[String]) -> Option<&str> {
        let allows = |header: &String| {
            self.headers
                .iter()
                .any(|known| matches(&known.to_ascii_lowercase(), &header.to_ascii_lowercase()))
        };
        let found = self.origins.iter().find(|pattern| matches(pattern, origin))?;
        let is_let_in = self.methods.iter().any(|known| known == method) && headers.iter().all(allows);
        is_let_in.then_some(found)
    }
}

/// Compares a text with a pattern, whose one `*` stands for any characters.
fn matches(pattern: &str, text: &str) -> bool {
    match pattern.split_once('*') {
        None => pattern == text,
        Some((before, after)) => {
            text.strip_prefix(before).is_some_and(|rest| rest.len() >= after.len() && rest.ends_with(after))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_star_stands_for_any_characters_and_for_no_others() {
        for (pattern, text) in
            [("*", "https://a.b"), ("https://*.b", "https://x.y.b"), ("x-*", "x-"), ("a", "a")]
        {
            assert!(matches(pattern, text), "{pattern} {text}");
        }
        for (pattern, text) in [("https://*.b", "https://.c"), ("a", "ab"), ("ab*ba", "aba"), ("*.b", "b")] {
            assert!(!matches(pattern, text), "{pattern} {text}");
        }
    }
}
