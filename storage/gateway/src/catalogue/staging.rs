//! Temporary changes of the catalogue, so that other changes can be planned after them. They are undone at the end.

use super::row_shares::RowGrowth;
use super::{Catalogue, Change, PlannedChanges};
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
        let account = |name: &str| {
            let settings = catalogue.accounts.get(name).map(|old| Arc::clone(&old.settings));
            Change::SetAccount { name: name.to_owned(), settings }
        };
        let step = match change {
            Change::SetAccount { name, .. } => account(name),
            Change::SetContainer { account: holder, name, .. } => {
                // The container may be the first of an account that did not exist.
                self.undo_steps.push(UndoStep::Change(account(holder)));
                let old = catalogue.container(holder, name).ok().map(|old| Arc::clone(&old.settings));
                Change::SetContainer { account: holder.clone(), name: name.clone(), settings: old }
            }
            Change::SetObject { object_name, .. } => {
                let object = catalogue.current(object_name).cloned();
                Change::SetObject { object_name: object_name.clone(), object }
            }
            Change::SetVersion { object_name, order, .. } => {
                let object = catalogue.old(object_name, *order).cloned();
                Change::SetVersion { object_name: object_name.clone(), order: *order, object }
            }
            Change::SetUpload { id, .. } => {
                let upload = catalogue.uploads.get(id).cloned().map(Box::new);
                Change::SetUpload { id: *id, upload }
            }
            Change::SetPart { id, number, .. } => {
                let part = catalogue.part(*id, *number).cloned();
                Change::SetPart { id: *id, number: *number, part }
            }
            Change::MoveFragments { locations } => {
                let fragments = locations.iter().filter_map(|(id, _)| catalogue.pack_index.get(*id));
                let locations = fragments.map(|fragment| (fragment.id(), fragment.location())).collect();
                Change::MoveFragments { locations }
            }
        };
        self.undo_steps.push(UndoStep::Change(step));
    }

    fn undo(&mut self, step: UndoStep) {
        match step {
            UndoStep::Change(change) => self.catalogue.apply_one(change),
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
        AccountSettings, ContainerSettings, Details, Object, ObjectName, Part, Segment, SegmentPlace,
        UnixMillis, Upload, UploadId, Version,
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
            0 => {
                let settings = AccountSettings { created: UnixMillis(next), ..AccountSettings::default() };
                Change::SetAccount { name: account, settings: Some(Arc::new(settings)) }
            }
            1 | 2 => Change::SetContainer { account, name: container, settings: Some(Arc::new(settings)) },
            3 => {
                let is_empty = existing
                    .is_some_and(|container| container.objects.is_empty() && container.history.is_empty());
                let pends = |upload: &Upload| upload.account == account && upload.container == container;
                if !is_empty || catalogue.uploads.values().any(pends) {
                    return None;
                }
                Change::SetContainer { account, name: container, settings: None }
            }
            4..=6 => Change::SetObject { object: existing.map(|_| Some(object(next, order)))?, object_name },
            7 => Change::SetObject { object_name, object: None },
            8 | 9 => Change::SetVersion {
                object: existing.map(|_| Some(object(next, order)))?,
                object_name,
                order,
            },
            10 => Change::SetVersion { object_name, order, object: None },
            11 if existing.is_some() && !catalogue.uploads.contains_key(&id) => {
                let upload = Upload {
                    account,
                    container,
                    key: object_name.key,
                    details: Details::default(),
                    checksum: None,
                    started: UnixMillis(next),
                    initiator: None,
                    parts: BTreeMap::new(),
                };
                Change::SetUpload { id, upload: Some(Box::new(upload)) }
            }
            12 => Change::SetUpload { id, upload: None },
            13 | 14 if catalogue.uploads.contains_key(&id) => {
                Change::SetPart { id, number: order as u16, part: Some(part(next)) }
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
