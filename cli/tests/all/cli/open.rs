//! The vaults that must not be opened: a clear error, its exit code, and nothing changed in folder or store.

use super::harness::{TestFolder, copy_folder};
use super::server::TestServer;
use object_store::ObjectStoreExt;
use object_store::path::Path;

/// A vault with an untrusted folder of its own, that was open once.
fn vault() -> TestFolder {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    desk
}

/// Every command that opens a vault is refused with this code; returns the errors.
fn refused(desk: &TestFolder, code: i32) -> Vec<String> {
    let before = desk.contents();
    let serve = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";
    let errors = ["check", "backup", serve].map(|command| desk.fail(command, code));
    assert_eq!(desk.contents(), before, "a refusal changed something");
    errors.to_vec()
}

#[test]
fn a_wrong_key_opens_nothing() {
    let desk = vault();
    let key = std::fs::read(desk.path("ameles-data/master.key")).expect("the key");
    std::fs::write(desk.path("ameles-data/master.key"), "11".repeat(32)).expect("written");
    for error in refused(&desk, 1) {
        assert!(error.contains("the key does not open this vault"), "{error}");
    }
    std::fs::write(desk.path("ameles-data/master.key"), "no key").expect("written");
    for error in refused(&desk, 2) {
        assert!(error.contains("master.key holds no key"), "{error}");
    }
    std::fs::remove_file(desk.path("ameles-data/master.key")).expect("removed");
    for error in refused(&desk, 2) {
        assert!(error.contains("master.key"), "{error}");
    }
    std::fs::write(desk.path("ameles-data/master.key"), key).expect("written");
    close(&desk, "ameles-data/master.key");
    desk.succeed("check");
}

#[test]
fn users_that_cannot_be_used_are_refused_before_an_opening_is_claimed() {
    let desk = vault();
    let serve = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";
    std::fs::write(desk.path("ameles-data/trusted/credentials.toml"), "none").expect("written");
    let before = desk.contents();
    let error = desk.fail(serve, 1);
    assert!(error.contains("credentials.toml") && error.contains("chmod 600"), "{error}");
    close(&desk, "ameles-data/trusted/credentials.toml");
    let error = desk.fail(serve, 1);
    assert!(error.contains("has no valid users"), "{error}");
    assert_eq!(desk.contents(), before, "a refusal changed something");
}

#[test]
fn another_vaults_store_is_refused() {
    let (desk, other) = (vault(), vault());
    std::fs::rename(desk.path("ameles-data/untrusted"), desk.path("ours")).expect("moved");
    copy_folder(&other.path("ameles-data/untrusted"), &desk.path("ameles-data/untrusted"));
    for error in refused(&desk, 1) {
        assert!(error.contains("the store holds another vault than the trusted folder"), "{error}");
    }
    std::fs::remove_dir_all(desk.path("ameles-data/untrusted")).expect("removed");
    std::fs::rename(desk.path("ours"), desk.path("ameles-data/untrusted")).expect("moved");
    desk.succeed("check");
}

#[test]
fn a_header_that_was_changed_is_told_as_such_whichever_byte_it_was() {
    let desk = vault();
    let header = desk.path("ameles-data/untrusted/blobs/vault");
    let ours = std::fs::read(&header).expect("the header");
    let mut newer = ours.clone();
    newer[6] = 99;
    // The format is not sealed: an earlier one would have slots opened that nobody sealed so, that of a vault with its
    // journal in the store names a place, and that of a vault whose key is being changed names a key.
    let (mut earlier, mut in_store, mut changing) = (ours.clone(), ours.clone(), ours.clone());
    (earlier[6], in_store[6], changing[6]) = (1, 3, 4);
    let garbled = b"something else entirely".to_vec();
    let changed = "was changed, or cut off";
    let mut unlabelled = ours.clone();
    unlabelled[0] ^= 1;
    let cut_off = ours[..ours.len() - 1].to_vec();
    for (bytes, code, part) in [
        // Its trusted folder knows what it was, and its key tells what was changed.
        (newer, 3, changed),
        (earlier, 3, changed),
        (in_store, 3, changed),
        (changing, 3, changed),
        (unlabelled, 3, changed),
        (cut_off, 3, changed),
        (garbled, 1, "not one of Ameles's"),
    ] {
        std::fs::write(&header, bytes).expect("written");
        for error in refused(&desk, 3) {
            assert!(error.contains("is not the one that was made"), "{error}");
        }
        let before = desk.contents();
        let store = desk.path("ameles-data/untrusted");
        let restore = format!(
            "restore --data other --key-file ameles-data/master.key --store file://{}",
            store.display()
        );
        let error = desk.fail(&restore, code);
        assert!(error.contains(part), "{error}");
        assert_eq!(desk.contents(), before);
    }
    std::fs::write(&header, ours).expect("written");
    desk.succeed("check");
}

