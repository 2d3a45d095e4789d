//! The catalogue as rows, under a row that numbers the format.
//!
//! | key | value |
//! |---|---|
//! | `0` | format number, bytes of a block |
//! | `1` account | what is set |
//! | `2` account `0` container | what is set |
//! | `3` fragment (u64, big-endian) | the bytes of a small object, or the block and the place in it that they are in |
//! | `4` account `0` container `0` key | details, ETag, checksum, modified, segments (bytes, runs of blocks or a fragment), of an upload in parts its id and the parts' checksums |
//! | `5` upload id | account, container, key, details, checksum, started |
//! | `6` upload id, part number (u16, big-endian) | segment, MD5, checksum, modified, CRC64NVME |
//! | `8` account `0` container `0` key, order (u64, its complement, big-endian) | as `4`: a version that its key does not stand for |
//!
//! A look-up under `4` finds the object that a key stands for. Its other versions, delete markers among them, follow
//! one another under `8`, the newest first. A vault in which no old version was ever kept has no such row.
//!
//! Free blocks are those that no row names. A crash before a commit leaves blocks that no row names: free ones.

mod changed;
mod encoding;
mod key;

use crate::catalogue::{
    Catalogue, Change, FragmentChanges, MAX_ORDER, Object, ObjectName, Part, Segment, SegmentPlace, Upload,
};
use crate::device::{Row, RowChange};
use crate::error::OpenError;
use crate::objects::allocate::{Allocator, Run};
use crate::objects::packing::{Fragment, FragmentId, Location, Pack};
pub(crate) use changed::ChangedRows;
use changed::account_of;
pub(crate) use encoding::FORMAT;
use encoding::{FormatRow, FragmentRow, ObjectRow, PartRow, SegmentRow, encode};
pub(crate) use key::RowKey;
use std::collections::BTreeMap;
use std::sync::Arc;

/// Returns the rows of an empty catalogue.
pub(crate) fn first_rows(block_bytes: usize) -> Vec<RowChange> {
    let row = FormatRow { format: FORMAT, block_bytes: block_bytes as u64 };
    vec![(RowKey::Format.bytes(), Some(encode(&row)))]
}

impl Catalogue {
    /// Returns the row of this key in the present catalogue.
    fn row(&self, key: &RowKey) -> Option<Vec<u8>> {
        match key {
            RowKey::Format => None,
            RowKey::Account(name) => Some(encode(&*self.accounts.get(name)?.settings)),
            RowKey::Container(account, name) => Some(encode(&*self.container(account, name).ok()?.settings)),
            RowKey::Fragment(id) => {
                let fragment = self.pack_index.get(*id)?;
                Some(encoding::fragment(fragment.bytes(), &fragment.location()))
            }
            RowKey::Object(name) => self.current(name).map(encoding::object),
            RowKey::Upload(id) => self.uploads.get(id).map(encode),
            RowKey::Part(id, number) => self.uploads.get(id)?.parts.get(number).map(encoding::part),
            RowKey::Version(name, order) => self.old(name, *order).map(encoding::object),
        }
    }

    fn changed_rows(
        &self,
        changes: &[Change],
        fragments: &FragmentChanges,
    ) -> BTreeMap<RowKey, Option<Vec<u8>>> {
        let mut rows = BTreeMap::new();
        for change in changes {
            match change {
                Change::SetAccount { name, settings } => {
                    rows.insert(RowKey::Account(name.clone()), settings.as_deref().map(encode));
                }
                Change::SetContainer { account, name, settings } => {
                    let key = RowKey::Container(account.clone(), name.clone());
                    rows.insert(key, settings.as_deref().map(encode));
                }
                Change::SetObject { object_name, object } => {
                    rows.insert(RowKey::Object(object_name.clone()), object.as_ref().map(encoding::object));
                }
                Change::SetVersion { object_name, order, object } => {
                    let key = RowKey::Version(object_name.clone(), *order);
                    rows.insert(key, object.as_ref().map(encoding::object));
                }
                Change::SetUpload { id, upload } => {
                    rows.insert(RowKey::Upload(*id), upload.as_deref().map(encode));
                    let dropped = self.uploads.get(id).filter(|_| upload.is_none());
                    let parts = dropped.into_iter().flat_map(|upload| upload.parts.keys());
                    rows.extend(parts.map(|&number| (RowKey::Part(*id, number), None)));
                }
                Change::SetPart { id, number, part } => {
                    rows.insert(RowKey::Part(*id, *number), part.as_ref().map(encoding::part));
                }
                Change::MoveFragments { locations } => {
                    for (id, location) in locations {
                        let bytes = self.pack_index.get(*id).map_or(0, |fragment| fragment.bytes());
                        rows.insert(RowKey::Fragment(*id), Some(encoding::fragment(bytes, location)));
                    }
                }
            }
        }
        rows.extend(fragments.dropped.iter().map(|&id| (RowKey::Fragment(id), None)));
        for (&id, fragment) in &fragments.added {
            let row = encoding::fragment(fragment.bytes(), &fragment.location());
            rows.insert(RowKey::Fragment(id), Some(row));
        }
        rows
    }

