//! The end of a command whose answer, or whose log, cannot be written.

use super::harness::{TestFolder, finish};
use super::server::TestServer;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use std::fs::File;
use std::process::Stdio;

fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device that is always full").into()
}

#[test]
fn an_answer_that_is_lost_is_told_after_the_work_was_done() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    let ended = finish(desk.command("backup").stdout(full_disk()).spawn().expect("it starts"));
    assert_eq!(ended.code, 1, "{}", ended.complained);
    assert!(ended.complained.contains("standard output cannot be written"), "{}", ended.complained);
    assert_eq!(ended.complained.matches("error:").count(), 1, "{}", ended.complained);
    // It has shipped a checkpoint, as the next receipt's number tells.
    let number = |receipt: String| {
        receipt.trim().split('-').nth(3).expect("a number").parse::<u64>().expect("a number")
    };
    assert!(number(desk.succeed("backup")) >= 4);
}

#[test]
fn a_reader_who_has_gone_is_no_error() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    let mut child = desk.command("user add a:b").spawn().expect("it starts");
    drop(child.stdout.take());
    let ended = finish(child);
    assert_eq!((ended.code, &*ended.complained), (0, ""));
    assert!(desk.succeed("user list").contains("a:b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_ends_no_request() {
    let desk = TestFolder::new();
    let mut command =
        desk.command("serve --capacity 4MiB --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0");
    command.stderr(full_disk());
    let served = TestServer::spawn_logging(&desk, command, "debug");
    let store = served.s3("bucket");
    let made = store.put(&Path::from("a"), "x".into()).await;
    assert!(made.is_err_and(|error| error.to_string().contains("NoSuchBucket")), "no bucket is there");
    for _ in 0..5 {
        let answer = store.get(&Path::from("a")).await;
        assert!(answer.is_err_and(|error| error.to_string().contains("NoSuchBucket")), "it answers");
    }
    assert_eq!(served.stop(), 0);
}
