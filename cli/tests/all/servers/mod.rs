//! Both doors over one vault, as their clients have them: over HTTP.
//!
//! `histories`: after any requests through either door, and any deaths of the gateway, the answers are those of a map
//! of names. `watched`: the store's view of it tells nothing of the requests of clients, by requests or by times.

#[path = "../../../../storage/vault/tests/all/support/mod.rs"]
mod support;

#[path = "../../../../storage/gateway/tests/all/s3/signer.rs"]
#[allow(dead_code, reason = "forms and links are the gateway's own tests")]
mod signer;

mod client;
mod environment;
mod flawed_store;
mod histories;
mod watched;
