//! Errors of opening a store.

use std::path::PathBuf;

/// The reason why a store could not be opened.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The location is neither a path nor a URL that can be read.
    #[error("{location:?} is not a location of a store: {why}")]
    BadLocation {
        /// The location, without any password.
        location: String,
        /// The problem of the location.
        why: String,
    },
    /// The URL's scheme is not a known one.
    #[error(
        "{scheme}:// is not a known kind of store: write s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or file:///FOLDER"
    )]
    UnknownScheme {
        /// The scheme.
        scheme: String,
    },
    /// An option is not one of this kind of store.
    #[error("a {kind} store has no option {key:?}")]
    UnknownOption {
        /// The option.
        key: String,
        /// The kind of store.
        kind: &'static str,
    },
    /// The endpoint is plain HTTP, which was not allowed.
    #[error(
        "the endpoint is plain http://, which shows the signatures of requests and all names to the network: use https://, or set allow_http = true"
    )]
    PlainHttp,
    /// The address of a server is not one that requests can have.
    #[error("`{endpoint}` is not the address of a server: write http://HOST:PORT or https://HOST")]
    BadEndpoint {
        /// The option that gives it, or the variable of the environment.
        given_by: String,
        /// The address, without a user and a password.
        endpoint: String,
    },
    /// A value that a request carries in its header has a character that no header has. It may be a secret.
    #[error(
        "the value of {given_by} has a character that no request can carry, such as a line break: copy it again"
    )]
    BadValue {
        /// The option that gives it, or the variable of the environment.
        given_by: String,
    },
    /// The folder does not exist.
    #[error("there is no folder {path}", path = path.display())]
    NoFolder {
        /// The folder.
        path: PathBuf,
    },
    /// The path leads to something else than a folder.
    #[error("{path:?} is not a folder")]
    NotAFolder {
        /// The path.
        path: PathBuf,
    },
    /// The folder cannot be made or read.
    #[error("the folder {path:?} cannot be used: {source}")]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The cause.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The options do not make a store.
    #[error("the store's options are incomplete or contradict each other: {0}")]
    Options(#[source] object_store::Error),
    /// The provider has no such bucket or container.
    #[error(
        "the provider has no bucket {bucket:?}: create it there first, or correct its name, region or endpoint"
    )]
    NoBucket {
        /// The bucket or container.
        bucket: String,
    },
    /// The provider does not accept the credentials for this bucket.
    #[error(
        "the provider refuses these credentials for bucket {bucket:?} ({answer}): correct them, or let them list, read, write and delete there"
    )]
    Denied {
        /// The bucket or container.
        bucket: String,
        /// The provider's word for why, or the HTTP status.
        answer: String,
    },
    /// No access key is given, and this machine has none by its role.
    #[error(
        "no access key is given for bucket {bucket:?}, and this machine's role gives none ({why}): set AWS_ACCESS_KEY_ID and \
         AWS_SECRET_ACCESS_KEY, or the options access_key_id and secret_access_key"
    )]
    NoAccessKey {
        /// The bucket.
        bucket: String,
        /// The root of the failure of a request without a key.
        why: String,
    },
    /// The provider cannot be reached or does not answer as it should.
    #[error("the store does not answer: {why}")]
    Unreachable {
        /// The root of the failure.
        why: String,
        /// The whole error.
        error: Box<object_store::Error>,
    },
}
