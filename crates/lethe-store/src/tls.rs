//! What encrypts the way to a store.

/// Makes ring, which seals slots too, what this process's HTTPS clients encrypt with, unless another was chosen.
///
/// A store that is opened does it by itself; whoever builds another client of `reqwest` or `object_store` does it
/// first. Further calls change nothing.
pub fn encrypt_with_ring() {
    // An error says that there is one already.
    drop(rustls::crypto::ring::default_provider().install_default());
}
