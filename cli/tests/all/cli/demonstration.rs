//! `ameles serve --demonstration`: the effect of its switch, and that it touches nothing of the user's.

use super::harness::TestFolder;
use super::server::{Cells, TestServer};
use futures::future::join_all;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde_json::Value;
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

const ADDRESSES: &str = "--listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";

/// The command in a folder whose temporary files go to `tmp` in it.
fn command(desk: &TestFolder, words: &str) -> Command {
    std::fs::create_dir_all(desk.path("tmp")).expect("a folder");
    let mut command = desk.command(&format!("serve {words} {ADDRESSES}"));
    command.env("TMPDIR", desk.path("tmp"));
    command
}

fn leftovers(desk: &TestFolder) -> Vec<std::path::PathBuf> {
    std::fs::read_dir(desk.path("tmp"))
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect()
}

/// The page's figures of a stretch of work: the cells that were asked for, and those that the provider saw.
fn over(before: &Value, after: &Value) -> (Cells, Cells) {
    assert_eq!(before["demonstration"], after["demonstration"], "the switch was turned meanwhile");
    let grown = |row| Cells::of(after, row).since(&Cells::of(before, row));
    (grown("/requests/blocks"), grown("/store/whole"))
}

async fn read(served: &TestServer, number: u64) {
    let path = Path::from(format!("object-{number:02}"));
    let body = served.s3("demonstration").get(&path).await.expect("there").bytes().await.expect("read");
    assert_eq!(body.len(), 64 << 10);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_pattern_appears_at_the_provider_when_the_oram_is_off_and_only_then() {
    let desk = TestFolder::new();
    let served = TestServer::spawn(&desk, command(&desk, "--demonstration quiet"));

    // An object fills one cell of the left map: the sixth is asked for again and again.
    let before = served.told();
    assert_eq!(before["demonstration"]["oblivious"], true);
    assert_eq!(before["baseline"]["requests"], 0, "the objects' own puts count");
    for _ in 0..20 {
        read(&served, 5).await;
    }
    let after = served.told();
    let (asked, seen) = over(&before, &after);
    let mut expected = vec![0; 64];
    expected[5] = 20 * 16;
    assert_eq!(asked.reads, expected);
    let (all, max) = (seen.reads.iter().sum::<u64>(), *seen.reads.iter().max().expect("cells"));
    assert!(max < all / 2, "one cell stands out: {seen:?}");
    assert!(seen.reads.iter().filter(|cell| **cell > 0).count() > 32, "few cells are touched: {seen:?}");
    assert!(
        seen.writes.iter().sum::<u64>() > 0,
        "reads that write nothing can be told from writes: {seen:?}"
    );
    let requests = |told: &Value, of: &str| told[of]["requests"].as_u64().expect("a number");
    assert_eq!(requests(&after, "baseline"), 20 * 16);
    assert!(requests(&after, "figures") > 20 * 16);

    let answer = served.set_oblivious(false);
    assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
    let before = served.told();
    assert_eq!(before["demonstration"]["oblivious"], false);
    assert_eq!(requests(&before, "figures"), 0, "figures do not begin anew");
    for number in [5, 5, 5, 30, 47, 0] {
        read(&served, number).await;
    }
    let body = vec![7; 100 << 10];
    served.s3("demonstration").put(&Path::from("new"), body.into()).await.expect("put");
    let after = served.told();
    let (asked, seen) = over(&before, &after);
    assert_eq!((asked.reads[5], asked.reads[30], asked.reads[1]), (48, 16, 0));
    assert_eq!(asked.writes.iter().sum::<u64>(), 25);
    assert_eq!(seen, asked);
    assert_eq!(requests(&after, "figures"), requests(&after, "baseline"));
    assert_eq!(requests(&after, "figures"), 6 * 16 + 25);
    let levels = after["store"]["levels"].as_array().expect("rows");
    assert_eq!(levels.len(), 1, "an array has one row");

    served.set_oblivious(true);
    let before = served.told();
    read(&served, 9).await;
    let (asked, seen) = over(&before, &served.told());
    assert_eq!(asked.reads[9], 16);
    assert_ne!(seen, asked);
}

/// Tells the other thread to end when it is dropped.
struct Ended<'a>(&'a AtomicBool);

