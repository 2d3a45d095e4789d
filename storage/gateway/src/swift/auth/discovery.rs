//! The versions of the identity service, for clients that request them.

use super::catalogue::Base;
use serde_json::{Value, json};

const UPDATED: &str = "2026-01-01T00:00:00Z";

pub(in super::super) fn v3(base: &Base) -> Value {
    version(base, "v3.14", "v3", "stable")
}

pub(in super::super) fn v2(base: &Base) -> Value {
    version(base, "v2.0", "v2.0", "deprecated")
}

fn version(base: &Base, id: &str, path: &str, status: &str) -> Value {
    json!({
        "id": id,
        "status": status,
        "updated": UPDATED,
        "links": [{"rel": "self", "href": format!("{}/{path}/", base.0)}],
        "media-types": [{
            "base": "application/json",
            "type": format!("application/vnd.openstack.identity-{path}+json"),
        }],
    })
}
