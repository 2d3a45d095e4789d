//! A macro for enums whose variants have names on the command line.

/// Implements `Display` and `FromStr` for an enum with `ALL` and `name`, and defines the error for an unknown name. The
/// caller's crate has `thiserror`.
#[macro_export]
macro_rules! named_enum {
    ($type:ident, $(#[$attribute:meta])* $unknown:ident, $message:literal) => {
        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.write_str(self.name())
            }
        }

        $(#[$attribute])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
        #[error($message)]
        pub struct $unknown;

        impl core::str::FromStr for $type {
            type Err = $unknown;

            fn from_str(name: &str) -> Result<Self, $unknown> {
                $type::ALL.into_iter().find(|one| one.name().eq_ignore_ascii_case(name)).ok_or($unknown)
            }
        }
    };
}
