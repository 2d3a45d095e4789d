//! Guarantees of every store, tested with memory, an object store in memory, and files.

use crate::common::{BUCKET, bytes, layout, place, version};
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::{Extent, Layout};
use ameles_core::types::Bucket;
use ameles_store::{BlobError, Blobs, DenseMemory, Inventory, Objects, OpenOptions, VersionedMemory};
use proptest::prelude::*;
use tempfile::TempDir;

async fn files() -> (TempDir, Objects) {
    let home = tempfile::tempdir().unwrap();
    let location = format!("file://{}/store", home.path().display());
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    let objects = Objects::open(&location, &options).await.unwrap().with_layout(layout());
    (home, objects)
}

/// The same after this bucket was written.
async fn files_with(of: BucketVersion) -> (TempDir, Objects) {
    let (home, objects) = files().await;
    objects.write(&[of], &bytes(of)).await.unwrap();
    (home, objects)
}

async fn in_memory() -> Objects {
    let objects = Objects::open("memory:", &OpenOptions::default()).await.unwrap();
    objects.with_layout(layout())
}

async fn read<const N: usize>(store: &impl Untrusted, place: Place) -> [u8; N] {
    let mut into = [0; N];
    store.read(&[place], &mut into).await.unwrap();
    into
}

/// Checks what every store that keeps versions promises.
macro_rules! check_stores_with_versions {
    ($check:path) => {
        $check(VersionedMemory::new(layout())).await;
        $check(in_memory().await).await;
        $check(files().await.1).await;
    };
}

async fn versions_exist_side_by_side(store: impl Untrusted) {
    let (old, new, other) = (version(1, 1), version(1, 2), version(7, 3));
    store.write(&[old, other], &[bytes(old), bytes(other)].concat()).await.unwrap();
    store.write(&[new], &bytes(new)).await.unwrap();
    let places = [place(1, 2, 3), place(7, 3, 1), place(1, 1, 3), place(1, 1, 0)];
    let mut into = [0; 8 + 16 + 8 + 8];
    store.read(&places, &mut into).await.unwrap();
    let expected = [&bytes(new)[24..], &bytes(other)[16..], &bytes(old)[24..], &bytes(old)[..8]].concat();
    assert_eq!(into[..], expected);

    store.delete(&[old, version(2, 9)]).await.unwrap();
    store.delete(&[old]).await.unwrap();
    let gone = store.read(&[place(1, 2, 0), place(1, 1, 0)], &mut [0; 16]).await;
    assert!(matches!(gone, Err(UntrustedError::Missing(of)) if of == old), "{gone:?}");
    assert_eq!(read::<8>(&store, place(1, 2, 1)).await, bytes(new)[8..16]);
}

#[tokio::test]
async fn versions_exist_side_by_side_in_every_store_that_keeps_them() {
    check_stores_with_versions!(versions_exist_side_by_side);
}

async fn the_same_write_again_changes_nothing(store: impl Untrusted + Inventory) {
    let of = version(5, 4);
    store.write(&[of], &bytes(of)).await.unwrap();
    store.write(&[of], &bytes(of)).await.unwrap();
    assert_eq!(read::<16>(&store, place(5, 4, 1)).await, bytes(of)[16..]);
    let mut found = Vec::new();
    let unknown = store.list_bucket_versions(&mut |of, size| found.push((of, size.0))).await;
    assert_eq!(unknown.unwrap(), 0);
    assert_eq!(found, [(of, BUCKET as u64)]);
}

#[tokio::test]
async fn the_same_write_again_changes_nothing_in_any_store() {
    the_same_write_again_changes_nothing(DenseMemory::new(layout())).await;
    check_stores_with_versions!(the_same_write_again_changes_nothing);
}

async fn other_bytes_under_a_name_are_refused_and_change_nothing(store: impl Untrusted) {
    let (there, new) = (version(5, 4), version(6, 4));
    store.write(&[there], &bytes(there)).await.unwrap();
    let other: Vec<u8> = bytes(there).iter().map(|byte| byte ^ 1).collect();
    let taken = store.write(&[new, there], &[bytes(new), other].concat()).await;
    assert!(matches!(taken, Err(UntrustedError::Taken(of)) if of == there), "{taken:?}");
    assert_eq!(read::<16>(&store, place(5, 4, 1)).await, bytes(there)[16..]);
}

