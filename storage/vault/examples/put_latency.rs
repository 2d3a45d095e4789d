//! Measures how long a write of one block takes in a new vault over a folder, with one writer and with eight. It
//! compares sizes of slices of evictions, each in a vault of its own, in the order given.
//!
//!     cargo run --release -p ameles-vault --example put_latency -- GIB WRITES MIB_OF_A_SLICE...
//!
//! A slice of 0 MiB means that evictions have one slice.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]
#![allow(clippy::disallowed_types, reason = "it measures time")]

mod support;

use ameles_core::schemes::ring::{RingObjective, RingParameters};
use ameles_core::types::BlockId;
use ameles_store::{Objects, OpenOptions};
use ameles_vault::{
    Call, Entropy, SchemeParameters, Vault, VaultHeader, VaultParameters, VaultStore, draw_header,
};
use futures::future::join_all;
use std::error::Error;
use std::path::Path;
use std::time::{Duration, Instant};
use support::{BLOCK, payload, setup};

const WRITERS: u64 = 8;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let numbers: Result<Vec<u64>, _> = std::env::args().skip(1).map(|number| number.parse()).collect();
    let numbers = numbers?;
    let [gib, writes, slices @ ..] = &numbers[..] else {
        return Err("give GIB WRITES MIB_OF_A_SLICE...".into());
    };
    for slice in slices {
        let capacity = (gib << 30) / u64::from(BLOCK);
        let slots = if *slice == 0 { u32::MAX } else { u32::try_from((slice << 20) / u64::from(BLOCK))? };
        let objective = RingObjective::BYTES;
        let ring = RingParameters::for_objective(capacity, BLOCK, capacity / 16, (16, slots), objective);
        println!(
            "{} slices of at most {} slots, {} on a path, A {}, {:.2} bytes a byte, {:.2} requests an access",
            ring.slices().len(),
            ring.largest_slice(),
            ring.slots_on_path(),
            ring.eviction_rate,
            ring.slots_per_access(),
            ring.traffic().requests(),
        );
        measure(ring, *writes).await?;
    }
    Ok(())
}

async fn measure(ring: RingParameters, writes: u64) -> Result<(), Box<dyn Error>> {
    let (capacity, folder) = (ring.capacity, tempfile::tempdir()?);
    let parameters = VaultParameters::with_defaults(SchemeParameters::Ring(ring));
    let header = draw_header(&mut Entropy::system(), parameters, None);
    Vault::create(&mut setup(folder.path(), store(folder.path(), &header).await?)?, &header).await?;
    let vault = Vault::open(setup(folder.path(), store(folder.path(), &header).await?)?).await?;
    // Of blocks all over the vault.
    let write = async |nth: u64| {
        let block = BlockId(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) % capacity);
        let call = Call::Write(block, payload(nth));
        let began = Instant::now();
        vault.access(vec![call]).await.map(|_| began.elapsed())
    };
    let mut alone = Vec::new();
    for nth in 0..writes {
        alone.push(write(nth).await?);
    }
    print("one writer", alone);
    let writer = async |writer: u64| {
        let mut times = Vec::new();
        for nth in 0..writes / WRITERS {
            times.push(write(writes + nth * WRITERS + writer).await?);
        }
        Ok::<_, ameles_vault::VaultError>(times)
    };
    let mut beside = Vec::new();
    for times in join_all((0..WRITERS).map(writer)).await {
        beside.extend(times?);
    }
    print("eight writers", beside);
    vault.close().await?;
    Ok(())
}

fn print(name: &str, mut times: Vec<Duration>) {
    times.sort_unstable();
    let at = |part: f64| 1000.0 * times[((times.len() - 1) as f64 * part) as usize].as_secs_f64();
    println!("  {name}: median {:.1} ms, 99 % {:.1} ms, longest {:.1} ms", at(0.5), at(0.99), at(1.0));
}

async fn store(folder: &Path, header: &VaultHeader) -> Result<impl VaultStore + Send, Box<dyn Error>> {
    let options = OpenOptions { create: true, ..OpenOptions::default() };
    let store = Objects::open(&folder.join("store").display().to_string(), &options).await?;
    Ok(store.with_layout(header.parameters.layout()))
}
