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

/// A change of the catalogue. A commit has one or more. `None` removes what the change names.
#[derive(Clone, Debug)]
pub(crate) enum Change {
    /// Creates an account, or changes its settings. No commit removes one.
    SetAccount { name: String, settings: Option<Arc<AccountSettings>> },
    /// Creates a container, changes its settings, or removes it when it is empty.
    SetContainer { account: String, name: String, settings: Option<Arc<ContainerSettings>> },
    /// Sets the current object of a key.
    SetObject { object_name: ObjectName, object: Option<Arc<Object>> },
    /// Sets the version with this order, which is not the current object of its key.
    SetVersion { object_name: ObjectName, order: u64, object: Option<Arc<Object>> },
    /// Adds an upload, or removes it with its parts.
    SetUpload { id: UploadId, upload: Option<Box<Upload>> },
    /// Sets a part of an upload.
    SetPart { id: UploadId, number: u16, part: Option<Arc<Part>> },
    /// Sets the new places of small objects' bytes.
    MoveFragments { locations: Vec<(FragmentId, Location)> },
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
    fn replace<'a>(
        &mut self,
        old: impl IntoIterator<Item = &'a Arc<Segment>>,
        new: impl IntoIterator<Item = &'a Arc<Segment>>,
    ) {
        let old = old.into_iter().filter_map(|segment| segment.fragment());
        self.dropped.extend(old.map(|fragment| fragment.id()));
        let new = new.into_iter().filter_map(|segment| segment.fragment());
        self.added.extend(new.map(|fragment| (fragment.id(), Arc::clone(fragment))));
    }
}

fn segments(object: Option<&Arc<Object>>) -> impl Iterator<Item = &Arc<Segment>> {
    object.into_iter().flat_map(|object| &object.segments)
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

    /// Returns the current object of a key, which may have expired.
    fn current(&self, name: &ObjectName) -> Option<&Arc<Object>> {
        self.container(&name.account, &name.container).ok()?.objects.get(&name.key)
    }

    /// Returns the version of a key with this order, if it is not the current object.
    fn old(&self, name: &ObjectName, order: u64) -> Option<&Arc<Object>> {
        self.container(&name.account, &name.container).ok()?.old(&name.key, order)
    }

    fn part(&self, id: UploadId, number: u16) -> Option<&Arc<Part>> {
        self.uploads.get(&id)?.parts.get(&number)
    }

    /// Returns the effect of changes on fragments. A fragment that moves from one name to another counts as added.
    pub(crate) fn fragment_changes(&self, changes: &[Change]) -> FragmentChanges {
        let mut fragments = FragmentChanges::default();
        for change in changes {
            match change {
                Change::SetObject { object_name, object } => {
                    fragments.replace(segments(self.current(object_name)), segments(object.as_ref()));
                }
                Change::SetVersion { object_name, order, object } => {
                    fragments.replace(segments(self.old(object_name, *order)), segments(object.as_ref()));
                }
                Change::SetPart { id, number, part } => {
                    let old = self.part(*id, *number);
                    fragments.replace(old.map(|old| &old.segment), part.iter().map(|part| &part.segment));
                }
                Change::SetUpload { id, upload: None } => {
                    let parts = self.uploads.get(id).into_iter().flat_map(|upload| upload.parts.values());
                    fragments.replace(parts.map(|part| &part.segment), None);
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
            Change::SetAccount { name, settings: Some(settings) } => {
                self.accounts.entry(name).or_default().settings = settings;
            }
            Change::SetAccount { name, settings: None } => drop(self.accounts.remove(&name)),
            Change::SetContainer { account, name, settings: Some(settings) } => {
                let containers = &mut self.accounts.entry(account).or_default().containers;
                match containers.get_mut(&name) {
                    Some(container) => container.settings = settings,
                    None => drop(containers.insert(name, Container::new(settings))),
                }
            }
            Change::SetContainer { account, name, settings: None } => {
                if let Some(account) = self.accounts.get_mut(&account) {
                    account.containers.remove(&name);
                }
            }
            Change::SetObject { object_name, object } => {
                let Some(container) = self.container_mut(&object_name) else { return };
                let old = container.set_object(&object_name.key, object.clone());
                self.set_expiry(object_name, old.as_deref(), object.as_deref());
            }
            Change::SetVersion { object_name, order, object } => {
                let Some(container) = self.container_mut(&object_name) else { return };
                let old = container.set_version(&object_name.key, order, object.clone());
                self.set_expiry(object_name, old.as_deref(), object.as_deref());
            }
            Change::SetUpload { id, upload: Some(upload) } => {
                self.count_pending(&upload, Totals::default(), upload.totals());
                self.uploads.insert(id, *upload);
            }
            Change::SetUpload { id, upload: None } => {
                if let Some(upload) = self.uploads.remove(&id) {
                    self.count_pending(&upload, upload.totals(), Totals::default());
                }
            }
            Change::SetPart { id, number, part } => self.set_part(id, number, part),
            Change::MoveFragments { locations } => self.pack_index.relocate(locations),
        }
    }

    fn set_part(&mut self, id: UploadId, number: u16, part: Option<Arc<Part>>) {
        let Some(mut upload) = self.uploads.remove(&id) else { return };
        let bytes = |part: &Arc<Part>| Totals { objects: 0, bytes: part.segment.bytes() };
        let new = part.as_ref().map(bytes).unwrap_or_default();
        let old = match part {
            Some(part) => upload.parts.insert(number, part),
            None => upload.parts.remove(&number),
        };
        self.count_pending(&upload, old.as_ref().map(bytes).unwrap_or_default(), new);
        self.uploads.insert(id, upload);
    }

    /// Counts a change of an unfinished upload in its container.
    fn count_pending(&mut self, upload: &Upload, old: Totals, new: Totals) {
        let account = self.accounts.get_mut(&upload.account);
        if let Some(container) = account.and_then(|account| account.containers.get_mut(&upload.container)) {
            container.pending = container.pending + new - old;
        }
    }

    /// Replaces the expiry of one version by the expiry of another.
    fn set_expiry(&mut self, object_name: ObjectName, old: Option<&Object>, new: Option<&Object>) {
        let entry =
            |object: &Object| Some((object.details.delete_at?, object_name.clone(), object.version.order));
        if let Some(old) = old.and_then(entry) {
            self.expiring.remove(&old);
        }
        self.expiring.extend(new.and_then(entry));
    }

    fn container_mut(&mut self, object_name: &ObjectName) -> Option<&mut Container> {
        self.accounts.get_mut(&object_name.account)?.containers.get_mut(&object_name.container)
    }
}
