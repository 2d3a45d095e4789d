//! The encryption of the way to a store.

/// Makes ring, which seals slots too, the library that this process's HTTPS clients encrypt with, unless another was
/// chosen.
///
/// A store that is opened calls it by itself. Before another client of `reqwest` or `object_store` is built, the caller
/// calls it. Further calls change nothing.
pub fn install_tls_provider() {
    // An error says that a library was chosen already.
    drop(rustls::crypto::ring::default_provider().install_default());
}
