//! The address of the server for clients.

/// The address of a server in its service catalogues.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// A fixed address: `https://swift.example.org`.
    Named(String),
    /// The `Host` of each request.
    OfHost {
        /// True if clients speak TLS.
        tls: bool,
    },
}
