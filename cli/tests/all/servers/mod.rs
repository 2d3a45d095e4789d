//! The S3 and the Swift server over one vault, tested over HTTP.
//!
//! `histories`: after any requests by either protocol, and any deaths of the gateway, the answers are those of a map
//! from names to contents. `store_view`: the requests that the store sees, and their times, do not depend on the
//! clients.

#[path = "../../../../storage/vault/tests/all/support/mod.rs"]
mod support;

#[path = "../../../../storage/gateway/tests/all/s3/signer.rs"]
#[allow(dead_code, reason = "only the gateway's tests use forms and links")]
mod signer;

mod client;
mod environment;
mod flawed_store;
mod histories;
mod store_view;
