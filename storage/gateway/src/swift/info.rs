//! `/info`: the enabled features and their limits.

use super::signature::DIGESTS;
use super::{Swift, bulk, large, listing, metadata, target};
use crate::device::Device;
use serde_json::{Value, json};

/// The one storage policy: all containers are in one vault.
pub(super) const POLICY: &str = "Policy-0";

/// The policy for browser plug-ins: no other site may access the server.
pub(super) const CROSS_DOMAIN: &str = "<?xml version=\"1.0\"?>\n<!DOCTYPE cross-domain-policy SYSTEM \
    \"http://www.adobe.com/xml/dtds/cross-domain-policy.dtd\" >\n<cross-domain-policy>\n\
    <site-control permitted-cross-domain-policies=\"none\"/>\n</cross-domain-policy>";

impl Swift {
    pub(super) fn info(&self) -> Value {
        let shape = self.gateway.device().shape();
        let capacity = shape.blocks.saturating_mul(shape.block_bytes as u64);
        json!({
            "swift": {
                "version": "2.35.0",
                "policies": [{"name": POLICY, "aliases": POLICY, "default": true}],
                "max_file_size": capacity,
                "max_container_name_length": target::MAX_CONTAINER_BYTES,
                "max_object_name_length": target::MAX_OBJECT_BYTES,
                "max_account_name_length": crate::auth::identity::MAX_NAME_BYTES + target::PREFIX.len(),
                "max_meta_name_length": metadata::MAX_NAME_BYTES,
                "max_meta_value_length": metadata::MAX_VALUE_BYTES,
                "max_meta_count": metadata::MAX_ITEMS,
                "max_meta_overall_size": metadata::MAX_BYTES,
                "account_listing_limit": listing::MAX_ENTRIES,
                "container_listing_limit": listing::MAX_ENTRIES,
                "account_autocreate": true,
                "allow_account_management": false,
                "strict_cors_mode": true,
                "extra_header_count": 0,
            },
            "tempauth": {"account_acls": false},
            "slo": {
                "max_manifest_segments": large::MAX_SEGMENTS,
                "max_manifest_size": large::MAX_LIST_BYTES,
                "min_segment_size": 1,
            },
            "dlo": {"max_segments": listing::MAX_ENTRIES},
            "bulk_delete": {"max_deletes_per_request": bulk::MAX_DELETES, "max_failed_deletes": bulk::MAX_DELETES},
            "bulk_upload": {"max_containers_per_extraction": 10_000, "max_failed_extractions": 1000},
            "tempurl": {
                "methods": ["GET", "HEAD", "PUT", "POST", "DELETE"],
                "allowed_digests": DIGESTS,
                "incoming_remove_headers": ["x-timestamp"],
                "incoming_allow_headers": [],
                "outgoing_remove_headers": ["x-object-meta-*"],
                "outgoing_allow_headers": ["x-object-meta-public-*"],
            },
            "formpost": {"allowed_digests": DIGESTS},
            "container_quotas": {},
            "account_quotas": {},
            "versioned_writes": {"allowed_flags": ["x-versions-location", "x-history-location"]},
            "crossdomain": {},
        })
    }
}
