//! The names and their objects, in memory; `rows` describes how they are stored.

mod container;
mod cors;
mod grant;
mod lifecycle;
mod object;
pub(crate) mod row_shares;
pub(crate) mod rows;
pub(crate) mod staging;
mod totals;
pub(crate) mod unix_millis;
mod upload;
mod upload_id;
pub(crate) mod version;

pub(crate) use container::Container;
pub use container::{
    AccountSettings, AccountView, Archive, ContainerSettings, ContainerView, OnDelete, Ownership, Versioning,
};
pub use cors::CorsRule;
pub use grant::{Grant, Grantee, Permission};
pub(crate) use lifecycle::DAY_MILLIS;
pub use lifecycle::{Expiry, FilterForm, LifecycleFilter, LifecycleRule, OldVersions};
pub(crate) use object::SegmentPlace;
pub use object::{Completed, Details, Encryption, Manifest, Object, Segment};
pub use totals::Totals;
pub use unix_millis::{Clock, UnixMillis};
pub use upload::{Part, Upload};
pub use upload_id::UploadId;
pub(crate) use version::MAX_ORDER;
pub use version::{Version, VersionId};

use crate::error::Error;
use crate::objects::packing::{Fragment, FragmentId, Location, PackIndex};
use row_shares::{RowGrowth, RowShares};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The largest number of bytes of memory that a catalogue takes for each byte of its rows, as the device counts them.
/// It was measured for objects of every kind; the smallest take most (`tests/catalogue_memory.rs`).
pub const MEMORY_PER_ROW_BYTE: u64 = 7;

/// All names of a gateway.
#[derive(Debug, Default)]
pub(crate) struct Catalogue {
    pub(crate) accounts: BTreeMap<String, AccountEntry>,
    pub(crate) uploads: BTreeMap<UploadId, Upload>,
    /// The versions that expire, the next one first, each with its order among those of its key.
    pub(crate) expiring: BTreeSet<(UnixMillis, ObjectName, u64)>,
    /// The fragments that objects and parts are made of.
    pub(crate) pack_index: PackIndex,
    /// The space that accounts take in the table of rows.
    pub(crate) row_shares: RowShares,
}

/// An account and its containers.
#[derive(Debug, Default)]
pub(crate) struct AccountEntry {
    pub(crate) settings: Arc<AccountSettings>,
    pub(crate) containers: BTreeMap<String, Container>,
}

/// The full name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ObjectName {
    pub(crate) account: String,
    pub(crate) container: String,
    pub(crate) key: String,
}

impl ObjectName {
    pub(crate) fn new(account: &str, container: &str, key: impl Into<String>) -> Self {
        ObjectName { account: account.to_owned(), container: container.to_owned(), key: key.into() }
    }
}

/// A change of the catalogue. A commit has one or more.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Creates an account, or changes its settings.
    PutAccount {
        name: String,
        settings: Arc<AccountSettings>,
    },
    /// Creates a container, or changes its settings.
    PutContainer {
        account: String,
        name: String,
        settings: Arc<ContainerSettings>,
    },
    /// Removes an empty container.
    DropContainer {
        account: String,
        name: String,
    },
    /// Sets the current object of a key.
    PutObject {
        object_name: ObjectName,
        object: Arc<Object>,
    },
    /// Removes the current object of a key.
    DropObject {
        object_name: ObjectName,
    },
    /// Adds a version that is not the current object of its key.
    PutVersion {
        object_name: ObjectName,
        object: Arc<Object>,
    },
    /// Removes a version that is not the current object of its key.
    DropVersion {
        object_name: ObjectName,
        order: u64,
    },
    AddUpload {
        id: UploadId,
        upload: Box<Upload>,
    },
    /// Removes an upload with its parts.
    DropUpload {
        id: UploadId,
    },
    PutPart {
        id: UploadId,
        number: u16,
        part: Arc<Part>,
    },
    /// Sets the new places of small objects' bytes.
    MoveFragments {
        locations: Vec<(FragmentId, Location)>,
    },
}

/// Changes with their effects on fragments and on the space for rows.
#[derive(Clone, Debug)]
pub(crate) struct PlannedChanges {
    pub(crate) changes: Vec<Change>,
    pub(crate) fragments: FragmentChanges,
    pub(crate) growth: RowGrowth,
}

