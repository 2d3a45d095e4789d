//! Sixty-four clients at once against a running `ameles serve`: no error, no object lost or mixed, and no more memory
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

use ameles::vault::process_memory::CONNECTION;
use ameles_gateway::http::server::Limits;
use client::{Client, Tally};
use futures::future::join_all;
use server::Server;
use std::time::{Duration, Instant};

const CLIENTS: u64 = 64;
/// The requests of each of them, unless `AMELES_LOAD_SECONDS` has them ask for so long.
const REQUESTS: u64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_lose_and_mix_nothing_in_bounded_memory() {
    let seconds: Option<u64> =
        std::env::var("AMELES_LOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
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
    let stated = server.stated();
    // It is stated for all connections that both listeners let in.
    let max = stated - (2 * Limits::default().connections as u64 - CLIENTS) * CONNECTION;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory of the server: {:.0} MiB before, {:.0} MiB after, {:.0} MiB at most: {:.2} of the {:.0} MiB that it may take \
         with so many clients; {:.0} MiB are stated at the start",
        mebibytes(before.resident),
        mebibytes(after.resident),
        mebibytes(peak),
        peak as f64 / max as f64,
        mebibytes(max),
        mebibytes(stated),
    );
    assert!(all.verbs.len() == client::VERBS, "every verb was used: {:?}", all.verbs.keys());
    assert!(peak <= max, "{peak} bytes, and {max} are stated");
    assert!(peak >= max / 4, "the bound is much too high: {peak} bytes of {max}");
    server.stop_and_check();
}