    /// Loads the rows and claims the blocks that they refer to.
    pub(crate) fn load(
        mut rows: Vec<Row>,
        allocator: &Arc<Allocator>,
        block_bytes: usize,
    ) -> Result<Catalogue, OpenError> {
        rows.sort();
        let count = rows.len();
        let mut catalogue = Catalogue::default();
        let mut loader = Loader {
            allocator,
            block_bytes: block_bytes as u64,
            packs: BTreeMap::new(),
            fragments: BTreeMap::new(),
        };
        for (index, (key, value)) in rows.iter().enumerate() {
            let key = RowKey::parse(key);
            let corrupt = |why| OpenError::Corrupt {
                row: index + 1,
                rows: count,
                kind: key.as_ref().map_or("of no known kind", RowKey::kind),
                why,
            };
            let key = key.as_ref().ok_or_else(|| corrupt("has a key that cannot be read"))?;
            if index == 0 && *key != RowKey::Format {
                return Err(corrupt("is in the place of the format row"));
            }
            match key {
                RowKey::Format => loader.check_format(value, &corrupt)?,
                _ => {
                    loader.load(&mut catalogue, key, value).map_err(&corrupt)?;
                    if let Some(account) = account_of(key, &catalogue.uploads, &[]) {
                        catalogue.row_shares.add(account, &rows[index].0, value);
                    }
                }
            }
        }
        match loader.fragments.is_empty() {
            true => Ok(catalogue),
            false => Err(OpenError::Corrupt {
                row: count,
                rows: count,
                kind: "the last one",
                why: "leaves fragments that belong to no object",
            }),
        }
    }
}

struct Loader<'a> {
    allocator: &'a Arc<Allocator>,
    block_bytes: u64,
    /// The packs by their blocks, with the bytes that are in use.
    packs: BTreeMap<u64, (Arc<Pack>, BTreeMap<u64, u64>)>,
    /// The fragments that no object has claimed so far.
    fragments: BTreeMap<FragmentId, Arc<Fragment>>,
}

const UNREADABLE: &str = "cannot be decoded";
const NO_CONTAINER: &str = "belongs to a container that does not exist";

