//! Sizes that may be given as a share of the capacity: `8MiB`, `25%`.

use super::size::{Size, SizeError, SizeForm};
use serde::Deserialize;
use std::str::FromStr;

/// A size, or a share of the capacity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "SizeForm")]
pub enum SizeOrPercent {
    /// Bytes.
    Size(Size),
    /// A share of the capacity, in thousandths of a per cent.
    PercentThousandths(u64),
}

/// The error of a text that is neither.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeOrPercentError {
    /// An invalid number before a per cent sign.
    #[error("`{0}` is not a share of the capacity: write 0% to 100%, such as 25%")]
    Percent(String),
    /// An invalid size, without a per cent sign.
    #[error(transparent)]
    Size(#[from] SizeError),
}

impl SizeOrPercent {
    /// Returns the size, for this capacity.
    pub fn resolve(self, capacity: Size) -> Size {
        match self {
            SizeOrPercent::Size(size) => size,
            SizeOrPercent::PercentThousandths(thousandths) => {
                Size((u128::from(capacity.0) * u128::from(thousandths) / 100_000) as u64)
            }
        }
    }
}

impl FromStr for SizeOrPercent {
    type Err = SizeOrPercentError;

    fn from_str(text: &str) -> Result<Self, SizeOrPercentError> {
        let Some(number) = text.trim().strip_suffix('%') else {
            return Ok(SizeOrPercent::Size(text.parse()?));
        };
        let share = number.trim_end().parse::<f64>().ok().filter(|share| (0.0..=100.0).contains(share));
        let share = share.ok_or_else(|| SizeOrPercentError::Percent(text.to_owned()))?;
        Ok(SizeOrPercent::PercentThousandths((share * 1000.0).round() as u64))
    }
}

impl TryFrom<SizeForm> for SizeOrPercent {
    type Error = SizeOrPercentError;

    fn try_from(form: SizeForm) -> Result<Self, SizeOrPercentError> {
        match form {
            SizeForm::Text(text) => text.parse(),
            number @ SizeForm::Number(_) => Ok(SizeOrPercent::Size(number.try_into()?)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_of_the_capacity_and_a_size_is_not() {
        let of = |text: &str| text.parse::<SizeOrPercent>().unwrap().resolve(Size(1 << 30));
        assert_eq!(of("25%"), Size(1 << 28));
        assert_eq!(of(" 12.5 % "), Size(1 << 27));
        assert_eq!(of("8MiB"), Size(8 << 20));
        assert_eq!("100%".parse::<SizeOrPercent>().unwrap().resolve(Size(u64::MAX)), Size(u64::MAX));
    }

    #[test]
    fn a_share_above_all_of_it_is_refused() {
        for text in ["101%", "-1%", "a quarter%", "%"] {
            let error = text.parse::<SizeOrPercent>().unwrap_err().to_string();
            assert!(error.contains("such as 25%"), "{error}");
        }
        assert!("25".parse::<SizeOrPercent>().is_ok(), "bytes");
    }
}
