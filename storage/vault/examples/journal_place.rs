//! Measures what the place of the journal costs behind a link of 23.6 ms and 510 Mbit/s each way: gets and puts of
//! objects of one block by a lone client, and those of 64 clients together.
//!
//!     cargo run --release -p ameles-vault --example journal_place -- MIB ROUNDS SECONDS
//!
//! With `--features ameles-store/etcd`, and an address such as `http://127.0.0.1:2379/PREFIX` as the fourth argument, a
//! third vault has its journal in etcd, which must have nothing under this prefix.
//!
//! The vaults have the same parameters but for the journal. They are measured in turns, ROUNDS times, SECONDS each for
//! the 64 clients. As in the gateway, a put is a write and a change of a row, and a get is a read that
//! [settles](ameles_vault::Vault::settle_reads). Every block is written before. The store is in memory, and the trusted
//! disk is a folder.

#![allow(clippy::print_stdout, reason = "this is what the example is for")]
#![allow(clippy::disallowed_types, reason = "it measures time")]

mod support;

use ameles_core::schemes::ring::RingParameters;
use ameles_core::types::BlockId;
use ameles_store::{Etcd, EtcdAddress, EtcdError, EtcdTls, Link, Routed, VersionedMemory};
use ameles_vault::{
    Call, Entropy, JournalPlace, LOG_PREFIX, RowChange, SchemeParameters, Vault, VaultError, VaultHeader,
    VaultParameters, draw_header,
};
use futures::future::try_join_all;
use std::error::Error;
use std::time::{Duration, Instant};
use support::{BLOCK, SPEED, payload, setup};
use tempfile::TempDir;

const BATCH: u32 = 16;
const CLIENTS: u64 = 64;
/// Gets and puts of the lone client in a round, each.
const ALONE: u64 = 40;
/// The bytes of a row: about those of a name with its metadata.
const ROW: usize = 300;

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let numbers: Result<Vec<u64>, _> = arguments.iter().take(3).map(|number| number.parse()).collect();
    let [mib, rounds, seconds] = numbers?[..] else { return Err("give MIB ROUNDS SECONDS [ETCD]".into()) };
    let etcd = arguments.get(3).map(|address| address.parse()).transpose()?;
    let mut places = vec![
        Place::new("disk", mib, JournalPlace::Disk, None).await?,
        Place::new("store", mib, JournalPlace::Store, None).await?,
    ];
    if etcd.is_some() {
        places.push(Place::new("etcd", mib, JournalPlace::Etcd, etcd.as_ref()).await?);
    }
    for round in 0..rounds {
        for place in &mut places {
            place.alone(round).await?;
            place.together(round, Duration::from_secs(seconds)).await?;
        }
    }
    println!("journal  get, ms  put, ms  objects/s of {CLIENTS} clients (rounds)");
    let of_disk = places[0].measured.medians();
    for place in places {
        let medians = place.measured.medians();
        let [get, put, many] = medians;
        println!("{:<8} {get:7.1}  {put:7.1}  {many:7.1} ({:.0?})", place.name, place.measured.many);
        let ratios: Vec<f64> = medians.iter().zip(of_disk).map(|(here, disk)| here / disk).collect();
        println!("ratio    {:7.2}  {:7.2}  {:7.2}", ratios[0], ratios[1], ratios[2]);
        place.vault.close().await?;
    }
    Ok(())
}

/// A store of memory, with the journal in etcd if there is an address.
async fn store<S>(inner: S, etcd: Option<&EtcdAddress>) -> Result<Routed<S, Etcd>, EtcdError> {
    let etcd = match etcd {
        Some(address) => Some(Etcd::open(address, EtcdTls::default()).await?),
        None => None,
    };
    Ok(Routed::new(inner, LOG_PREFIX, etcd))
}

/// Times in milliseconds, and objects per second.
#[derive(Default)]
struct Measured {
    get: Vec<f64>,
    put: Vec<f64>,
    many: Vec<f64>,
}

impl Measured {
    fn medians(&self) -> [f64; 3] {
        [&self.get, &self.put, &self.many].map(|values| {
            let mut values = values.clone();
            values.sort_by(f64::total_cmp);
            values[values.len() / 2]
        })
    }
}