impl Loader<'_> {
    fn check_format(
        &self,
        value: &[u8],
        corrupt: &dyn Fn(&'static str) -> OpenError,
    ) -> Result<(), OpenError> {
        // Another format may have more fields in its row: unknown fields are skipped.
        let FormatRow { format: found, .. } = minicbor::decode(value).map_err(|_| corrupt(UNREADABLE))?;
        if found != FORMAT {
            return Err(OpenError::Format { found, known: FORMAT });
        }
        let row: FormatRow = encoding::decode(value).ok_or_else(|| corrupt(UNREADABLE))?;
        if row.block_bytes != self.block_bytes {
            return Err(OpenError::BlockBytes { found: row.block_bytes, block_bytes: self.block_bytes });
        }
        Ok(())
    }

    /// Loads one row. Rows come in the order of their keys: containers and fragments before objects, uploads before
    /// parts.
    fn load(&mut self, catalogue: &mut Catalogue, key: &RowKey, value: &[u8]) -> Result<(), &'static str> {
        match key {
            RowKey::Format => {}
            RowKey::Account(name) => {
                let settings = Some(Arc::new(read(value)?));
                catalogue.apply_stored(Change::SetAccount { name: name.clone(), settings });
            }
            RowKey::Container(account, name) => {
                let (account, name, settings) = (account.clone(), name.clone(), Some(Arc::new(read(value)?)));
                catalogue.apply_stored(Change::SetContainer { account, name, settings });
            }
            RowKey::Fragment(id) => {
                let fragment = self.fragment(*id, read(value)?)?;
                self.fragments.insert(*id, fragment);
            }
            RowKey::Object(name) => {
                let object = Arc::new(self.object(read(value)?)?);
                catalogue.container(&name.account, &name.container).map_err(|_| NO_CONTAINER)?;
                if object.version.is_marker {
                    return Err("is a delete marker, and its key stands for it");
                }
                let (object_name, object) = (name.clone(), Some(object));
                catalogue.apply_stored(Change::SetObject { object_name, object });
            }
            RowKey::Version(name, order) => self.load_version(catalogue, name, *order, value)?,
            RowKey::Upload(id) => {
                let upload: Box<Upload> = Box::new(read(value)?);
                catalogue.container(&upload.account, &upload.container).map_err(|_| NO_CONTAINER)?;
                catalogue.apply_stored(Change::SetUpload { id: *id, upload: Some(upload) });
            }
            RowKey::Part(id, number) => {
                let row: PartRow = read(value)?;
                let part = Part {
                    segment: self.segment(row.segment)?,
                    md5: row.md5,
                    checksum: row.checksum,
                    modified: row.modified,
                    crc64nvme: row.crc64nvme,
                };
                if !catalogue.uploads.contains_key(id) {
                    return Err("belongs to an upload that does not exist");
                }
                let (id, number, part) = (*id, *number, Some(Arc::new(part)));
                catalogue.apply_stored(Change::SetPart { id, number, part });
            }
        }
        Ok(())
    }

    /// Loads a version. The versions of a key come after its current object, the newest first.
    fn load_version(
        &mut self,
        catalogue: &mut Catalogue,
        name: &ObjectName,
        order: u64,
        value: &[u8],
    ) -> Result<(), &'static str> {
        let object = Arc::new(self.object(read(value)?)?);
        let container = catalogue.container(&name.account, &name.container).map_err(|_| NO_CONTAINER)?;
        if object.version.order != order {
            return Err("is not the version that its key names");
        }
        if container.versions(&name.key).next().is_some_and(|newest| newest.version.order <= order) {
            return Err("is no older than what its key stands for");
        }
        let (object_name, object) = (name.clone(), Some(object));
        catalogue.apply_stored(Change::SetVersion { object_name, order, object });
        Ok(())
    }

    fn object(&mut self, row: ObjectRow) -> Result<Object, &'static str> {
        let version = row.version.unwrap_or_default();
        if version.order > MAX_ORDER {
            return Err("has a place among its versions that is out of range");
        }
        let segments: Result<Vec<_>, _> =
            row.segments.into_iter().map(|segment| self.segment(segment)).collect();
        let segments = segments?;
        if version.is_marker && !segments.is_empty() {
            return Err("is a delete marker, and holds bytes");
        }
        Ok(Object {
            details: row.details,
            etag: row.etag,
            checksum: row.checksum,
            modified: row.modified,
            segments,
            completed: row.completed.map(Arc::new),
            version,
        })
    }

    fn segment(&mut self, row: SegmentRow) -> Result<Arc<Segment>, &'static str> {
        if let Some(id) = row.fragment {
            let fragment =
                self.fragments.remove(&FragmentId(id)).ok_or("names bytes that it does not have")?;
            if fragment.bytes() != row.bytes || !row.runs.is_empty() {
                return Err("names bytes that are not its own");
            }
            return Ok(Arc::new(Segment { bytes: row.bytes, place: SegmentPlace::Fragment(fragment) }));
        }
        let allocation = self.allocator.claim(row.runs).ok_or(TAKEN)?;
        if allocation.len() < row.bytes.div_ceil(self.block_bytes) {
            return Err("has more bytes than its blocks hold");
        }
        Ok(Arc::new(Segment { bytes: row.bytes, place: SegmentPlace::Blocks(vec![Arc::new(allocation)]) }))
    }

    fn fragment(&mut self, id: FragmentId, row: FragmentRow) -> Result<Arc<Fragment>, &'static str> {
        let (block, offset, bytes) = match row {
            FragmentRow::Waiting(bytes) => {
                return Ok(Fragment::new(id, bytes.len() as u64, Location::Waiting(bytes.into())));
            }
            FragmentRow::Packed { block, offset, bytes } => (block, offset, bytes),
        };
        let end = offset.checked_add(bytes).filter(|&end| end <= self.block_bytes);
        let end = end.ok_or("does not lie within a block")?;
        if !self.packs.contains_key(&block) {
            let allocation = self.allocator.claim(vec![Run { start: block, blocks: 1 }]).ok_or(TAKEN)?;
            self.packs.insert(block, (Pack::new(allocation), BTreeMap::new()));
        }
        let (pack, taken) = self.packs.get_mut(&block).ok_or(TAKEN)?;
        if taken.range(..end).next_back().is_some_and(|(_, &taken_end)| taken_end > offset) {
            return Err("lies where another one does");
        }
        taken.insert(offset, end);
        Ok(Fragment::new(id, bytes, Location::Packed { pack: Arc::clone(pack), offset }))
    }
}

