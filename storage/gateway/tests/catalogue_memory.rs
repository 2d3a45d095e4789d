//! The memory of a catalogue as a multiple of its rows on the device. An allocator counts every allocated byte.

#![allow(clippy::print_stdout, reason = "the figures are what the bound is taken from")]

use ameles_gateway::catalogue::{ContainerSettings, Details, MEMORY_PER_ROW_BYTE, Versioning};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, Device, FIRST_ACCOUNT, Gateway, Options};
use bytes::Bytes;
use peak_alloc::PeakAlloc;
use std::sync::Arc;

#[global_allocator]
static COUNTED: PeakAlloc = PeakAlloc;

const BLOCK: usize = 4 << 10;
const OBJECTS: u64 = 3000;

async fn put(gateway: &Gateway, account: &Account, key: &str, body: &[u8], details: Details) {
    let mut writer = gateway.writer(Some(body.len() as u64), None).expect("room");
    if !body.is_empty() {
        writer.push(Bytes::copy_from_slice(body)).await.expect("pushed");
    }
    let written = writer.finish().await.expect("written");
    account.link("c", key, written, details, WriteConditions::default()).await.expect("put");
}

/// The bytes that a catalogue of these objects takes in memory, and the bytes of its rows as the device counts them.
async fn measured(kind: &str, body: &[u8], metadata: usize, versioned: bool) -> (u64, u64) {
    let device = Arc::new(MemoryDevice::new(BLOCK, 2 * OBJECTS, 8));
    let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.expect("opened");
    let account = gateway.account(FIRST_ACCOUNT);
    let versioning = versioned.then_some(Versioning::Enabled);
    let settings = ContainerSettings { versioning, ..ContainerSettings::default() };
    account.create_container("c", settings).await.expect("made");
    for number in 0..OBJECTS {
        let key = if versioned { (number % 3).to_string() } else { number.to_string() };
        let metadata = (metadata > 0).then(|| ("m".to_owned(), "x".repeat(metadata)));
        let details = Details { metadata: metadata.into_iter().collect(), ..Details::default() };
        put(&gateway, &account, &key, body, details).await;
    }
    gateway.settle().await;
    drop((account, gateway));
    let rows = device.load_rows().await.expect("rows");
    let bytes: usize = rows.iter().map(|(key, value)| key.len() + value.len() + 64).sum();
    drop(rows);
    let before = COUNTED.current_usage();
    let gateway = Gateway::open(device, Options::default()).await.expect("opened");
    let taken = COUNTED.current_usage() - before;
    println!(
        "{kind}: {} bytes an object in memory, {} in rows: {:.2}",
        taken as u64 / OBJECTS,
        bytes as u64 / OBJECTS,
        taken as f64 / bytes as f64
    );
    drop(gateway);
    (taken as u64, bytes as u64)
}

#[tokio::test]
async fn a_catalogue_takes_no_more_than_so_many_times_the_bytes_of_its_rows() {
    let mut worst = 0.0_f64;
    for (kind, body, metadata, versioned) in [
        ("empty", &b""[..], 0, false),
        ("a byte", b"a", 0, false),
        ("a block", &[7; BLOCK], 0, false),
        ("with metadata", b"", 2000, false),
        ("versions", b"", 0, true),
    ] {
        let (taken, rows) = measured(kind, body, metadata, versioned).await;
        assert!(taken <= MEMORY_PER_ROW_BYTE * rows, "{kind}: {taken} bytes for {rows}");
        worst = worst.max(taken as f64 / rows as f64);
    }
    assert!(worst > MEMORY_PER_ROW_BYTE as f64 / 2.0, "the bound is much too high: {worst}");
}