#[tokio::test]
async fn other_bytes_under_a_name_are_refused_by_every_store_that_keeps_versions() {
    check_stores_with_versions!(other_bytes_under_a_name_are_refused_and_change_nothing);
    let (home, objects) = files().await;
    // An object that was cut short is another one.
    let of = version(7, 1);
    objects.write(&[of], &bytes(of)).await.unwrap();
    let file = "store/buckets/0000000000/000/007-00000001-0000000000000001";
    let file = std::fs::OpenOptions::new().write(true).open(home.path().join(file));
    file.unwrap().set_len(5).unwrap();
    let taken = objects.write(&[of], &bytes(of)).await;
    assert!(matches!(taken, Err(UntrustedError::Taken(found)) if found == of), "{taken:?}");
}

#[tokio::test]
async fn dense_memory_holds_the_newest_version_and_calls_every_other_missing() {
    let store = DenseMemory::new(layout());
    let never = store.read(&[place(0, 1, 0)], &mut [0; 8]).await;
    assert!(matches!(never, Err(UntrustedError::Missing(_))));
    let version_0 = store.read(&[place(0, 0, 0)], &mut [0; 8]).await;
    assert!(matches!(version_0, Err(UntrustedError::Missing(_))));
    for bucket in (0..12).rev() {
        let (old, new) = (version(bucket, 1), version(bucket, 2));
        store.write(&[old], &bytes(old)).await.unwrap();
        store.write(&[new], &bytes(new)).await.unwrap();
        let gone = store
            .read(&[place(bucket, 1, 0)], &mut vec![0; layout().slot_bytes(place(bucket, 1, 0).slot)])
            .await;
        assert!(matches!(gone, Err(UntrustedError::Missing(of)) if of == old));
        store.delete(&[old]).await.unwrap();
    }
    // Reads that jump back and forth between the extents find the right bucket.
    for (bucket, slot) in [(3, 3), (4, 0), (11, 1), (0, 0), (10, 0), (2, 1)] {
        let place = place(bucket, 2, slot);
        let len = layout().slot_bytes(place.slot);
        let mut into = vec![0; len];
        store.read(&[place], &mut into).await.unwrap();
        let from = slot as usize * len;
        assert_eq!(into, bytes(version(bucket, 2))[from..from + len]);
    }
    store.delete(&[version(3, 2)]).await.unwrap();
    let gone = store.read(&[place(3, 2, 0)], &mut [0; 8]).await;
    assert!(matches!(gone, Err(UntrustedError::Missing(_))));
}

/// Writes each bucket's versions up to its counter, and reads the places.
async fn read_newest(store: impl Untrusted, counters: &[u64], places: &[Place], len: usize) -> Vec<u8> {
    for (bucket, newest) in counters.iter().enumerate() {
        for counter in 1..=*newest {
            let of = version(bucket as u64, counter);
            store.write(&[of], &bytes(of)).await.unwrap();
        }
    }
    let mut into = vec![0; len];
    store.read(places, &mut into).await.unwrap();
    into
}

proptest! {
    #[test]
    fn every_store_reads_the_same_places_alike(
        counts in prop::collection::vec((0u64..12, 0u32..4), 0..40),
        counters in prop::collection::vec(1u64..4, 12),
    ) {
        let places: Vec<_> = counts
            .iter()
            .map(|(bucket, slot)| place(*bucket, counters[*bucket as usize], if *bucket < 4 { *slot } else { slot % 2 }))
            .collect();
        let len = places.iter().map(|place| layout().slot_bytes(place.slot)).sum();
        let expected: Vec<u8> = places
            .iter()
            .flat_map(|place| {
                let slot = layout().slot_bytes(place.slot);
                let all = bytes(version(place.slot.bucket.0, place.version.counter));
                all[place.slot.index as usize * slot..][..slot].to_vec()
            })
            .collect();
        futures::executor::block_on(async {
            assert_eq!(read_newest(DenseMemory::new(layout()), &counters, &places, len).await, expected);
            assert_eq!(read_newest(VersionedMemory::new(layout()), &counters, &places, len).await, expected);
            assert_eq!(read_newest(in_memory().await, &counters, &places, len).await, expected);
        });
    }
}

#[tokio::test]
#[should_panic(expected = "outside of the layout")]
async fn a_bucket_outside_of_the_layout_is_a_bug_and_no_answer() {
    let store = DenseMemory::new(layout());
    let _ = store.read(&[place(12, 1, 0)], &mut [0; 16]).await;
}

