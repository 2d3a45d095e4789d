//! `ameles serve --demonstration`: the effect of its switch. It touches no data of the user.

use super::harness::{SERVE, TestFolder, finish};
use super::server::{Cells, TestServer};
use futures::future::join_all;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

/// Returns the command; its temporary files go to `tmp` in the folder.
fn command(folder: &TestFolder, flags: &str) -> Command {
    std::fs::create_dir_all(folder.path("tmp")).expect("a folder");
    let mut command = folder.command(&format!("{SERVE} {flags}"));
    command.env("TMPDIR", folder.path("tmp"));
    command
}

fn leftovers(folder: &TestFolder) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(folder.path("tmp"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// Returns how the page's figures changed: the cells that clients requested, and those that the provider saw.
fn changes_between(before: &Value, after: &Value) -> (Cells, Cells) {
    assert_eq!(before["demonstration"], after["demonstration"], "the switch did not change");
    let changes = |row| Cells::of(after, row).changes_since(&Cells::of(before, row));
    (changes("/requests/blocks"), changes("/store/whole"))
}

async fn read(server: &TestServer, number: u64) {
    let path = Path::from(format!("object-{number:02}"));
    let body = server.s3("demonstration").get(&path).await.expect("there").bytes().await.expect("read");
    assert_eq!(body.len(), 64 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pattern_appears_at_the_provider_when_the_oram_is_off_and_only_then() {
    let folder = TestFolder::new();
    let server = TestServer::spawn(&folder, command(&folder, "--demonstration quiet"));

    // Each object fills one cell of the left map. The test reads the sixth object repeatedly.
    let before = server.page_figures();
    assert_eq!(before["demonstration"]["oblivious"], true);
    assert_eq!(before["baseline"]["requests"], 0, "the objects' own puts count");
    for _ in 0..20 {
        read(&server, 5).await;
    }
    let after = server.page_figures();
    let (requested, at_store) = changes_between(&before, &after);
    let mut expected = vec![0; 64];
    expected[5] = 20 * 16;
    assert_eq!(requested.reads, expected);
    let (all, max) = (at_store.reads.iter().sum::<u64>(), *at_store.reads.iter().max().expect("cells"));
    assert!(max < all / 2, "one cell stands out: {at_store:?}");
    assert!(
        at_store.reads.iter().filter(|cell| **cell > 0).count() > 32,
        "few cells are touched: {at_store:?}"
    );
    assert!(
        at_store.writes.iter().sum::<u64>() > 0,
        "reads without writes are distinguishable from writes: {at_store:?}"
    );
    let requests = |figures: &Value, of: &str| figures[of]["requests"].as_u64().expect("a number");
    assert_eq!(requests(&after, "baseline"), 20 * 16);
    assert!(requests(&after, "figures") > 20 * 16);

    let answer = server.set_oblivious(false);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let before = server.page_figures();
    assert_eq!(before["demonstration"]["oblivious"], false);
    assert_eq!(requests(&before, "figures"), 0, "the switch did not reset the figures");
    for number in [5, 5, 5, 30, 47, 0] {
        read(&server, number).await;
    }
    let body = vec![7; 100 << 10];
    server.s3("demonstration").put(&Path::from("new"), body.into()).await.expect("put");
    let after = server.page_figures();
    let (requested, at_store) = changes_between(&before, &after);
    assert_eq!((requested.reads[5], requested.reads[30], requested.reads[1]), (48, 16, 0));
    assert_eq!(requested.writes.iter().sum::<u64>(), 25);
    assert_eq!(at_store, requested);
    assert_eq!(requests(&after, "figures"), requests(&after, "baseline"));
    assert_eq!(requests(&after, "figures"), 6 * 16 + 25);
    let levels = after["store"]["levels"].as_array().expect("rows");
    assert_eq!(levels.len(), 1, "an array has one row");

    server.set_oblivious(true);
    let before = server.page_figures();
    read(&server, 9).await;
    let (requested, at_store) = changes_between(&before, &server.page_figures());
    assert_eq!(requested.reads[9], 16);
    assert_ne!(at_store, requested);
}

/// A guard that tells the other thread to stop when the guard is dropped.
struct StopGuard<'a>(&'a AtomicBool);

impl Drop for StopGuard<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_object_is_lost_or_mixed_up_while_the_switch_changes_often() {
    let folder = TestFolder::new();
    let server = TestServer::spawn(&folder, command(&folder, "--demonstration quiet"));
    let done = AtomicBool::new(false);
    let body = |client: u8, round: u8| -> Vec<u8> {
        (0..20_000_u32)
            .map(|at| at.wrapping_mul(u32::from(client) * 8 + u32::from(round) + 1) as u8)
            .collect()
    };
    let client = async |client: u8| {
        let (store, path) = (server.s3("demonstration"), Path::from(format!("of-client-{client}")));
        for round in 0..8 {
            store.put(&path, body(client, round).into()).await.expect("put");
            let got = store.get(&path).await.expect("there").bytes().await.expect("read");
            assert!(got == body(client, round), "client {client} reads something else in round {round}");
        }
    };
    let switches = std::thread::scope(|scope| {
        let switching = scope.spawn(|| {
            let mut switches = 0;
            while !done.load(Ordering::Relaxed) {
                let answer = server.set_oblivious(switches % 2 == 1);
                assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
                switches += 1;
            }
            switches
        });
        // The guard also works if a client fails: the other thread would otherwise run forever.
        let guard = StopGuard(&done);
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(join_all((0..6).map(client)));
        });
        drop(guard);
        switching.join().expect("no panic")
    });
    assert!(switches > 1);
    for oblivious in [true, false] {
        server.set_oblivious(oblivious);
        for client in 0..6 {
            let path = Path::from(format!("of-client-{client}"));
            let got =
                server.s3("demonstration").get(&path).await.expect("there").bytes().await.expect("read");
            assert!(got == body(client, 7), "client {client}, ORAM on: {oblivious}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_reads_by_itself_and_leaves_nothing_behind() {
    let folder = TestFolder::new();
    let server = TestServer::spawn(&folder, command(&folder, "--demonstration"));
    assert_eq!(leftovers(&folder).len(), 1);
    let first = server.page_figures();
    let sum = |figures: &Value| Cells::of(figures, "/requests/names").reads.iter().sum::<u64>();
    while sum(&server.page_figures()) < sum(&first) + 5 {}
    assert_eq!(server.stop(), 0);
    assert!(leftovers(&folder).is_empty(), "{:?}", leftovers(&folder));
    assert!(!folder.path("ameles-data").exists());
}

#[test]
fn a_demonstration_refuses_flags_for_a_vault_a_store_or_a_key() {
    let folder = TestFolder::new();
    for (flags, name) in [
        ("--data mine", "--data"),
        ("--store file:///mine", "--store"),
        ("--endpoint http://127.0.0.1:1", "--endpoint"),
        ("--store-option region=r", "--store-option"),
        ("--key-file mine", "--key-file"),
        ("--key-env MINE", "--key-env"),
        ("--passphrase", "--passphrase"),
        ("--capacity 1GiB", "--capacity"),
        ("--block-size 64KiB", "--block-size"),
    ] {
        let child = command(&folder, &format!("--demonstration {flags}")).spawn();
        let finished = finish(child.expect("it starts"));
        assert_eq!(finished.code, 2, "{flags}: {}", finished.stderr);
        assert!(
            finished.stderr.starts_with(&format!("error: {name} cannot be combined")),
            "{}",
            finished.stderr
        );
    }
    let error = folder.fail("serve --demonstration --admin 0.0.0.0:0", 2);
    assert!(error.contains("--admin is 0.0.0.0:0") && error.contains("loopback"), "{error}");
    let error = folder.fail("serve --demonstration=wave", 2);
    assert!(error.contains("sweep") && error.contains("quiet"), "{error}");
    assert!(
        leftovers(&folder).is_empty()
            && !folder.path("mine").exists()
            && !folder.path("ameles-data").exists()
    );
}

#[test]
fn an_ordinary_vault_cannot_do_without_its_oram() {
    let folder = TestFolder::new();
    let server = TestServer::start(&folder, "--capacity 1MiB --block-size 4KiB");
    let answer = server.set_oblivious(false);
    assert!(answer.starts_with("HTTP/1.1 409") && answer.contains("--demonstration"), "{answer}");
    assert_eq!(server.page_figures()["demonstration"], Value::Null);
}

#[test]
fn a_demonstration_leaves_nothing_when_its_terminal_is_closed() {
    let folder = TestFolder::new();
    let server = TestServer::spawn(&folder, command(&folder, "--demonstration quiet"));
    assert_eq!(server.stop_with(rustix::process::Signal::HUP), 0);
    assert_eq!(leftovers(&folder), Vec::<std::path::PathBuf>::new());
}
