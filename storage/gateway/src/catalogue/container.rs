//! Accounts and containers: the settings of their owners, and the totals of their contents.

use super::cors::CorsRule;
use super::grant::Grant;
use super::lifecycle::LifecycleRule;
use super::object::{Encryption, Object};
use super::totals::Totals;
use super::unix_millis::UnixMillis;
use minicbor::{Decode, Encode};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::sync::Arc;

/// The settings of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AccountSettings {
    /// The time of the first use.
    #[n(0)]
    pub created: UnixMillis,
    /// Metadata, by names in lower case. Some names switch features on, such as `temp-url-key`.
    #[n(1)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
}

/// The settings of a container.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ContainerSettings {
    /// The time of its creation.
    #[n(0)]
    pub created: UnixMillis,
    /// Metadata, by names in lower case. Some names switch features on, such as `quota-bytes`.
    #[n(1)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
    /// The Swift list of the principals that may read.
    #[n(2)]
    #[cbor(default)]
    pub read_acl: String,
    /// The Swift list of the principals that may write.
    #[n(3)]
    #[cbor(default)]
    pub write_acl: String,
    /// The S3 grants.
    #[n(4)]
    #[cbor(default)]
    pub grants: Vec<Grant>,
    /// The container to which replaced or deleted objects go.
    #[n(5)]
    pub archive: Option<Archive>,
    /// The tags, by name.
    #[n(6)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// The S3 ownership, which says whether grants count. Without it they do not.
    #[n(7)]
    pub ownership: Option<Ownership>,
    /// The S3 region in which it was created. It changes nothing here.
    #[n(9)]
    pub region: Option<String>,
    /// The S3 rules about pages of other sites.
    #[n(10)]
    #[cbor(default)]
    pub cors: Vec<CorsRule>,
    /// The S3 lifecycle rules of objects and unfinished uploads.
    #[n(11)]
    #[cbor(default)]
    pub lifecycle: Vec<LifecycleRule>,
    /// The S3 state of versioning. Without one, the container keeps no old versions and never did.
    #[n(8)]
    pub versioning: Option<Versioning>,
    /// The S3 encryption of objects whose puts ask for none.
    #[n(12)]
    pub encryption: Option<Encryption>,
}

/// The state of versioning of a container in which it was ever enabled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Versioning {
    /// The container keeps replaced and deleted objects.
    #[n(0)]
    Enabled,
    /// Old versions stay. A put creates the null version, and replaces the null version before it.
    #[n(1)]
    Suspended,
}

/// The S3 ownership of objects: whether grants of a container and of its objects count. Objects always belong to the
/// container's owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Ownership {
    /// Grants do not count: only the owner has rights.
    #[n(0)]
    Enforced,
    /// Grants count.
    #[n(1)]
    Preferred,
}

/// The container to which replaced or deleted objects go.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Archive {
    /// The name of that container, in the same account.
    #[n(0)]
    pub container: String,
    /// The effect of a delete.
    #[n(1)]
    pub on_delete: OnDelete,
}

/// The effect of a delete on an archived object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum OnDelete {
    /// The newest archived object comes back (`X-Versions-Location`).
    #[n(0)]
    Restore,
    /// The object is archived too, with a marker after it (`X-History-Location`).
    #[n(1)]
    Keep,
}

/// A container as its owner sees it.
#[derive(Clone, Debug, Default)]
pub struct ContainerView {
    /// The settings.
    pub settings: Arc<ContainerSettings>,
    /// The totals of its contents.
    pub totals: Totals,
}

/// An account as its owner sees it.
#[derive(Clone, Debug, Default)]
pub struct AccountView {
    /// The settings.
    pub settings: Arc<AccountSettings>,
    /// The number of its containers.
    pub containers: u64,
    /// The totals of all containers.
    pub totals: Totals,
}

/// A container and the objects in it.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) settings: Arc<ContainerSettings>,
    /// The current object of each key: its newest version, unless that is a delete marker.
    pub(crate) objects: BTreeMap<String, Arc<Object>>,
    /// All other versions of each key, the newest first. Each is older than the current object of its key.
    pub(crate) history: BTreeMap<String, BTreeMap<Reverse<u64>, Arc<Object>>>,
    pub(crate) totals: Totals,
    /// The totals of the history. A delete marker counts as an object of no bytes.
    pub(crate) old: Totals,
    /// Unfinished uploads, each counted as an object with the bytes of its parts.
    pub(crate) pending: Totals,
}

impl Container {
    pub(crate) fn new(settings: Arc<ContainerSettings>) -> Self {
        Container {
            settings,
            objects: BTreeMap::new(),
            history: BTreeMap::new(),
            totals: Totals::default(),
            old: Totals::default(),
            pending: Totals::default(),
        }
    }

    /// Returns the current object of a key, unless it has expired.
    pub(crate) fn object(&self, key: &str, now: UnixMillis) -> Option<&Arc<Object>> {
        self.objects.get(key).filter(|object| !object.has_expired(now))
    }

    /// Sets or removes the current object of a key, and returns the previous one.
    pub(super) fn set_object(&mut self, key: &str, object: Option<Arc<Object>>) -> Option<Arc<Object>> {
        let old = match object {
            Some(object) => {
                self.totals.add(&object);
                self.objects.insert(key.to_owned(), object)
            }
            None => self.objects.remove(key),
        };
        old.inspect(|old| self.totals.remove(old))
    }

    /// Returns the version with this order, if it is not the current object.
    pub(crate) fn old(&self, key: &str, order: u64) -> Option<&Arc<Object>> {
        self.history.get(key)?.get(&Reverse(order))
    }

    /// Returns all versions of a key, the newest first.
    pub(crate) fn versions(&self, key: &str) -> impl Iterator<Item = &Arc<Object>> {
        let old = self.history.get(key).into_iter().flat_map(|versions| versions.values());
        self.objects.get(key).into_iter().chain(old)
    }

    /// Sets or removes the version with this order, and returns the previous one.
    pub(super) fn set_version(
        &mut self,
        key: &str,
        order: u64,
        object: Option<Arc<Object>>,
    ) -> Option<Arc<Object>> {
        let versions = self.history.entry(key.to_owned()).or_default();
        let old = match object {
            Some(object) => {
                self.old.add(&object);
                versions.insert(Reverse(order), object)
            }
            None => versions.remove(&Reverse(order)),
        };
        if versions.is_empty() {
            self.history.remove(key);
        }
        old.inspect(|old| self.old.remove(old))
    }

    /// Returns the totals that count against quotas.
    pub(crate) fn quota_usage(&self) -> Totals {
        self.totals + self.old + self.pending
    }

    pub(crate) fn view(&self) -> ContainerView {
        ContainerView { settings: Arc::clone(&self.settings), totals: self.totals }
    }
}