/// A vault with its journal in one place.
struct Place {
    name: &'static str,
    vault: Vault,
    capacity: u64,
    measured: Measured,
    _folder: TempDir,
}

impl Place {
    async fn new(
        name: &'static str,
        mib: u64,
        journal: JournalPlace,
        etcd: Option<&EtcdAddress>,
    ) -> Result<Self, Box<dyn Error>> {
        let capacity = (mib << 20) / u64::from(BLOCK);
        let ring = RingParameters::for_capacity(capacity, BLOCK, capacity / 16, BATCH);
        let parameters = VaultParameters::with_defaults(SchemeParameters::Ring(ring)).with_journal(journal);
        let header = draw_header(&mut Entropy::system(), parameters, None);
        let memory = VersionedMemory::new(header.parameters.layout());
        let folder = tempfile::tempdir()?;
        let filled = async || store(memory.clone(), etcd).await;
        Vault::create(&mut setup(folder.path(), filled().await?)?, &header).await?;
        let vault = Vault::open(setup(folder.path(), filled().await?)?).await?;
        for first in (0..capacity).step_by(BATCH as usize) {
            let write = |block| Call::Write(BlockId(block), payload(block));
            vault.access((first..capacity.min(first + u64::from(BATCH))).map(write).collect()).await?;
        }
        vault.close().await?;
        drop(vault);
        describe(name, &header);
        let far = store(Link::new(memory, SPEED).precise(), etcd).await?;
        let vault = Vault::open(setup(folder.path(), far)?).await?;
        Ok(Place { name, vault, capacity, measured: Measured::default(), _folder: folder })
    }

    /// A block, somewhere in the vault.
    fn block(&self, nth: u64) -> BlockId {
        BlockId(nth.wrapping_mul(0x9e37_79b9_7f4a_7c15) % self.capacity)
    }

    async fn get(&self, nth: u64) -> Result<(), VaultError> {
        self.vault.read(self.block(nth)).await?;
        self.vault.settle_reads().await
    }

    async fn put(&self, nth: u64) -> Result<(), VaultError> {
        let block = self.block(nth);
        self.vault.write(block, payload(nth)).await?;
        let name = format!("{:0100}", block.0);
        self.vault.commit_rows(vec![RowChange::put(name, vec![nth as u8; ROW - 100])]).await
    }

    async fn alone(&mut self, round: u64) -> Result<(), VaultError> {
        for nth in round * ALONE..(round + 1) * ALONE {
            let began = Instant::now();
            self.get(2 * nth).await?;
            self.measured.get.push(1000.0 * began.elapsed().as_secs_f64());
            let began = Instant::now();
            self.put(2 * nth + 1).await?;
            self.measured.put.push(1000.0 * began.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Half gets and half puts, each client one after the other, until the evictions that they cause are done.
    async fn together(&mut self, round: u64, time: Duration) -> Result<(), VaultError> {
        let began = Instant::now();
        let place = &*self;
        let client = async |client: u64| {
            let mut done = 0u64;
            while began.elapsed() < time {
                let nth = (round << 40) + (client << 20) + done;
                if (done + client).is_multiple_of(2) {
                    place.get(nth).await?
                } else {
                    place.put(nth).await?
                }
                done += 1;
            }
            Ok::<u64, VaultError>(done)
        };
        let done: u64 = try_join_all((0..CLIENTS).map(client)).await?.iter().sum();
        while self.vault.status().evictions_pending > 0 {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        self.measured.many.push(done as f64 / began.elapsed().as_secs_f64());
        Ok(())
    }
}

fn describe(name: &str, header: &VaultHeader) {
    let parameters = &header.parameters;
    let usage = parameters.usage_of_batches(1.0e6 / f64::from(BATCH), BATCH);
    let blocks = |bytes: u64| bytes as f64 / 1.0e6 / f64::from(BLOCK);
    println!(
        "{name}: for each access in batches of {BATCH}, {:.2} blocks up and {:.2} down; a checkpoint every {} accesses",
        blocks(usage.bytes_up),
        blocks(usage.bytes_down),
        parameters.recovery_point(),
    );
}
