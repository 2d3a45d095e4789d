//! The options of opening a store.

use std::collections::BTreeMap;
use std::fmt;

/// The options with which a store is opened.
#[derive(Clone)]
pub struct OpenOptions {
    /// The settings of the provider, by the names of `object_store`'s configuration keys: `endpoint`, `region`,
    /// `access_key_id`, `secret_access_key`, `allow_http`, … Missing settings are taken from the provider's usual
    /// environment variables: `AWS_…`, `GOOGLE_…`, `AZURE_…`. A folder and `memory:` take none.
    pub keys: BTreeMap<String, String>,
    /// True if a folder that does not exist is made. Buckets of providers are never made.
    pub create: bool,
    /// The maximum number of requests in flight at a time.
    pub in_flight: usize,
}

impl Default for OpenOptions {
    /// No keys, nothing is made, 64 requests in flight.
    fn default() -> Self {
        OpenOptions { keys: BTreeMap::new(), create: false, in_flight: 64 }
    }
}

impl fmt::Debug for OpenOptions {
    /// Shows no key's value: some are secrets.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OpenOptions")
            .field("keys", &self.keys.keys().collect::<Vec<_>>())
            .field("create", &self.create)
            .field("in_flight", &self.in_flight)
            .finish()
    }
}
