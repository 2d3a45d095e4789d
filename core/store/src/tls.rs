//! The encryption of the way to a store.

/// Selects ring as the TLS library of this process's HTTPS clients. Does nothing if a library was already selected.
///
/// A store calls this function when it is opened. A program that builds another client of `reqwest` or `object_store`
/// calls it first. The project also seals slots with ring.
pub fn install_tls_provider() {
    // An error says that a library was chosen already.
    drop(rustls::crypto::ring::default_provider().install_default());
}
