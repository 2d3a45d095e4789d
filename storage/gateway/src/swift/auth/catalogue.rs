//! The service catalogue, which lists the URL of each service.

use super::super::target::PREFIX;
use crate::auth::identity::AccountName;
use base16ct::lower::encode_string as hex;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};

/// The only region.
pub(in super::super) const REGION: &str = "RegionOne";

/// The address of this server for the client, without a trailing slash.
#[derive(Clone, Debug)]
pub(in super::super) struct Base(pub(in super::super) String);

impl Base {
    /// Returns the URL of an account's containers.
    pub(in super::super) fn storage(&self, account: &AccountName) -> String {
        format!("{}/v1/{PREFIX}{}", self.0, account.as_str())
    }

    fn identity(&self, version: &str) -> String {
        format!("{}/{version}", self.0)
    }

    /// Returns the catalogue in the form of version 3.
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

    /// Returns the catalogue in the form of version 2.
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

/// Returns an id that is always the same for this input.
pub(super) fn id(of: &[&str]) -> String {
    hex(&Sha256::digest(of.join("/").as_bytes())[..16])
}