impl Drop for Ended<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_is_lost_or_mixed_up_however_often_the_switch_is_turned_meanwhile() {
    let desk = TestFolder::new();
    let served = TestServer::spawn(&desk, command(&desk, "--demonstration quiet"));
    let done = AtomicBool::new(false);
    let body = |client: u8, round: u8| -> Vec<u8> {
        (0..20_000_u32)
            .map(|at| at.wrapping_mul(u32::from(client) * 8 + u32::from(round) + 1) as u8)
            .collect()
    };
    let client = async |client: u8| {
        let (store, path) = (served.s3("demonstration"), Path::from(format!("of-client-{client}")));
        for round in 0..8 {
            store.put(&path, body(client, round).into()).await.expect("put");
            let got = store.get(&path).await.expect("there").bytes().await.expect("read");
            assert!(got == body(client, round), "client {client} reads something else in round {round}");
        }
    };
    let turned = std::thread::scope(|scope| {
        let turning = scope.spawn(|| {
            let mut turned = 0;
            while !done.load(Ordering::Relaxed) {
                let answer = served.set_oblivious(turned % 2 == 1);
                assert!(answer.starts_with("HTTP/1.1 204"), "{answer}");
                turned += 1;
            }
            turned
        });
        // Also when a client has failed: the other thread would go on forever.
        let ended = Ended(&done);
        tokio::task::block_in_place(|| {
            tokio::runtime::Handle::current().block_on(join_all((0..6).map(client)));
        });
        drop(ended);
        turning.join().expect("no panic")
    });
    assert!(turned > 1);
    for oblivious in [true, false] {
        served.set_oblivious(oblivious);
        for client in 0..6 {
            let path = Path::from(format!("of-client-{client}"));
            let got =
                served.s3("demonstration").get(&path).await.expect("there").bytes().await.expect("read");
            assert!(got == body(client, 7), "client {client}, ORAM on: {oblivious}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_demonstration_reads_by_itself_and_leaves_nothing_behind() {
    let desk = TestFolder::new();
    let served = TestServer::spawn(&desk, command(&desk, "--demonstration"));
    assert_eq!(leftovers(&desk).len(), 1);
    let first = served.told();
    let sum = |told: &Value| Cells::of(told, "/requests/names").reads.iter().sum::<u64>();
    while sum(&served.told()) < sum(&first) + 5 {}
    assert_eq!(served.stop(), 0);
    assert!(leftovers(&desk).is_empty(), "{:?}", leftovers(&desk));
    assert!(!desk.path("ameles-data").exists());
}

#[test]
fn a_demonstration_takes_no_vault_store_or_key_of_the_users() {
    let desk = TestFolder::new();
    for (words, name) in [
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
        let ended = super::harness::finish(
            command(&desk, &format!("--demonstration {words}")).spawn().expect("it starts"),
        );
        assert_eq!(ended.code, 2, "{words}: {}", ended.complained);
        assert!(ended.complained.starts_with(&format!("error: {name} is given")), "{}", ended.complained);
    }
    let error = desk.fail("serve --demonstration --admin 0.0.0.0:0", 2);
    assert!(error.contains("--admin is 0.0.0.0:0") && error.contains("loopback"), "{error}");
    let error = desk.fail("serve --demonstration=wave", 2);
    assert!(error.contains("sweep") && error.contains("quiet"), "{error}");
    assert!(leftovers(&desk).is_empty() && !desk.path("mine").exists() && !desk.path("ameles-data").exists());
}

#[test]
fn an_ordinary_vault_cannot_do_without_its_oram() {
    let desk = TestFolder::new();
    let served = TestServer::start(&desk, "--capacity 1MiB --block-size 4KiB");
    let answer = served.set_oblivious(false);
    assert!(answer.starts_with("HTTP/1.1 409") && answer.contains("--demonstration"), "{answer}");
    assert_eq!(served.told()["demonstration"], Value::Null);
}

#[test]
fn a_demonstration_leaves_nothing_when_its_terminal_is_closed() {
    let desk = TestFolder::new();
    let served = TestServer::spawn(&desk, command(&desk, "--demonstration quiet"));
    assert_eq!(served.end_by(rustix::process::Signal::HUP), 0);
    assert_eq!(leftovers(&desk), Vec::<std::path::PathBuf>::new());
}
