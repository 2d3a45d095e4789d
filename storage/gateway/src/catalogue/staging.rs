//! Temporary changes of the catalogue, so that other changes can be planned after them. They are undone at the end.

use super::row_shares::RowGrowth;
use super::{Catalogue, Change, Part, PlannedChanges, UploadId};
use crate::objects::packing::{Fragment, FragmentId};
use std::sync::Arc;

/// A catalogue with changes that are not durable. Dropping this undoes them; drop it before any reader looks.
///
/// The replaced contents are kept until then, so no block becomes free.
pub(crate) struct Staging<'a> {
    catalogue: &'a mut Catalogue,
    /// The steps that undo the changes; the last one is undone first.
    undo_steps: Vec<UndoStep>,
}

/// A step that undoes a change.
enum UndoStep {
    /// Applies a change.
    Change(Change),
    /// Removes an account that did not exist.
    ForgetAccount(String),
    /// Restores the part that had this number, or none.
    Part(UploadId, u16, Option<Arc<Part>>),
    /// Adds a fragment that existed.
    AddFragment(Arc<Fragment>),
    /// Removes a fragment that did not exist.
    RemoveFragment(FragmentId),
    /// Restores the space that rows took.
    Rows(RowGrowth),
}

impl<'a> Staging<'a> {
    pub(crate) fn of(catalogue: &'a mut Catalogue) -> Self {
        Staging { catalogue, undo_steps: Vec::new() }
    }

    /// Returns the catalogue with the changes so far.
    pub(crate) fn catalogue(&self) -> &Catalogue {
        self.catalogue
    }

    /// Applies changes as [`Catalogue::apply`] does.
    pub(crate) fn apply(&mut self, planned: &PlannedChanges) {
        let PlannedChanges { changes, fragments, growth } = planned;
        self.undo_steps
            .push(UndoStep::Rows(growth.iter().map(|(account, bytes)| (account.clone(), -bytes)).collect()));
        self.catalogue.row_shares.grow(growth);
        for change in changes {
            self.record_undo(change);
            self.catalogue.apply_one(change.clone());
        }
        let pack_index = &mut self.catalogue.pack_index;
        for id in &fragments.dropped {
            self.undo_steps.extend(pack_index.get(*id).cloned().map(UndoStep::AddFragment));
            pack_index.remove(*id);
        }
        for (id, fragment) in &fragments.added {
            if pack_index.get(*id).is_none() {
                self.undo_steps.push(UndoStep::RemoveFragment(*id));
            }
            pack_index.add(fragment);
        }
    }

    /// Records the steps that undo a change, before it is applied.
    fn record_undo(&mut self, change: &Change) {
        let catalogue = &*self.catalogue;
        let container = |account: &str, name: &str| catalogue.container(account, name).ok();
        let step = match change {
            Change::PutAccount { name, .. } => Some(match catalogue.accounts.get(name) {
                Some(old) => {
                    let settings = Arc::clone(&old.settings);
                    UndoStep::Change(Change::PutAccount { name: name.clone(), settings })
                }
                None => UndoStep::ForgetAccount(name.clone()),
            }),
            Change::PutContainer { account, name, .. } => {
                if !catalogue.accounts.contains_key(account) {
                    self.undo_steps.push(UndoStep::ForgetAccount(account.clone()));
                }
                let (old, account, name) = (container(account, name), account.clone(), name.clone());
                Some(UndoStep::Change(match old.map(|old| Arc::clone(&old.settings)) {
                    Some(settings) => Change::PutContainer { account, name, settings },
                    None => Change::DropContainer { account, name },
                }))
            }
            Change::DropContainer { account, name } => container(account, name).map(|old| {
                let (account, name) = (account.clone(), name.clone());
                UndoStep::Change(Change::PutContainer { account, name, settings: Arc::clone(&old.settings) })
            }),
            Change::PutObject { object_name, .. } | Change::DropObject { object_name } => {
                let old = container(&object_name.account, &object_name.container)
                    .and_then(|container| container.objects.get(&object_name.key));
                Some(UndoStep::Change(match old.cloned() {
                    Some(object) => Change::PutObject { object_name: object_name.clone(), object },
                    None => Change::DropObject { object_name: object_name.clone() },
                }))
            }
            Change::PutVersion { object_name, .. } | Change::DropVersion { object_name, .. } => {
                let order = match change {
                    Change::DropVersion { order, .. } => *order,
                    Change::PutVersion { object, .. } => object.version.order,
                    _ => return,
                };
                let old = container(&object_name.account, &object_name.container)
                    .and_then(|container| container.old(&object_name.key, order));
                Some(UndoStep::Change(match old.cloned() {
                    Some(object) => Change::PutVersion { object_name: object_name.clone(), object },
                    None => Change::DropVersion { object_name: object_name.clone(), order },
                }))
            }
            Change::AddUpload { id, .. } => Some(UndoStep::Change(Change::DropUpload { id: *id })),
            Change::DropUpload { id } => catalogue.uploads.get(id).map(|upload| {
                UndoStep::Change(Change::AddUpload { id: *id, upload: Box::new(upload.clone()) })
            }),
            Change::PutPart { id, number, .. } => catalogue
                .uploads
                .get(id)
                .map(|upload| UndoStep::Part(*id, *number, upload.parts.get(number).cloned())),
            Change::MoveFragments { locations } => {
                let fragments = locations.iter().filter_map(|(id, _)| catalogue.pack_index.get(*id));
                let locations = fragments.map(|fragment| (fragment.id(), fragment.location())).collect();
                Some(UndoStep::Change(Change::MoveFragments { locations }))
            }
        };
        self.undo_steps.extend(step);
    }

