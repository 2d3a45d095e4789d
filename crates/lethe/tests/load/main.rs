//! Sixty-four clients at once against a running `lethe serve`: no error, no object lost or mixed, and no more memory
//! than the documentation promises.
//!
//! `cargo xtask load` runs it for two minutes, built with optimisation.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the figures are what it is run for")]

mod client;
mod content;
#[path = "../support/s3_client.rs"]
mod s3_client;
mod server;

use client::{Client, Tally};
use futures::future::join_all;
use lethe_vault::DATABASE_CACHE;
use server::Server;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 64;
/// The requests of each of them, unless `LETHE_LOAD_SECONDS` has them ask for so long.
const REQUESTS: u64 = 25;
/// The memory that a connection may hold beside the blocks of its transfer.
const CONNECTION: u64 = 256 << 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_lose_and_mix_nothing_in_bounded_memory() {
    let seconds: Option<u64> =
        std::env::var("LETHE_LOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let server = Server::start().await;
    let store = server.store();
    let (before, begun) = (server.memory(), Instant::now());
    let until = seconds.map(|seconds| begun + Duration::from_secs(seconds));
    let clients = (0..CLIENTS).map(|number| {
        let client = Client::new(number, seed, store.clone(), server.address());
        tokio::spawn(client.run(move |asked| match until {
            Some(until) => Instant::now() < until,
            None => asked < REQUESTS,
        }))
    });
    let ended = join_all(clients.collect::<Vec<_>>()).await;
    let (after, time) = (server.memory(), begun.elapsed());
    let mut all = Tally::default();
    let mut verified = 0;
    for client in ended {
        let client = client.expect("no client fails");
        verified += client.verify().await;
        all.add(&client.tally);
    }
    let peak = server.memory().peak;
    all.print(time);
    println!("objects verified at the end: {verified}");
    // The promise of the documentation (`docs/how-it-works/many-clients.md`), beside the program as it starts.
    let promised = server.promised();
    let checkpoints = promised.checkpoints();
    let most = before.resident
        + promised.trusted
        + promised.in_flight()
        + promised.transfers
        + CLIENTS * CONNECTION
        + checkpoints
        + DATABASE_CACHE;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory of the server: {:.0} MiB before, {:.0} MiB after, {:.0} MiB at most; it may take {:.0} MiB ({:.0} trusted, \
         {:.0} for transfers, {:.0} for checkpoints)",
        mebibytes(before.resident),
        mebibytes(after.resident),
        mebibytes(peak),
        mebibytes(most),
        mebibytes(promised.trusted),
        mebibytes(promised.transfers),
        mebibytes(checkpoints)
    );
    assert!(all.verbs.len() == client::VERBS, "every verb was used: {:?}", all.verbs.keys());
    assert!(peak <= most, "{peak} bytes, and {most} are promised");
    server.stop_and_check();
}