#[tokio::test]
async fn an_object_that_is_too_short_is_truncated_and_not_missing() {
    // The same objects under a layout of shorter buckets write buckets that are too short for the other.
    let short = Layout::new(vec![Extent { buckets: 12, slots: 1, slot_bytes: 20 }]);
    let (_home, in_files) = files().await;
    for objects in [in_memory().await, in_files] {
        let of = version(1, 1);
        objects.with_layout(short.clone()).write(&[of], &[7; 20]).await.unwrap();
        let mut into = [0; 16];
        objects.read(&[place(1, 1, 0), place(1, 1, 1)], &mut into).await.unwrap();
        assert_eq!(into, [7; 16]);
        for slot in [2, 3] {
            let cut = objects.read(&[place(1, 1, slot)], &mut [0; 8]).await;
            assert!(matches!(cut, Err(UntrustedError::Truncated(cut)) if cut == of), "{cut:?}");
        }
        let both = objects.read(&[place(1, 1, 0), place(1, 1, 3)], &mut [0; 16]).await;
        assert!(matches!(both, Err(UntrustedError::Truncated(_))), "{both:?}");
    }
}

#[tokio::test]
async fn a_file_cut_to_nothing_is_truncated() {
    let of = version(2, 1);
    let (home, objects) = files_with(of).await;
    let path = home.path().join("store/buckets/0000000000/000/002-00000001-0000000000000001");
    assert_eq!(std::fs::read(&path).unwrap(), bytes(of));
    std::fs::write(&path, b"").unwrap();
    let cut = objects.read(&[place(2, 1, 0)], &mut [0; 8]).await;
    assert!(matches!(cut, Err(UntrustedError::Truncated(_))), "{cut:?}");
}

#[tokio::test]
async fn what_was_written_is_there_after_reopening() {
    let of = version(11, 5);
    let (home, objects) = files_with(of).await;
    objects.put("header", b"hello").await.unwrap();
    drop(objects);
    let path = home.path().join("store");
    let again = Objects::open(path.to_str().unwrap(), &OpenOptions::default()).await.unwrap();
    assert_eq!(again.get("header", 5).await.unwrap().unwrap(), b"hello");
    assert_eq!(read::<16>(&again.with_layout(layout()), place(11, 5, 0)).await, bytes(of)[..16]);
}

#[tokio::test]
async fn a_folder_that_went_away_is_refused_and_not_made_again() {
    let (home, objects) = files().await;
    std::fs::remove_dir_all(home.path().join("store")).unwrap();
    let gone = objects.write(&[version(0, 1)], &[0; BUCKET]).await;
    assert!(matches!(gone, Err(UntrustedError::Refused(_))), "{gone:?}");
    assert!(!home.path().join("store").exists());
}

async fn blobs_are_created_once_and_listed_by_prefix(store: impl Blobs) {
    assert!(store.put_if_absent("epochs/1", b"one").await.unwrap());
    assert!(!store.put_if_absent("epochs/1", b"two").await.unwrap());
    assert_eq!(store.get("epochs/1", 100).await.unwrap().unwrap(), b"one");
    store.put("epochs/1", b"three").await.unwrap();
    assert_eq!(store.get("epochs/1", 5).await.unwrap().unwrap(), b"three");
    let large = store.get("epochs/1", 4).await;
    assert!(matches!(large, Err(BlobError::TooLarge { max: 4, .. })), "{large:?}");
    assert_eq!(store.get("epochs/2", 100).await.unwrap(), None);

    for name in ["epochs/12", "epochs/2", "header", "epochs-old"] {
        store.put(name, name.as_bytes()).await.unwrap();
    }
    let names = async |prefix: &str| {
        let listed = store.list(prefix).await.unwrap();
        listed.into_iter().map(|blob| (blob.name, blob.size.0)).collect::<Vec<_>>()
    };
    let named = |name: &str, size| (name.to_owned(), size);
    assert_eq!(
        names("").await,
        [
            named("epochs-old", 10),
            named("epochs/1", 5),
            named("epochs/12", 9),
            named("epochs/2", 8),
            named("header", 6)
        ]
    );
    assert_eq!(names("epochs/1").await, [named("epochs/1", 5), named("epochs/12", 9)]);
    assert_eq!(names("epochs").await.len(), 4);
    assert_eq!(names("nothing/").await, []);

    store.remove("epochs/1").await.unwrap();
    store.remove("epochs/1").await.unwrap();
    assert_eq!(store.get("epochs/1", 100).await.unwrap(), None);
    assert!(store.put_if_absent("epochs/1", b"").await.unwrap());
    assert_eq!(store.get("epochs/1", 0).await.unwrap().unwrap(), b"");
    assert!(matches!(store.put("../out", b"x").await, Err(BlobError::BadName { .. })));
    assert!(matches!(store.get("/abs", 1).await, Err(BlobError::BadName { .. })));
}

#[tokio::test]
async fn blobs_are_created_once_and_listed_by_prefix_in_every_store() {
    blobs_are_created_once_and_listed_by_prefix(DenseMemory::new(layout())).await;
    blobs_are_created_once_and_listed_by_prefix(VersionedMemory::new(layout())).await;
    blobs_are_created_once_and_listed_by_prefix(in_memory().await).await;
    let (_home, objects) = files().await;
    blobs_are_created_once_and_listed_by_prefix(objects).await;
}

