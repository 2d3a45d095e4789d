//! OpenStack Swift for the gateway: accounts, containers and objects, and the logins for them.
//!
//! It serves everything that clients, keystoneauth and Tempest need, identity included. `docs/reference/swift.md` lists
//! the accesses of each verb, and a test counts them.

mod account;
mod address;
mod answer;
mod auth;
mod bulk;
mod byteranges;
mod conditions;
mod container;
mod content;
mod context;
mod copy;
mod cors;
mod dates;
mod describe;
mod form_post;
mod full_body;
#[cfg(test)]
mod fuzz;
mod info;
mod large;
mod listing;
mod manifest;
mod metadata;
mod object;
mod put;
mod query;
mod range;
mod read;
mod refusal;
mod request_head;
mod rights;
mod route;
mod server;
mod service;
mod signature;
mod target;
mod temp_url;

pub use address::Address;
pub use server::SwiftServer;

use context::VerbContext;
use service::Swift;