    fn undo(&mut self, step: UndoStep) {
        match step {
            UndoStep::Change(change) => self.catalogue.apply_one(change),
            UndoStep::ForgetAccount(name) => drop(self.catalogue.accounts.remove(&name)),
            UndoStep::Part(id, number, part) => self.catalogue.set_part(id, number, part),
            UndoStep::AddFragment(fragment) => self.catalogue.pack_index.add(&fragment),
            UndoStep::RemoveFragment(id) => self.catalogue.pack_index.remove(id),
            UndoStep::Rows(growth) => self.catalogue.row_shares.grow(&growth),
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        while let Some(step) = self.undo_steps.pop() {
            self.undo(step);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::rows::ChangedRows;
    use crate::catalogue::{
        AccountSettings, ContainerSettings, Details, Object, ObjectName, Segment, SegmentPlace, UnixMillis,
        Upload, Version,
    };
    use crate::objects::allocate::Allocator;
    use crate::objects::packing::{Location, Pack};
    use bytes::Bytes;
    use proptest::prelude::*;
    use std::collections::BTreeMap;

    const NAMES: [&str; 3] = ["a", "b", "c"];

    /// The numbers of a random change: its kind, its account, its container, its key, and its order.
    type RandomNumbers = (u8, u8, u8, u8, u64);

    fn segment(fragment: u64) -> Arc<Segment> {
        let bytes = fragment % 5 + 1;
        let waiting = Location::Waiting(Bytes::from(vec![0; bytes as usize]));
        let place = SegmentPlace::Fragment(Fragment::new(FragmentId(fragment), bytes, waiting));
        Arc::new(Segment { bytes, place })
    }

    fn object(fragment: u64, order: u64) -> Arc<Object> {
        let details = Details {
            delete_at: (fragment.is_multiple_of(2)).then_some(UnixMillis(fragment)),
            ..Details::default()
        };
        let version = Version { order, ..Version::default() };
        Arc::new(Object { details, version, segments: vec![segment(fragment)], ..Object::default() })
    }

    fn part(fragment: u64) -> Arc<Part> {
        let segment = segment(fragment);
        Arc::new(Part {
            segment,
            md5: [0; 16],
            checksum: None,
            crc64nvme: None,
            modified: UnixMillis(fragment),
        })
    }

    /// Returns a change as the verbs make it: it refers only to entries that exist where they must.
    fn change(
        catalogue: &Catalogue,
        packs: &[Arc<Pack>],
        next: u64,
        (kind, a, c, k, order): RandomNumbers,
    ) -> Option<Change> {
        let name = |nth: u8| NAMES[usize::from(nth) % NAMES.len()].to_owned();
        let (account, container) = (name(a), name(c));
        let object_name = ObjectName::new(&account, &container, name(k));
        let id = UploadId([k; 16]);
        let existing = catalogue.container(&account, &container).ok();
        let settings = ContainerSettings { created: UnixMillis(next), ..ContainerSettings::default() };
        Some(match kind {
            0 => Change::PutAccount {
                name: account,
                settings: Arc::new(AccountSettings {
                    created: UnixMillis(next),
                    ..AccountSettings::default()
                }),
            },
            1 | 2 => Change::PutContainer { account, name: container, settings: Arc::new(settings) },
            3 => {
                let is_empty = existing
                    .is_some_and(|container| container.objects.is_empty() && container.history.is_empty());
                let pends = |upload: &Upload| upload.account == account && upload.container == container;
                if !is_empty || catalogue.uploads.values().any(pends) {
                    return None;
                }
                Change::DropContainer { account, name: container }
            }
            4..=6 => Change::PutObject { object: existing.map(|_| object(next, order))?, object_name },
            7 => Change::DropObject { object_name },
            8 | 9 => Change::PutVersion { object: existing.map(|_| object(next, order))?, object_name },
            10 => Change::DropVersion { object_name, order },
            11 if existing.is_some() && !catalogue.uploads.contains_key(&id) => Change::AddUpload {
                id,
                upload: Box::new(Upload {
                    account,
                    container,
                    key: object_name.key,
                    details: Details::default(),
                    checksum: None,
                    started: UnixMillis(next),
                    initiator: None,
                    parts: BTreeMap::new(),
                }),
            },
            12 => Change::DropUpload { id },
            13 | 14 if catalogue.uploads.contains_key(&id) => {
                Change::PutPart { id, number: order as u16, part: part(next) }
            }
            15 => {
                let pack = &packs[next as usize % packs.len()];
                let some = (0..next).filter(|fragment| fragment % 3 == u64::from(k) % 3).map(FragmentId);
                let locations =
                    some.map(|id| (id, Location::Packed { pack: Arc::clone(pack), offset: id.0 }));
                Change::MoveFragments { locations: locations.collect() }
            }
            _ => return None,
        })
    }

    /// Plans a change, and applies it to a table of rows.
    fn plan(catalogue: &Catalogue, change: Change, rows: &mut BTreeMap<Vec<u8>, Vec<u8>>) -> PlannedChanges {
        let ChangedRows { new_rows, planned, .. } = catalogue.plan(vec![change]);
        for (key, value) in new_rows {
            match value {
                Some(value) => drop(rows.insert(key, value)),
                None => drop(rows.remove(&key)),
            }
        }
        planned
    }

    proptest! {
        #[test]
        fn a_catalogue_is_as_it_was_once_its_changes_are_taken_back(
            before in prop::collection::vec((0u8..16, 0u8..3, 0u8..2, 0u8..3, 0u64..4), 0..40),
            staged in prop::collection::vec((0u8..16, 0u8..3, 0u8..2, 0u8..3, 0u64..4), 1..40),
        ) {
            let (mut catalogue, allocator) = (Catalogue::default(), Allocator::new(8));
            // These blocks stay taken throughout: the debug text of a catalogue shows the free blocks too.
            let packs: Vec<_> = (0..8).map(|_| Pack::new(allocator.allocate(1).expect("free"))).collect();
            let (mut next, mut rows) = (0, BTreeMap::new());
            for numbers in before {
                next += 1;
                if let Some(change) = change(&catalogue, &packs, next, numbers) {
                    let planned = plan(&catalogue, change, &mut rows);
                    catalogue.apply(planned);
                }
            }
            let was = format!("{catalogue:?}");
            let mut staging = Staging::of(&mut catalogue);
            let mut all = Vec::new();
            for numbers in staged {
                next += 1;
                if let Some(change) = change(staging.catalogue(), &packs, next, numbers) {
                    let planned = plan(staging.catalogue(), change, &mut rows);
                    staging.apply(&planned);
                    all.push(planned);
                }
            }
            let then = format!("{:?}", staging.catalogue());
            drop(staging);
            prop_assert_eq!(format!("{catalogue:?}"), was);
            for planned in all {
                catalogue.apply(planned);
            }
            prop_assert_eq!(format!("{catalogue:?}"), then, "committed changes equal the staged ones");
            prop_assert_eq!(&catalogue.row_shares, &catalogue.counted(&rows), "what is counted is there");
        }
    }
}