/// Fragments that changes add, and those that no object has any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct FragmentChanges {
    pub(crate) added: BTreeMap<FragmentId, Arc<Fragment>>,
    pub(crate) dropped: BTreeSet<FragmentId>,
}

impl FragmentChanges {
    fn add<'a>(&mut self, segments: impl IntoIterator<Item = &'a Arc<Segment>>) {
        let fragments = segments.into_iter().filter_map(|segment| segment.fragment());
        self.added.extend(fragments.map(|fragment| (fragment.id(), Arc::clone(fragment))));
    }

    fn drop<'a>(&mut self, segments: impl IntoIterator<Item = &'a Arc<Segment>>) {
        let fragments = segments.into_iter().filter_map(|segment| segment.fragment());
        self.dropped.extend(fragments.map(|fragment| fragment.id()));
    }
}

impl Catalogue {
    pub(crate) fn container(&self, account: &str, name: &str) -> Result<&Container, Error> {
        self.accounts
            .get(account)
            .and_then(|account| account.containers.get(name))
            .ok_or(Error::NoSuchContainer)
    }

    /// Returns an upload, if it belongs to this container and key.
    pub(crate) fn upload(
        &self,
        account: &str,
        container: &str,
        key: &str,
        id: UploadId,
    ) -> Result<&Upload, Error> {
        self.container(account, container)?;
        self.uploads
            .get(&id)
            .filter(|upload| upload.account == account && upload.container == container && upload.key == key)
            .ok_or(Error::NoSuchUpload)
    }

    /// Returns the effect of changes on fragments. A fragment that locations from one name to another counts as added.
    pub(crate) fn fragment_changes(&self, changes: &[Change]) -> FragmentChanges {
        let mut fragments = FragmentChanges::default();
        let container =
            |object_name: &ObjectName| self.container(&object_name.account, &object_name.container).ok();
        let current = |object_name: &ObjectName| container(object_name)?.objects.get(&object_name.key);
        let old = |object_name: &ObjectName, order| container(object_name)?.old(&object_name.key, order);
        for change in changes {
            match change {
                Change::PutObject { object_name, object } => {
                    fragments.add(&object.segments);
                    fragments.drop(current(object_name).into_iter().flat_map(|old| &old.segments));
                }
                Change::DropObject { object_name } => {
                    fragments.drop(current(object_name).into_iter().flat_map(|old| &old.segments));
                }
                Change::PutVersion { object_name, object } => {
                    fragments.add(&object.segments);
                    fragments.drop(
                        old(object_name, object.version.order).into_iter().flat_map(|old| &old.segments),
                    );
                }
                Change::DropVersion { object_name, order } => {
                    fragments.drop(old(object_name, *order).into_iter().flat_map(|old| &old.segments));
                }
                Change::PutPart { id, number, part } => {
                    fragments.add([&part.segment]);
                    let old = self.uploads.get(id).and_then(|upload| upload.parts.get(number));
                    fragments.drop(old.map(|old| &old.segment));
                }
                Change::DropUpload { id } => {
                    let parts = self.uploads.get(id).into_iter().flat_map(|upload| upload.parts.values());
                    fragments.drop(parts.map(|part| &part.segment));
                }
                _ => {}
            }
        }
        fragments.dropped.retain(|id| !fragments.added.contains_key(id));
        fragments
    }

    /// Applies committed changes, and drops the entries that they replace. Blocks become free when their last reader is
    /// gone.
    pub(crate) fn apply(&mut self, planned: PlannedChanges) {
        let PlannedChanges { changes, fragments, growth } = planned;
        self.row_shares.grow(&growth);
        changes.into_iter().for_each(|change| self.apply_one(change));
        fragments.dropped.into_iter().for_each(|id| self.pack_index.remove(id));
        fragments.added.values().for_each(|fragment| self.pack_index.add(fragment));
    }

    /// Applies the change that a stored row describes. The caller counts the row.
    pub(crate) fn apply_stored(&mut self, change: Change) {
        let changes = vec![change];
        let fragments = self.fragment_changes(&changes);
        self.apply(PlannedChanges { changes, fragments, growth: RowGrowth::new() });
    }