#[test]
fn an_older_copy_of_the_trusted_folder_is_refused() {
    let desk = vault();
    copy_folder(&desk.path("ameles-data/trusted"), &desk.path("older"));
    desk.succeed("backup");
    desk.succeed("backup");
    std::fs::rename(desk.path("ameles-data/trusted"), desk.path("newest")).expect("moved");
    std::fs::rename(desk.path("older"), desk.path("ameles-data/trusted")).expect("moved");
    for error in refused(&desk, 4) {
        assert!(error.contains("another gateway has opened this vault since: its epoch is"), "{error}");
        assert!(error.contains("`restore --takeover`"), "{error}");
    }
    std::fs::remove_dir_all(desk.path("ameles-data/trusted")).expect("removed");
    std::fs::rename(desk.path("newest"), desk.path("ameles-data/trusted")).expect("moved");
    desk.succeed("check");
}

/// A copy that is tried before its original has written anything has noted the same epoch for itself.
#[tokio::test]
async fn a_copied_trusted_folder_is_never_told_of_tampering_and_removes_nothing() {
    let desk = vault();
    copy_folder(&desk.path("ameles-data"), &desk.path("copy"));
    let store = desk.path("ameles-data/untrusted");
    let with_copy = format!("--data copy --store file://{}", store.display());
    let refused = || {
        let serve = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";
        for command in [serve, "check", "gc", "gc --remove"] {
            let error = desk.fail(&format!("{command} {with_copy}"), 4);
            assert!(error.contains("another gateway has opened this vault since"), "{error}");
            assert!(error.contains("Delete nothing") && !error.contains("planted"), "{error}");
        }
    };
    let served = TestServer::start(&desk, "");
    refused();
    served.make_bucket("kept").await;
    for name in ["first", "second", "third"] {
        served.s3("kept").put(&Path::from(name), vec![7; 50_000].into()).await.expect("put");
    }
    assert_eq!(served.stop(), 0);
    refused();
    let served = TestServer::start(&desk, "");
    for name in ["first", "second", "third"] {
        let read =
            served.s3("kept").get(&Path::from(name)).await.expect("there").bytes().await.expect("read");
        assert_eq!(read, vec![7; 50_000]);
    }
    assert_eq!(served.stop(), 0);
    desk.succeed("check");
}

#[test]
fn a_planted_bucket_is_named_and_taken_away_by_the_command_that_the_error_says() {
    let desk = vault();
    let planted = desk.path("ameles-data/untrusted/buckets/0000000000/000/000-00000005-0000000000000001");
    std::fs::create_dir_all(planted.parent().expect("a folder")).expect("made");
    std::fs::write(&planted, [3; 100]).expect("written");
    for error in refused(&desk, 3) {
        assert!(
            error.contains("bucket 0 version 5.1 in the store is of an epoch that nobody has claimed"),
            "{error}"
        );
        assert!(error.contains("`ameles gc --remove`"), "{error}");
    }
    assert!(desk.succeed("gc").contains("planted         1 objects, 100 B"));
    assert!(desk.succeed("gc --remove").contains("Removed 1 buckets"));
    assert!(!planted.exists());
    desk.succeed("check");
}

#[test]
fn a_store_that_is_gone_is_missed_and_not_made_anew() {
    let desk = vault();
    std::fs::rename(desk.path("ameles-data/untrusted"), desk.path("gone")).expect("moved");
    for error in refused(&desk, 3) {
        assert!(error.contains("is the folder mounted?"), "{error}");
    }
    std::fs::rename(desk.path("gone"), desk.path("ameles-data/untrusted")).expect("moved");
    desk.succeed("check");
}

#[test]
fn a_planted_claim_is_named_and_gone_again_harmless() {
    let desk = vault();
    let planted = desk.path("ameles-data/untrusted/blobs/epoch/ffffffff");
    std::fs::write(&planted, b"no claim").expect("written");
    for error in refused(&desk, 3) {
        assert!(
            error.contains("epoch/ffffffff in the store is no claim made with this vault's key"),
            "{error}"
        );
    }
    std::fs::remove_file(&planted).expect("removed");
    desk.succeed("check");
}

#[test]
fn without_a_vault_every_command_says_so() {
    let desk = TestFolder::new();
    for command in ["check", "backup", "status"] {
        let error = desk.fail(command, 1);
        assert!(error.contains("ameles-data/trusted: there is no vault"), "{error}");
    }
    assert!(desk.contents().is_empty());
    std::fs::create_dir(desk.path("store")).expect("a folder");
    let error = desk.fail(&format!("restore --store file://{}", desk.path("store").display()), 5);
    assert!(error.contains("the store holds no vault"), "{error}");
}

fn close(desk: &TestFolder, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(desk.path(name), std::fs::Permissions::from_mode(0o600)).expect("set");
}
