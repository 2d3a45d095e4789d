//! Durations in readable form: `50ms`, `1s`, `1m 30s`.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A duration in readable form. The unit is required: a bare number would be ambiguous.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Interval(pub Duration);

/// The error of a text that is not a duration.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a duration: write a number and a unit, such as 50ms or 2s")]
pub struct IntervalError(String);

impl FromStr for Interval {
    type Err = IntervalError;

    fn from_str(text: &str) -> Result<Self, IntervalError> {
        humantime::parse_duration(text).map(Interval).map_err(|_| IntervalError(text.to_owned()))
    }
}

impl TryFrom<String> for Interval {
    type Error = IntervalError;

    fn try_from(text: String) -> Result<Self, IntervalError> {
        text.parse()
    }
}

impl fmt::Display for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", humantime::format_duration(self.0))
    }
}

impl fmt::Debug for Interval {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_read_in_its_usual_form() {
        for (text, expected) in
            [("50ms", 50), ("2s", 2_000), ("1s 500ms", 1_500), ("1m", 60_000), ("1hour", 3_600_000)]
        {
            assert_eq!(text.parse(), Ok(Interval(Duration::from_millis(expected))), "{text}");
        }
        assert_eq!(Interval(Duration::from_millis(1500)).to_string(), "1s 500ms");
    }

    #[test]
    fn a_text_that_is_not_a_duration_gets_an_example() {
        for text in ["", "50", "ms", "fast", "-5ms", "99999999999999999999s"] {
            let error = text.parse::<Interval>().unwrap_err().to_string();
            assert!(error.contains("such as 50ms or 2s"), "{error}");
        }
    }
}
