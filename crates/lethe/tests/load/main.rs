//! Sixty-four clients at once against a running `lethe serve`: no error, no object lost or mixed, a steady memory use.
//!
//! `cargo xtask load` runs it for two minutes, built with optimisation.
#![cfg(target_os = "linux")]
#![allow(clippy::print_stdout, reason = "the figures are what it is run for")]

mod client;
mod content;
mod server;

use client::{Client, Tally};
use futures::future::join_all;
use server::{Memory, Server};
use std::time::{Duration, Instant};

const CLIENTS: u64 = 64;
/// How long the clients ask, unless `LETHE_LOAD_SECONDS` says otherwise.
const SECONDS: u64 = 15;
/// What the process may grow by from a third of the time on: less than a kibibyte a request, and far less than the objects
/// that pass.
const GROWTH: u64 = 64 << 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sixty_four_clients_lose_and_mix_nothing_in_steady_memory() {
    let seconds = std::env::var("LETHE_LOAD_SECONDS").ok().and_then(|seconds| seconds.parse().ok());
    let time = Duration::from_secs(seconds.unwrap_or(SECONDS));
    let seed = u64::from(std::process::id());
    println!("seed {seed}");
    let server = Server::start().await;
    let store = server.store();
    let until = Instant::now() + time;
    let clients = (0..CLIENTS).map(|number| {
        let client = Client::new(number, seed, store.clone(), server.address());
        tokio::spawn(client.run(until))
    });
    let clients: Vec<_> = clients.collect();
    let watching = async {
        tokio::time::sleep(time / 3).await;
        let early = server.memory();
        tokio::time::sleep_until((until - Duration::from_millis(200)).into()).await;
        (early, server.memory())
    };
    let (ended, (early, late)) = futures::join!(join_all(clients), watching);
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
    let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
    println!(
        "memory of the server: {:.0} MiB after a third of the time, {:.0} MiB at the end, {:.0} MiB at most",
        mebibytes(early.resident),
        mebibytes(late.resident),
        mebibytes(peak)
    );
    assert!(all.requests() > 20 * CLIENTS, "too little was asked to mean anything");
    assert!(all.verbs.len() == client::VERBS, "every verb was used: {:?}", all.verbs.keys());
    let Memory { resident, .. } = late;
    assert!(resident < early.resident + GROWTH, "{} bytes, and {resident} later", early.resident);
    server.stop_and_check();
}
