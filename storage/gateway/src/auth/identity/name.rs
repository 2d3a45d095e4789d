//! Names of accounts and users.

use std::fmt;
use std::str::FromStr;

/// The largest number of bytes of a name.
pub const MAX_NAME_BYTES: usize = 64;

/// The reason why a text is not a name. It does not hold the text, which may be a password in the wrong place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is too long, or empty.
    #[error("the name of an account or a user has 1 to {MAX_NAME_BYTES} bytes, not {0}")]
    Length(usize),
    /// The text has a byte with another meaning in a URL, a list of rights or a file.
    #[error(
        "the name of an account or a user consists of letters, digits, `-`, `_`, `.` and `@`, and begins with a letter or a \
         digit; byte {0} is none of these"
    )]
    Byte(usize),
}

/// Accepts ASCII letters and digits, `-`, `_`, `.`, `@`. None of them has a meaning in a path, a list of rights (`:`,
/// `,`, `*`) or a header. The first one must be a letter or a digit, so that no name looks like `.r` or a flag.
fn check(text: &str) -> Result<(), NameError> {
    if text.is_empty() || text.len() > MAX_NAME_BYTES {
        return Err(NameError::Length(text.len()));
    }
    let is_good = |index: usize, byte: u8| match byte {
        b'-' | b'_' | b'.' | b'@' => index > 0,
        byte => byte.is_ascii_alphanumeric(),
    };
    match text.bytes().enumerate().find(|&(index, byte)| !is_good(index, byte)) {
        Some((index, _)) => Err(NameError::Byte(index + 1)),
        None => Ok(()),
    }
}

macro_rules! names {
    ($($(#[$docs:meta])* $name:ident;)*) => {
        $(
            $(#[$docs])*
            #[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
            pub struct $name(Box<str>);

            impl $name {
                /// Returns the name as text.
                pub fn as_str(&self) -> &str {
                    &self.0
                }
            }

            impl FromStr for $name {
                type Err = NameError;

                fn from_str(text: &str) -> Result<Self, NameError> {
                    check(text)?;
                    Ok($name(text.into()))
                }
            }

            impl TryFrom<String> for $name {
                type Error = NameError;

                fn try_from(text: String) -> Result<Self, NameError> {
                    text.parse()
                }
            }

            /// Names must stay out of logs: this shows none.
            impl fmt::Debug for $name {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    f.write_str(concat!(stringify!($name), "(..)"))
                }
            }
        )*
    };
}

names! {
    /// The name of an account: 1 to 64 bytes of ASCII letters, digits, `-`, `_`, `.`, `@`.
    AccountName;
    /// The name of a user within an account: the same alphabet and length.
    UserName;
}

impl AccountName {
    /// Returns the first account. Everything that was stored before there were accounts belongs to it.
    pub fn first() -> Self {
        AccountName(crate::objects::account::FIRST_ACCOUNT.into())
    }
}

impl UserName {
    /// Returns the first user of the first account.
    pub fn first() -> Self {
        UserName("owner".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_short_and_hold_no_byte_with_a_meaning_elsewhere() {
        for good in ["a", "ameles", "A-1_b.c@example.org", &"x".repeat(MAX_NAME_BYTES)] {
            assert_eq!(good.parse::<AccountName>().map(|name| name.as_str().to_owned()), Ok(good.to_owned()));
        }
        assert_eq!("".parse::<UserName>(), Err(NameError::Length(0)));
        assert_eq!("x".repeat(65).parse::<UserName>(), Err(NameError::Length(65)));
        for (bad, index) in
            [("a:b", 2), ("a/b", 2), (".r", 1), ("-a", 1), ("a b", 2), ("é", 1), ("a*", 2), ("a\0", 2)]
        {
            assert_eq!(bad.parse::<AccountName>(), Err(NameError::Byte(index)), "{bad:?}");
        }
        assert_eq!(AccountName::first().as_str().parse(), Ok(AccountName::first()));
        assert_eq!(UserName::first().as_str().parse(), Ok(UserName::first()));
    }

    #[test]
    fn a_name_does_not_show_in_debug_output() {
        let shown = format!("{:?}", AccountName::first());
        assert!(!shown.contains("ameles"), "{shown}");
    }
}
