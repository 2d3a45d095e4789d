//! The colours of the schemes in pictures.

use ameles_pager::scheme::Scheme;

/// The colour of a scheme, which is legible on light and on dark backgrounds.
pub(crate) fn colour(scheme: Scheme) -> &'static str {
    match scheme {
        Scheme::Plain => "#768390",
        Scheme::DetWoOram => "#2f81f7",
        Scheme::Eager => "#d97706",
        Scheme::Parallel => "#1a9c5b",
        Scheme::EagerParallel => "#a371f7",
        Scheme::Path => "#cf4b46",
        Scheme::Opam => "#8c6d46",
    }
}

/// The strength of a scheme's colour, from 0 to 1: paler the smaller K is.
pub(crate) fn strength(k: Option<u64>) -> f64 {
    match k {
        Some(..=3) => 0.45,
        Some(..=7) => 0.7,
        _ => 1.0,
    }
}
