//! The address that clients are told.

/// The address of a server, as its catalogues name it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// This one: `https://swift.example.org`.
    Named(String),
    /// The `Host` of each request.
    OfHost {
        /// True if clients speak TLS.
        tls: bool,
    },
}
