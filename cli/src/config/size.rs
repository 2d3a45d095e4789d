//! Sizes in readable form: `64KiB`, `1.5GiB`, `4096`.

use serde::{Deserialize, Serialize, Serializer};
use std::fmt;
use std::str::FromStr;

/// A number of bytes in readable form.
///
/// The unit is binary (`KiB`, `MiB`, `GiB`, `TiB`), decimal (`kB`, `MB`, `GB`, `TB`) or missing (bytes). A bare `K` or
/// `M` is refused: it may mean 1000 or 1024.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "SizeForm")]
pub struct Size(pub u64);

/// Serialized as a number of bytes.
impl Serialize for Size {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.0)
    }
}

/// The error of a text that is not a size.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SizeError {
    /// The text is not a number with a known unit.
    #[error("`{0}` is not a size: write a number of bytes, or a number and a unit, such as 64KiB or 10GiB")]
    Invalid(String),
    /// An ambiguous unit.
    #[error(
        "`{text}` is ambiguous: write {number}{unit}iB for powers of 1024, or {number}{decimal}B for powers of 1000",
        decimal = if *.unit == 'K' { 'k' } else { *.unit }
    )]
    Ambiguous {
        /// The text that was given.
        text: String,
        /// The number in the text.
        number: String,
        /// The unit in the text, in upper case.
        unit: char,
    },
    /// The size is more than 2^64 - 1 bytes.
    #[error("`{0}` is too large: the maximum is 16EiB less one byte")]
    TooLarge(String),
    /// A number below zero.
    #[error("`{0}` is negative: write a size of 0 or more")]
    Negative(String),
}

impl FromStr for Size {
    type Err = SizeError;

    fn from_str(text: &str) -> Result<Self, SizeError> {
        let trimmed = text.trim();
        if trimmed.starts_with('-') && trimmed[1..].starts_with(|c: char| c.is_ascii_digit()) {
            return Err(SizeError::Negative(text.to_owned()));
        }
        if let Some(unit @ ('k' | 'K' | 'm' | 'M' | 'g' | 'G' | 't' | 'T')) = trimmed.chars().last() {
            let number = trimmed[..trimmed.len() - 1].trim_end();
            if number.parse::<f64>().is_ok() {
                return Err(SizeError::Ambiguous {
                    text: text.to_owned(),
                    number: number.to_owned(),
                    unit: unit.to_ascii_uppercase(),
                });
            }
        }
        match parse_size::parse_size(trimmed) {
            Ok(bytes) => Ok(Size(bytes)),
            Err(parse_size::Error::PosOverflow) => Err(SizeError::TooLarge(text.to_owned())),
            Err(_) => Err(SizeError::Invalid(text.to_owned())),
        }
    }
}

/// Writes a size in the largest binary unit of at least one, exactly for whole numbers and otherwise with two digits.
impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(u32, &str); 6] =
            [(60, "EiB"), (50, "PiB"), (40, "TiB"), (30, "GiB"), (20, "MiB"), (10, "KiB")];
        // Below this, two digits of the smaller unit stay under 1024.00.
        const MIN: f64 = 1023.995 / 1024.0;
        for (shift, unit) in UNITS {
            let number = self.0 as f64 / (1u64 << shift) as f64;
            if number >= MIN {
                return if self.0.is_multiple_of(1 << shift) {
                    write!(f, "{} {unit}", self.0 >> shift)
                } else {
                    write!(f, "{number:.2} {unit}")
                };
            }
        }
        write!(f, "{} B", self.0)
    }
}

impl fmt::Debug for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The forms of a size in TOML: a text, or a number of bytes.
#[derive(Deserialize)]
#[serde(untagged, expecting = "a size such as \"64KiB\", or a number of bytes")]
pub(super) enum SizeForm {
    Number(i64),
    Text(String),
}

impl TryFrom<SizeForm> for Size {
    type Error = SizeError;

    fn try_from(form: SizeForm) -> Result<Self, SizeError> {
        match form {
            SizeForm::Number(number) => {
                u64::try_from(number).map(Size).map_err(|_| SizeError::Negative(number.to_string()))
            }
            SizeForm::Text(text) => text.parse(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_in_their_usual_forms() {
        for (text, bytes) in [
            ("0", 0),
            ("4096", 4096),
            ("64KiB", 65536),
            ("64 KiB", 65536),
            ("64kib", 65536),
            ("64KB", 64000),
            ("1.5GiB", 3 << 29),
            (" 10GiB ", 10 << 30),
            ("512 B", 512),
            ("18446744073709551615", u64::MAX),
        ] {
            assert_eq!(text.parse(), Ok(Size(bytes)), "{text}");
        }
    }

    #[test]
    fn an_invalid_text_is_refused_with_an_error_that_quotes_it() {
        for text in
            ["", "KiB", "sixty-four", "64 potatoes", "0x40", "1..5KiB", "64KiBKiB", "nan", "inf", "--5"]
        {
            assert_eq!(text.parse::<Size>(), Err(SizeError::Invalid(text.to_owned())), "{text}");
        }
        assert_eq!("-1".parse::<Size>(), Err(SizeError::Negative("-1".into())));
        assert_eq!("16EiB".parse::<Size>(), Err(SizeError::TooLarge("16EiB".into())));
    }

    #[test]
    fn an_ambiguous_unit_is_refused() {
        let error = "64K".parse::<Size>().unwrap_err().to_string();
        assert_eq!(error, "`64K` is ambiguous: write 64KiB for powers of 1024, or 64kB for powers of 1000");
        assert!("1.5 g".parse::<Size>().unwrap_err().to_string().contains("1.5GiB"));
    }

    #[test]
    fn whole_units_are_written_exactly() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1000, "1000 B"),
            (65536, "64 KiB"),
            (1 << 30, "1 GiB"),
            ((1 << 30) + (1 << 29), "1.50 GiB"),
            ((1 << 30) - 1, "1.00 GiB"),
            ((1 << 30) - (1 << 20), "1023 MiB"),
            (u64::MAX, "16.00 EiB"),
        ] {
            assert_eq!(Size(bytes).to_string(), expected);
        }
    }

    #[test]
    fn fuzz_every_text_is_a_size_or_a_clear_error() {
        bolero::check!().for_each(|bytes: &[u8]| {
            let Ok(text) = std::str::from_utf8(bytes) else {
                return;
            };
            match text.parse::<Size>() {
                Ok(size) => assert!(!size.to_string().is_empty()),
                Err(error) => assert!(error.to_string().contains(text)),
            }
        });
    }
}
