//! Sixty-four concurrent clients against a running `ameles serve`: no errors, no lost or mixed objects, and no more
//! memory than the documentation promises.
//!
//! `cargo xtask load` runs it for two minutes, built with optimizations.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the test prints its figures")]

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
/// The number of requests of each client, unless `AMELES_LOAD_SECONDS` sets a time instead.
const REQUESTS: u64 = 25;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_lose_and_mix_nothing_in_bounded_memory() {
    let seconds: Option<u64> =
        std::env::var("AMELES_LOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let server = Server::start().await;
    let store = server.store();
    let (before, start) = (server.memory(), Instant::now());
    let deadline = seconds.map(|seconds| start + Duration::from_secs(seconds));
    let clients = (0..CLIENTS).map(|number| {
        let client = Client::new(number, seed, store.clone(), server.address());
        tokio::spawn(client.run(move |requests| match deadline {
            Some(deadline) => Instant::now() < deadline,
            None => requests < REQUESTS,
        }))
    });
    let finished = join_all(clients.collect::<Vec<_>>()).await;
    let (after, time) = (server.memory(), start.elapsed());
    let mut total = Tally::default();
    let mut verified = 0;
    for client in finished {
        let client = client.expect("no client fails");
        verified += client.verify().await;
        total.add(&client.tally);
    }
    let peak = server.memory().peak;
    total.print(time);
    println!("objects verified at the end: {verified}");
    let stated_memory = server.stated_memory();
    // The stated bound includes all connections that both listeners accept.
    let max = stated_memory - (2 * Limits::default().connections as u64 - CLIENTS) * CONNECTION;
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory of the server: {:.0} MiB before, {:.0} MiB after, peak {:.0} MiB: {:.2} of the {:.0} MiB allowed \
         with {CLIENTS} clients; {:.0} MiB stated at the start",
        mebibytes(before.resident),
        mebibytes(after.resident),
        mebibytes(peak),
        peak as f64 / max as f64,
        mebibytes(max),
        mebibytes(stated_memory),
    );
    assert!(
        total.operations.len() == client::OPERATIONS,
        "not every operation ran: {:?}",
        total.operations.keys()
    );
    assert!(peak <= max, "the peak is {peak} bytes, above the stated {max}");
    assert!(peak >= max / 4, "the bound is much too high: {peak} bytes of {max}");
    server.stop_and_check();
}