#[tokio::test]
async fn of_many_creators_of_one_blob_exactly_one_is_told_so() {
    let (_home, objects) = files().await;
    let creations = (0..16).map(|creator: u8| {
        let objects = objects.clone();
        async move { objects.put_if_absent("epochs/7", &[creator; 64]).await.unwrap() }
    });
    let created = futures::future::join_all(creations).await;
    assert_eq!(created.iter().filter(|created| **created).count(), 1);
    let winner = created.iter().position(|created| *created).unwrap();
    assert_eq!(objects.get("epochs/7", 64).await.unwrap().unwrap(), vec![winner as u8; 64]);
}

#[tokio::test]
async fn the_inventory_lists_versions_and_counts_unknown_names_and_the_sweep_removes_only_temporary_files() {
    let (home, objects) = files().await;
    let mut written: Vec<_> = (0..12).flat_map(|bucket| [version(bucket, 1), version(bucket, 2)]).collect();
    let all: Vec<u8> = written.iter().flat_map(|of| bytes(*of)).collect();
    objects.write(&written, &all).await.unwrap();
    let folder = home.path().join("store/buckets/0000000000/000");
    std::fs::write(folder.join("notes.txt"), "x").unwrap();
    std::fs::write(folder.join("003-00000001-0000000000000009#1"), "half").unwrap();
    std::fs::create_dir_all(home.path().join("store/blobs")).unwrap();
    std::fs::write(home.path().join("store/blobs/header#12"), "half").unwrap();

    let mut found = Vec::new();
    let unknown = objects.list_bucket_versions(&mut |of, size| found.push((of, size.0))).await.unwrap();
    found.sort();
    written.sort();
    assert_eq!(found, written.iter().map(|of| (*of, BUCKET as u64)).collect::<Vec<_>>());
    assert_eq!(unknown, 1);

    assert_eq!(objects.sweep_unfinished().await.unwrap(), 2);
    assert_eq!(objects.sweep_unfinished().await.unwrap(), 0);
    assert!(folder.join("notes.txt").exists());
    assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 25);
}

#[test]
fn files_need_no_runtime() {
    let home = tempfile::tempdir().unwrap();
    futures::executor::block_on(async {
        let location = home.path().to_str().unwrap();
        let objects = Objects::open(location, &OpenOptions::default()).await.unwrap();
        versions_exist_side_by_side(objects.with_layout(layout())).await;
        blobs_are_created_once_and_listed_by_prefix(objects).await;
    });
}

#[tokio::test]
async fn each_kind_of_tampering_changes_what_is_read() {
    let store = VersionedMemory::new(layout());
    let (old, new, other) = (version(1, 1), version(1, 2), version(2, 3));
    for of in [old, new, other] {
        store.write(&[of], &bytes(of)).await.unwrap();
    }
    assert_eq!(store.versions(Bucket(1)), [old.version, new.version]);
    let before = store.snapshot();

    store.flip(new, 9, 0x80);
    let mut into = [0; 8];
    store.read(&[place(1, 2, 1)], &mut into).await.unwrap();
    assert_eq!(into[1], bytes(new)[9] ^ 0x80);

    store.restore(&before);
    store.swap(new, other);
    assert_eq!(store.bucket(new).unwrap(), bytes(other));
    assert_eq!(store.bucket(other).unwrap(), bytes(new));

    store.restore(&before);
    store.replay(Bucket(1), old.version, new.version);
    assert_eq!(store.bucket(new).unwrap(), bytes(old));

    store.restore(&before);
    store.truncate(new, 31);
    assert!(store.read(&[place(1, 2, 2)], &mut into).await.is_ok());
    let cut = store.read(&[place(1, 2, 3)], &mut into).await;
    assert!(matches!(cut, Err(UntrustedError::Truncated(_))));

    store.remove(new);
    let gone = store.read(&[place(1, 2, 3)], &mut into).await;
    assert!(matches!(gone, Err(UntrustedError::Missing(_))));

    let other_handle = store.clone();
    other_handle.restore(&before);
    assert_eq!(store.bucket(new).unwrap(), bytes(new));
    store.put("header", b"abc").await.unwrap();
    store.tamper_blob("header", |blob| blob[0] = b'x');
    assert_eq!(other_handle.get("header", 3).await.unwrap().unwrap(), b"xbc");
}

#[tokio::test]
#[should_panic(expected = "not there to tamper with")]
async fn tampering_with_nothing_is_a_broken_test() {
    VersionedMemory::new(layout()).flip(version(0, 1), 0, 1);
}