const TAKEN: &str = "names a block that another row holds or that does not exist";

fn read<'b, T: minicbor::Decode<'b, ()>>(value: &'b [u8]) -> Result<T, &'static str> {
    encoding::decode(value).ok_or(UNREADABLE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::catalogue::{Completed, Details, UnixMillis, UploadId, Version};
    use proptest::prelude::*;

    const ACCOUNT: &str = "a";

    fn object_name(key: &str) -> ObjectName {
        ObjectName::new(ACCOUNT, "c", key)
    }

    proptest! {
        #[test]
        fn any_bytes_as_rows_are_an_error_or_a_catalogue_but_never_a_panic(
            rows in prop::collection::vec((prop::collection::vec(any::<u8>(), 0..30), prop::collection::vec(any::<u8>(), 0..120)), 0..6),
        ) {
            let mut rows = rows;
            rows.extend(first_rows(16).into_iter().map(|(key, value)| (key, value.expect("added"))));
            let allocator = Allocator::new(50);
            let _ = Catalogue::load(rows, &allocator, 16);
        }

        #[test]
        fn a_flipped_byte_never_gives_a_block_two_holders(place in any::<prop::sample::Index>(), flip in 1u8..) {
            let allocator = Allocator::new(50);
            let segment = |n, bytes| Arc::new(Segment { bytes, place: SegmentPlace::Blocks(vec![Arc::new(allocator.allocate(n).expect("free"))]) });
            let object = |n| Arc::new(Object {
                details: Details { delete_at: Some(UnixMillis(9)), ..Details::default() },
                etag: "0".repeat(32),
                modified: UnixMillis(5),
                segments: vec![segment(n, n * 16), segment(n, n * 16)],
                completed: Some(Arc::new(Completed { upload: UploadId([3; 16]), checksums: [1; 8].into() })),
                version: Version { order: n, salt: Some(n), is_marker: false },
                ..Object::default()
            });
            let changes = vec![
                Change::SetContainer { account: ACCOUNT.into(), name: "c".into(), settings: Some(Arc::default()) },
                Change::SetObject { object_name: object_name("one"), object: Some(object(3)) },
                Change::SetObject { object_name: object_name("two"), object: Some(object(5)) },
                Change::SetVersion { object_name: object_name("two"), order: 4, object: Some(object(4)) },
                Change::SetVersion { object_name: object_name("two"), order: 2, object: Some(object(2)) },
            ];
            let new_rows = Catalogue::default().plan(changes).new_rows;
            let mut rows: Vec<_> = first_rows(16).into_iter().chain(new_rows)
                .map(|(key, value)| (key, value.expect("added"))).collect();
            let total: usize = rows.iter().map(|(_, value)| value.len()).sum();
            let mut place = place.index(total);
            for (_, value) in &mut rows {
                if place < value.len() {
                    value[place] ^= flip;
                    break;
                }
                place -= value.len();
            }
            let fresh = Allocator::new(50);
            if let Ok(loaded) = Catalogue::load(rows, &fresh, 16) {
                let mut held: Vec<u64> = loaded.accounts.values().flat_map(|account| account.containers.values())
                    .flat_map(|container| container.objects.values().chain(container.history.values().flat_map(BTreeMap::values)))
                    .flat_map(|object| &object.segments).flat_map(|segment| segment.block_numbers()).collect();
                let count = held.len();
                held.sort_unstable();
                held.dedup();
                prop_assert_eq!(held.len(), count);
                prop_assert_eq!(fresh.free_blocks(), 50 - count as u64);
            }
        }
    }

    #[test]
    fn a_newer_format_is_named_not_misread() {
        let mut newer = Vec::new();
        let mut encoder = minicbor::Encoder::new(&mut newer);
        let written =
            encoder.map(3).and_then(|map| map.u8(0)?.u32(2)?.u8(1)?.u64(16)?.u8(2)?.str("and more"));
        written.expect("in memory");
        let loaded = Catalogue::load(vec![(RowKey::Format.bytes(), newer)], &Allocator::new(5), 16);
        assert!(matches!(loaded, Err(OpenError::Format { found: 2, known: 1 })));
    }
}
