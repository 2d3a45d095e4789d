//! The end of a command that cannot write its output or its log.

use super::harness::{SERVE, TestFolder, finish};
use super::server::TestServer;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use rustix::process::Signal;
use std::fs::File;
use std::process::Stdio;
use std::time::Duration;
use tokio::io::AsyncWriteExt;

fn full_disk() -> Stdio {
    File::options().write(true).open("/dev/full").expect("a device that is always full").into()
}

#[test]
fn a_lost_output_is_an_error_after_the_work_was_done() {
    let folder = TestFolder::with_new_vault("1MiB");
    folder.succeed("backup");
    let finished = finish(folder.command("backup").stdout(full_disk()).spawn().expect("it starts"));
    assert_eq!(finished.code, 1, "{}", finished.stderr);
    assert!(finished.stderr.contains("standard output cannot be written"), "{}", finished.stderr);
    assert_eq!(finished.stderr.matches("error:").count(), 1, "{}", finished.stderr);
    // It shipped a checkpoint: the number of the next receipt shows it.
    let number = |receipt: String| {
        receipt.trim().split('-').nth(3).expect("a number").parse::<u64>().expect("a number")
    };
    assert!(number(folder.succeed("backup")) >= 4);
}

#[test]
fn a_closed_pipe_is_no_error() {
    let folder = TestFolder::with_new_vault("1MiB");
    let mut child = folder.command("user add a:b").spawn().expect("it starts");
    drop(child.stdout.take());
    let finished = finish(child);
    assert_eq!((finished.code, &*finished.stderr), (0, ""));
    assert!(folder.succeed("user list").contains("a:b"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_cannot_be_written_ends_no_request() {
    let folder = TestFolder::new();
    let mut command = folder.command(&format!("{SERVE} --capacity 4MiB"));
    command.stderr(full_disk());
    let server = TestServer::spawn_logging(&folder, command, "debug");
    let store = server.s3("bucket");
    let put = store.put(&Path::from("a"), "x".into()).await;
    assert!(put.is_err_and(|error| error.to_string().contains("NoSuchBucket")), "no bucket is there");
    for _ in 0..5 {
        let answer = store.get(&Path::from("a")).await;
        assert!(answer.is_err_and(|error| error.to_string().contains("NoSuchBucket")), "it answers");
    }
    assert_eq!(server.stop(), 0);
}

/// The test takes as long as running requests have at a stop.
#[tokio::test]
async fn the_exit_code_tells_a_stop_that_aborted_a_request_from_one_that_did_not() {
    let folder = TestFolder::with_vault("1MiB");
    for (bucket, is_sent, code) in [("first", true, 0), ("second", false, 130)] {
        let server = TestServer::start(&folder, "");
        server.create_bucket(bucket).await;
        let mut put = server.begin_put(bucket, "object", 100).await;
        put.write_all(&[7; 99]).await.expect("sent");
        // The request has begun before the server stops.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let stopped = tokio::task::spawn_blocking(move || server.stop_with(Signal::TERM));
        if is_sent {
            put.write_all(&[7]).await.expect("sent");
        }
        assert_eq!(stopped.await.expect("it stops"), code, "sent: {is_sent}");
    }
    folder.succeed("check");
}