    fn apply_one(&mut self, change: Change) {
        match change {
            Change::PutAccount { name, settings } => {
                self.accounts.entry(name).or_default().settings = settings;
            }
            Change::PutContainer { account, name, settings } => {
                let containers = &mut self.accounts.entry(account).or_default().containers;
                match containers.get_mut(&name) {
                    Some(container) => container.settings = settings,
                    None => drop(containers.insert(name, Container::new(settings))),
                }
            }
            Change::DropContainer { account, name } => {
                if let Some(account) = self.accounts.get_mut(&account) {
                    account.containers.remove(&name);
                }
            }
            Change::PutObject { object_name, object } => self.put_object(object_name, object),
            Change::DropObject { object_name } => {
                if let Some(container) = self.container_mut(&object_name)
                    && let Some(old) = container.remove(&object_name.key)
                {
                    self.remove_expiry(&old, object_name);
                }
            }
            Change::PutVersion { object_name, object } => self.put_version(object_name, object),
            Change::DropVersion { object_name, order } => {
                if let Some(container) = self.container_mut(&object_name)
                    && let Some(old) = container.remove_old_version(&object_name.key, order)
                {
                    self.remove_expiry(&old, object_name);
                }
            }
            Change::AddUpload { id, upload } => {
                self.count_pending(&upload, Totals::default(), upload.totals());
                self.uploads.insert(id, *upload);
            }
            Change::DropUpload { id } => {
                if let Some(upload) = self.uploads.remove(&id) {
                    self.count_pending(&upload, upload.totals(), Totals::default());
                }
            }
            Change::PutPart { id, number, part } => self.set_part(id, number, Some(part)),
            Change::MoveFragments { locations } => self.pack_index.relocate(locations),
        }
    }

    /// Sets or removes the part with this number.
    fn set_part(&mut self, id: UploadId, number: u16, part: Option<Arc<Part>>) {
        let Some(mut upload) = self.uploads.remove(&id) else { return };
        let bytes = |part: &Arc<Part>| Totals { objects: 0, bytes: part.segment.bytes() };
        let new = part.as_ref().map_or(Totals::default(), bytes);
        let old = match part {
            Some(part) => upload.parts.insert(number, part),
            None => upload.parts.remove(&number),
        };
        self.count_pending(&upload, old.as_ref().map_or(Totals::default(), bytes), new);
        self.uploads.insert(id, upload);
    }

    /// Counts a change of an unfinished upload in its container.
    fn count_pending(&mut self, upload: &Upload, old: Totals, new: Totals) {
        let account = self.accounts.get_mut(&upload.account);
        if let Some(container) = account.and_then(|account| account.containers.get_mut(&upload.container)) {
            container.pending = container.pending + new - old;
        }
    }

    fn put_object(&mut self, object_name: ObjectName, object: Arc<Object>) {
        let Some(container) = self.container_mut(&object_name) else { return };
        if let Some(old) = container.put(object_name.key.clone(), Arc::clone(&object)) {
            self.remove_expiry(&old, object_name.clone());
        }
        self.add_expiry(&object, object_name);
    }

    fn put_version(&mut self, object_name: ObjectName, object: Arc<Object>) {
        let Some(container) = self.container_mut(&object_name) else { return };
        if let Some(old) = container.put_old_version(object_name.key.clone(), Arc::clone(&object)) {
            self.remove_expiry(&old, object_name.clone());
        }
        self.add_expiry(&object, object_name);
    }

    fn add_expiry(&mut self, object: &Object, object_name: ObjectName) {
        if let Some(time) = object.details.delete_at {
            self.expiring.insert((time, object_name, object.version.order));
        }
    }

    fn remove_expiry(&mut self, object: &Object, object_name: ObjectName) {
        if let Some(time) = object.details.delete_at {
            self.expiring.remove(&(time, object_name, object.version.order));
        }
    }

    fn container_mut(&mut self, object_name: &ObjectName) -> Option<&mut Container> {
        self.accounts.get_mut(&object_name.account)?.containers.get_mut(&object_name.container)
    }
}
