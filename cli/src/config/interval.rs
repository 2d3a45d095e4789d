//! Lengths of time as people write them: `50ms`, `1s`, `1m 30s`.

use serde::Deserialize;
use std::fmt;
use std::str::FromStr;
use std::time::Duration;

/// A length of time that a person wrote or reads. Always with its unit: a bare number would be read in two ways.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Interval(pub Duration);

/// The reason why a text is no length of time.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is no length of time: write a number and a unit, such as 50ms or 2s")]
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
    fn a_length_of_time_is_read_as_people_write_it() {
        for (text, expected) in
            [("50ms", 50), ("2s", 2_000), ("1s 500ms", 1_500), ("1m", 60_000), ("1hour", 3_600_000)]
        {
            assert_eq!(text.parse(), Ok(Interval(Duration::from_millis(expected))), "{text}");
        }
        assert_eq!(Interval(Duration::from_millis(1500)).to_string(), "1s 500ms");
    }

    #[test]
    fn what_is_no_length_of_time_is_told_how_to_write_one() {
        for text in ["", "50", "ms", "fast", "-5ms", "99999999999999999999s"] {
            let error = text.parse::<Interval>().unwrap_err().to_string();
            assert!(error.contains("such as 50ms or 2s"), "{error}");
        }
    }
}
