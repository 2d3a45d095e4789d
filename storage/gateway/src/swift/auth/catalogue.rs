//! The service catalogue, which tells where each service is.

use super::super::target::PREFIX;
use crate::auth::identity::AccountName;
use base16ct::lower::encode_string as hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The one region.
pub(in super::super) const REGION: &str = "RegionOne";

/// The address under which clients reach this server, without a slash at its end.
#[derive(Clone, Debug)]
pub(in super::super) struct Base(pub(in super::super) String);

impl Base {
    /// The URL of an account's containers.
    pub(in super::super) fn storage(&self, account: &AccountName) -> String {
        format!("{}/v1/{PREFIX}{}", self.0, account.as_str())
    }

    fn identity(&self, version: &str) -> String {
        format!("{}/{version}", self.0)
    }

    /// The catalogue as version 3 has it.
    pub(super) fn v3(&self, account: &AccountName) -> Value {
        let service = |kind: &str, name: &str, url: &str| {
            let endpoints: Vec<Value> = ["public", "internal", "admin"]
                .iter()
                .map(|interface| {
                    json!({
                        "id": id(&[kind, interface]),
                        "interface": interface,
                        "region": REGION,
                        "region_id": REGION,
                        "url": url,
                    })
                })
                .collect();
            json!({"id": id(&[kind]), "type": kind, "name": name, "endpoints": endpoints})
        };
        json!([
            service("object-store", "swift", &self.storage(account)),
            service("identity", "keystone", &self.identity("v3")),
        ])
    }

    /// The catalogue as version 2 has it.
    pub(super) fn v2(&self, account: &AccountName) -> Value {
        let service = |kind: &str, name: &str, url: &str| {
            let endpoint = json!({
                "id": id(&[kind]),
                "region": REGION,
                "publicURL": url,
                "internalURL": url,
                "adminURL": url,
            });
            json!({"type": kind, "name": name, "endpoints": [endpoint], "endpoints_links": []})
        };
        json!([
            service("object-store", "swift", &self.storage(account)),
            service("identity", "keystone", &self.identity("v2.0")),
        ])
    }
}

/// An id that is always the same.
pub(super) fn id(of: &[&str]) -> String {
    hex(&Sha256::digest(of.join("/").as_bytes())[..16])
}
