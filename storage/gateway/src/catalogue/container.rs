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

/// The settings that the owner of an account has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct AccountSettings {
    /// The moment of its first use.
    #[n(0)]
    pub created: UnixMillis,
    /// Metadata, by names in lower case. Features are switched on by names of their own, such as `temp-url-key`.
    #[n(1)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
}

/// The settings that the owner of a container has made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Encode, Decode)]
#[cbor(map)]
pub struct ContainerSettings {
    /// The moment at which it was made.
    #[n(0)]
    pub created: UnixMillis,
    /// Metadata, by names in lower case. Features are switched on by names of their own, such as `quota-bytes`.
    #[n(1)]
    #[cbor(default)]
    pub metadata: BTreeMap<String, String>,
    /// The list of those who may read, as Swift writes it.
    #[n(2)]
    #[cbor(default)]
    pub read_acl: String,
    /// The list of those who may write, as Swift writes it.
    #[n(3)]
    #[cbor(default)]
    pub write_acl: String,
    /// The principals that the owner lets in, as S3 has it.
    #[n(4)]
    #[cbor(default)]
    pub grants: Vec<Grant>,
    /// The container for objects that are replaced or deleted.
    #[n(5)]
    pub archive: Option<Archive>,
    /// Tags, by name.
    #[n(6)]
    #[cbor(default)]
    pub tags: BTreeMap<String, String>,
    /// The ownership that says whether grants count, as in S3. Without it they do not.
    #[n(7)]
    pub ownership: Option<Ownership>,
    /// The region that it was made in, as S3 has it. It changes nothing here.
    #[n(9)]
    pub region: Option<String>,
    /// The pages of other sites that browsers let in, as S3 has it.
    #[n(10)]
    #[cbor(default)]
    pub cors: Vec<CorsRule>,
    /// The lifecycle rules of objects and unfinished uploads, as S3 has them.
    #[n(11)]
    #[cbor(default)]
    pub lifecycle: Vec<LifecycleRule>,
    /// The state of versioning, as S3 has it. Without one, no old version is kept or ever was.
    #[n(8)]
    pub versioning: Option<Versioning>,
    /// The encryption of objects that are put without a word about it, as S3 has it.
    #[n(12)]
    pub encryption: Option<Encryption>,
}

/// The state of versioning of a container that has had it on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Versioning {
    /// Objects that are replaced or deleted are kept.
    #[n(0)]
    Enabled,
    /// Old versions stay. A put makes the null version, and replaces the null version before it.
    #[n(1)]
    Suspended,
}

/// The ownership of objects: whether grants of a container and of its objects count. The objects are the container's
/// owner's in both cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Encode, Decode)]
#[cbor(index_only)]
pub enum Ownership {
    /// They do not: the owner lets no one else in.
    #[n(0)]
    Enforced,
    /// They do.
    #[n(1)]
    Preferred,
}

/// The container that objects go to when they are replaced or deleted.
#[derive(Clone, Debug, PartialEq, Eq, Encode, Decode)]
pub struct Archive {
    /// The container that gets them, of the same account.
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
    /// The newest archived one comes back (`X-Versions-Location`).
    #[n(0)]
    Restore,
    /// It is archived too, with a marker after it (`X-History-Location`).
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
    /// Its containers.
    pub containers: u64,
    /// The totals of all of them.
    pub totals: Totals,
}

/// A container and the objects in it.
#[derive(Debug)]
pub(crate) struct Container {
    pub(crate) settings: Arc<ContainerSettings>,
    /// The newest version of each key, unless it is a delete marker: the key stands for it.
    pub(crate) objects: BTreeMap<String, Arc<Object>>,
    /// All other versions by key, the newest first: each is older than what its key stands for.
    pub(crate) history: BTreeMap<String, BTreeMap<Reverse<u64>, Arc<Object>>>,
    pub(crate) totals: Totals,
    /// The totals of the history. A delete marker counts as an object of no bytes.
    pub(crate) old: Totals,
    /// Unfinished uploads, each as an object of its parts' bytes.
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

    /// The object that the key stands for, unless its time is over.
    pub(crate) fn object(&self, key: &str, now: UnixMillis) -> Option<&Arc<Object>> {
        self.objects.get(key).filter(|object| !object.has_expired(now))
    }

    pub(crate) fn put(&mut self, key: String, object: Arc<Object>) -> Option<Arc<Object>> {
        self.totals.add(&object);
        let old = self.objects.insert(key, object);
        old.inspect(|old| self.totals.remove(old))
    }

    pub(crate) fn remove(&mut self, key: &str) -> Option<Arc<Object>> {
        self.objects.remove(key).inspect(|old| self.totals.remove(old))
    }

    /// The version of this order that its key does not stand for.
    pub(crate) fn old(&self, key: &str, order: u64) -> Option<&Arc<Object>> {
        self.history.get(key)?.get(&Reverse(order))
    }

    /// All versions of a key, the newest first.
    pub(crate) fn versions(&self, key: &str) -> impl Iterator<Item = &Arc<Object>> {
        let old = self.history.get(key).into_iter().flat_map(|versions| versions.values());
        self.objects.get(key).into_iter().chain(old)
    }

    pub(crate) fn put_old_version(&mut self, key: String, object: Arc<Object>) -> Option<Arc<Object>> {
        self.old.add(&object);
        let versions = self.history.entry(key).or_default();
        let old = versions.insert(Reverse(object.version.order), object);
        old.inspect(|old| self.old.remove(old))
    }

    pub(crate) fn remove_old_version(&mut self, key: &str, order: u64) -> Option<Arc<Object>> {
        let versions = self.history.get_mut(key)?;
        let old = versions.remove(&Reverse(order));
        if versions.is_empty() {
            self.history.remove(key);
        }
        old.inspect(|old| self.old.remove(old))
    }

    /// The totals that count against quotas.
    pub(crate) fn quota_usage(&self) -> Totals {
        self.totals + self.old + self.pending
    }

    pub(crate) fn view(&self) -> ContainerView {
        ContainerView { settings: Arc::clone(&self.settings), totals: self.totals }
    }
}
