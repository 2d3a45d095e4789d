//! The fast store: each bucket in place, in its newest version only.

use super::blob_map::BlobMap;
use crate::blobs::{Blob, BlobError, Blobs, Inventory};
use crate::requests::version_of;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::{Bucket, Bytes, Version};
use std::cell::RefCell;

/// The number of bytes before each bucket that hold its version: counter, epoch, 4 unused.
///
/// The bytes are next to the bucket, not in a table of their own, so that a read touches one page and not two.
const HEAD: usize = 16;

/// Untrusted memory that keeps one version of each bucket, in place, in one contiguous buffer per extent.
///
/// Reading and writing allocate nothing. A read of a version other than the one held is
/// [`UntrustedError::Missing`]. Memory is taken from the system zeroed, and becomes resident as buckets are written:
/// the sealed buckets and 16 bytes for each.
///
/// It cannot undo a write, so it suits benches and simulations, not a vault that must recover.
#[derive(Debug)]
pub struct DenseMemory {
    layout: Layout,
    regions: Vec<Region>,
    blobs: RefCell<BlobMap>,
}

#[derive(Debug)]
struct Region {
    first: u64,
    extent: Extent,
    slot_bytes: usize,
    bucket_bytes: usize,
    data: RefCell<Vec<u8>>,
}

impl Region {
    fn holds(&self, bucket: Bucket) -> bool {
        bucket.0.wrapping_sub(self.first) < self.extent.buckets
    }

    /// The place where the bucket's head begins.
    fn start(&self, bucket: Bucket) -> usize {
        (bucket.0 - self.first) as usize * (HEAD + self.bucket_bytes)
    }
}

impl DenseMemory {
    /// Memory of this shape, with nothing written. `layout` holds sealed sizes.
    ///
    /// # Panics
    /// If the whole does not fit this machine's address space.
    pub fn new(layout: Layout) -> Self {
        let mut first = 0;
        let mut regions = Vec::with_capacity(layout.extents().len());
        for extent in layout.extents() {
            let slot_bytes = extent.slot_bytes as usize;
            let bucket_bytes = slot_bytes * extent.slots as usize;
            let bytes = usize::try_from(extent.buckets)
                .ok()
                .and_then(|buckets| buckets.checked_mul(HEAD + bucket_bytes))
                .expect("the extent fits the address space");
            regions.push(Region {
                first,
                extent: *extent,
                slot_bytes,
                bucket_bytes,
                data: RefCell::new(vec![0; bytes]),
            });
            first += extent.buckets;
        }
        DenseMemory { layout, regions, blobs: RefCell::default() }
    }

    /// The region of a bucket. Calls name buckets in or near the order of the layout, so the last region and the one
    /// after it are tried first.
    fn region(&self, bucket: Bucket, last: &mut usize) -> &Region {
        let near = *last..self.regions.len().min(*last + 2);
        for index in near {
            if self.regions[index].holds(bucket) {
                *last = index;
                return &self.regions[index];
            }
        }
        let after = self.regions.partition_point(|region| region.first <= bucket.0);
        // An empty extent has the same first bucket as the next extent, and comes before it.
        let index = after
            .checked_sub(1)
            .filter(|index| self.regions[*index].holds(bucket))
            .unwrap_or_else(|| panic!("{bucket} lies outside of the layout"));
        *last = index;
        &self.regions[index]
    }
}

fn follows(one: &Place, next: &Place) -> bool {
    one.slot.bucket == next.slot.bucket
        && one.version == next.version
        && one.slot.index + 1 == next.slot.index
}

fn version_at(data: &[u8], start: usize) -> Version {
    let head: &[u8; HEAD] = data[start..start + HEAD].try_into().expect("a head is 16 bytes");
    let (counter, rest) = head.split_first_chunk::<8>().expect("a head is 16 bytes");
    let epoch = rest.first_chunk::<4>().expect("a head is 16 bytes");
    Version { epoch: u32::from_le_bytes(*epoch), counter: u64::from_le_bytes(*counter) }
}

fn set_version(data: &mut [u8], start: usize, version: Version) {
    data[start..start + 8].copy_from_slice(&version.counter.to_le_bytes());
    data[start + 8..start + 12].copy_from_slice(&version.epoch.to_le_bytes());
}

impl Untrusted for DenseMemory {
    fn layout(&self) -> &Layout {
        &self.layout
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        // All heads are read before any slot: they are far apart, so memory fetches them in parallel.
        let mut last = 0;
        for place in places {
            let region = self.region(place.slot.bucket, &mut last);
            let held = version_at(&region.data.borrow(), region.start(place.slot.bucket));
            if place.version.is_never() || held != place.version {
                return Err(UntrustedError::Missing(version_of(place)));
            }
        }
        let mut last = 0;
        let mut rest = into;
        // Slots that follow one another in their bucket are one copy: a whole bucket costs little more than a slot.
        for run in places.chunk_by(follows) {
            let first = &run[0];
            let region = self.region(first.slot.bucket, &mut last);
            let data = region.data.borrow();
            let start = region.start(first.slot.bucket);
            let index = first.slot.index as usize;
            assert!(
                index + run.len() <= region.extent.slots as usize,
                "{} or a slot after it lies outside of its bucket",
                first.slot
            );
            let from = start + HEAD + index * region.slot_bytes;
            let (slots, after) = rest.split_at_mut(run.len() * region.slot_bytes);
            slots.copy_from_slice(&data[from..from + slots.len()]);
            rest = after;
        }
        assert!(rest.is_empty(), "the buffer must be exactly the wanted slots' lengths");
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let mut last = 0;
        let mut rest = from;
        for written in buckets {
            let region = self.region(written.bucket, &mut last);
            let mut data = region.data.borrow_mut();
            let start = region.start(written.bucket);
            let (bucket, after) = rest.split_at(region.bucket_bytes);
            set_version(&mut data, start, written.version);
            data[start + HEAD..start + HEAD + region.bucket_bytes].copy_from_slice(bucket);
            rest = after;
        }
        assert!(rest.is_empty(), "the buffer must be exactly the buckets' lengths");
        Ok(())
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let mut last = 0;
        for deleted in buckets {
            let region = self.region(deleted.bucket, &mut last);
            let mut data = region.data.borrow_mut();
            let start = region.start(deleted.bucket);
            if version_at(&data, start) == deleted.version {
                set_version(&mut data, start, Version::NEVER);
            }
        }
        Ok(())
    }
}

impl Blobs for DenseMemory {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.blobs.borrow_mut().put(name, bytes)
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        self.blobs.borrow_mut().put_if_absent(name, bytes)
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.blobs.borrow().get(name, max)
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        Ok(self.blobs.borrow().list(prefix))
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.blobs.borrow_mut().remove(name)
    }
}

impl Inventory for DenseMemory {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        for region in &self.regions {
            for number in region.first..region.first + region.extent.buckets {
                let bucket = Bucket(number);
                let version = version_at(&region.data.borrow(), region.start(bucket));
                if !version.is_never() {
                    found(BucketVersion { bucket, version }, Bytes(region.bucket_bytes as u64));
                }
            }
        }
        Ok(0)
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        Ok(0)
    }
}
