//! The meter's figures are the same as a count by hand.

use crate::common::{bytes, layout, place, version};
use ameles_core::store::Untrusted;
use ameles_store::{Blobs, Inventory, Meter, PriceTable, Usage, VersionedMemory};

#[tokio::test]
async fn requests_bytes_and_what_is_stored_are_counted_as_by_hand() {
    let store = Meter::new(VersionedMemory::new(layout()));
    let reader = store.reader();
    let (old, new, other) = (version(1, 1), version(1, 2), version(5, 2));
    store.write(&[old, other], &[bytes(old), bytes(other)].concat()).await.unwrap();
    store.write(&[new], &bytes(new)).await.unwrap();
    // The identical write again costs a request and stores nothing more.
    store.write(&[new], &bytes(new)).await.unwrap();
    // Slots 0 and 1 are one range, slot 3 another, the other bucket a third.
    let places = [place(1, 2, 0), place(1, 2, 1), place(1, 2, 3), place(5, 2, 0)];
    store.read(&places, &mut [0; 40]).await.unwrap();
    // A failed read is a request that brought nothing.
    assert!(store.read(&[place(0, 9, 0)], &mut [0; 8]).await.is_err());
    store.put("header", &[0; 100]).await.unwrap();
    store.put("header", &[0; 60]).await.unwrap();
    assert!(!store.put_if_absent("header", &[0; 7]).await.unwrap());
    assert_eq!(store.get("header", 60).await.unwrap().unwrap().len(), 60);
    assert_eq!(store.get("absent", 60).await.unwrap(), None);
    store.delete(&[old, version(9, 9)]).await.unwrap();

    let expected = Usage {
        slot_reads: 4,
        bucket_writes: 4,
        bucket_deletes: 2,
        blob_reads: 2,
        blob_writes: 3,
        blob_deletes: 0,
        lists: 0,
        bytes_up: 4 * 32 + 100 + 60 + 7,
        bytes_down: 40 + 60,
        stored_bytes: 2 * 32 + 60,
        stored_objects: 3,
        max_stored_bytes: 3 * 32 + 100,
    };
    assert_eq!(reader.usage(), expected);
    assert_eq!(reader.usage().requests(), 4 + 4 + 2 + 2 + 3);

    let before = reader.usage();
    store.remove("header").await.unwrap();
    store.list("").await.unwrap();
    let passed = reader.usage().since(&before);
    assert_eq!((passed.blob_deletes, passed.lists, passed.requests()), (1, 1, 2));
    assert_eq!((passed.stored_bytes, passed.stored_objects), (64, 2));
}

#[tokio::test]
async fn a_meter_takes_stock_of_what_is_there_already() {
    let below = VersionedMemory::new(layout());
    let of = version(3, 1);
    below.write(&[of], &bytes(of)).await.unwrap();
    below.put("header", &[0; 5]).await.unwrap();
    let store = Meter::new(below);
    store.count_existing().await.unwrap();
    let usage = store.reader().usage();
    assert_eq!((usage.stored_bytes, usage.stored_objects, usage.lists), (37, 2, 2));
    store.delete(&[of]).await.unwrap();
    assert_eq!(store.reader().usage().stored_bytes, 5);
}

#[tokio::test]
async fn a_list_is_charged_by_the_page() {
    let store = Meter::new(VersionedMemory::new(layout()));
    for counter in 1..=1001 {
        store.write(&[version(0, counter)], &[0; 32]).await.unwrap();
    }
    store.list_bucket_versions(&mut |_, _| {}).await.unwrap();
    assert_eq!(store.reader().usage().lists, 2);
    let prices = PriceTable::shipped();
    let bill = prices.get("s3-standard").unwrap().bill(&store.reader().usage());
    // 1001 puts and 2 lists at 0.005 dollars per 1000, and 1001 * 32 bytes at 0.023 dollars per 2^30.
    assert!((bill.requests - 1003.0 * 0.000_005).abs() < 1e-12);
    assert!((bill.storage_per_month - 1001.0 * 32.0 * 0.023 / 1_073_741_824.0).abs() < 1e-15);
}
