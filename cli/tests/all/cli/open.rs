//! Vaults that must not be opened: a clear error, its exit code, and no change in the folder or the store.

use super::harness::{SERVE, TestFolder, copy_folder};
use super::server::TestServer;
use object_store::ObjectStoreExt;
use object_store::path::Path;

/// Checks that every command that opens a vault is refused with this code; returns the errors.
fn check_refusals(folder: &TestFolder, code: i32) -> Vec<String> {
    let before = folder.contents();
    let errors = ["check", "backup", SERVE].map(|command| folder.fail(command, code));
    assert_eq!(folder.contents(), before, "a refusal changed something");
    errors.to_vec()
}

#[test]
fn a_wrong_key_opens_nothing() {
    let folder = TestFolder::with_vault("1MiB");
    let key = std::fs::read(folder.path("ameles-data/master.key")).expect("the key");
    std::fs::write(folder.path("ameles-data/master.key"), "11".repeat(32)).expect("written");
    for error in check_refusals(&folder, 1) {
        let named = "--key-file is ameles-data/master.key: the key does not open this vault";
        assert!(error.contains(named), "{error}");
    }
    std::fs::write(folder.path("ameles-data/master.key"), "no key").expect("written");
    for error in check_refusals(&folder, 2) {
        assert!(error.contains("master.key holds no key"), "{error}");
    }
    std::fs::remove_file(folder.path("ameles-data/master.key")).expect("removed");
    for error in check_refusals(&folder, 2) {
        assert!(error.contains("--key-file: there is no key file ameles-data/master.key"), "{error}");
    }
    std::fs::write(folder.path("ameles-data/master.key"), key).expect("written");
    restrict_permissions(&folder, "ameles-data/master.key");
    folder.succeed("check");
}

#[test]
fn an_invalid_file_of_users_is_refused_before_an_opening_is_claimed() {
    let folder = TestFolder::with_vault("1MiB");
    std::fs::write(folder.path("ameles-data/trusted/credentials.toml"), "none").expect("written");
    let before = folder.contents();
    let error = folder.fail(SERVE, 1);
    assert!(error.contains("credentials.toml") && error.contains("chmod 600"), "{error}");
    restrict_permissions(&folder, "ameles-data/trusted/credentials.toml");
    let error = folder.fail(SERVE, 1);
    assert!(error.contains("has no valid users"), "{error}");
    assert_eq!(folder.contents(), before, "a refusal changed something");
    std::fs::remove_file(folder.path("ameles-data/trusted/credentials.toml")).expect("removed");
    std::fs::create_dir(folder.path("ameles-data/trusted/credentials.toml")).expect("a folder");
    let error = folder.fail(SERVE, 1);
    assert!(error.contains("is a folder, not a file") && !error.contains("chmod"), "{error}");
}

/// Moves a store back to its place, where it is whole.
fn put_store_back(folder: &TestFolder, from: &str) {
    std::fs::rename(folder.path(from), folder.path("ameles-data/untrusted")).expect("moved");
    folder.succeed("check");
}

#[test]
fn another_vaults_store_is_refused() {
    let (folder, other) = (TestFolder::with_vault("1MiB"), TestFolder::with_vault("1MiB"));
    std::fs::rename(folder.path("ameles-data/untrusted"), folder.path("original")).expect("moved");
    copy_folder(&other.path("ameles-data/untrusted"), &folder.path("ameles-data/untrusted"));
    for error in check_refusals(&folder, 1) {
        assert!(error.contains("the store holds another vault than the trusted folder"), "{error}");
    }
    std::fs::remove_dir_all(folder.path("ameles-data/untrusted")).expect("removed");
    put_store_back(&folder, "original");
}

#[test]
fn a_changed_header_is_detected_whichever_byte_changed() {
    let folder = TestFolder::with_vault("1MiB");
    let header = folder.path("ameles-data/untrusted/blobs/vault");
    let original = std::fs::read(&header).expect("the header");
    let mut newer_format = original.clone();
    newer_format[6] = 99;
    // The format number is not sealed. An earlier format would open slots that nobody sealed that way. If the journal
    // is in the store, the vault's format names a place. If the key is being changed, the format names a key.
    let (mut earlier_format, mut in_store, mut changing) =
        (original.clone(), original.clone(), original.clone());
    (earlier_format[6], in_store[6], changing[6]) = (1, 3, 4);
    let garbage = b"something else entirely".to_vec();
    let changed = "was changed, or cut off";
    let mut unlabelled = original.clone();
    unlabelled[0] ^= 1;
    let cut_off = original[..original.len() - 1].to_vec();
    for (bytes, code, part) in [
        // The trusted folder has a copy of the header, and the key detects a change.
        (newer_format, 3, changed),
        (earlier_format, 3, changed),
        (in_store, 3, changed),
        (changing, 3, changed),
        (unlabelled, 3, changed),
        (cut_off, 3, changed),
        (garbage, 1, "not one of Ameles's"),
    ] {
        std::fs::write(&header, bytes).expect("written");
        for error in check_refusals(&folder, 3) {
            assert!(error.contains("is not the one that was made"), "{error}");
        }
        let before = folder.contents();
        let store = folder.path("ameles-data/untrusted");
        let restore = format!(
            "restore --data other --key-file ameles-data/master.key --store file://{}",
            store.display()
        );
        let error = folder.fail(&restore, code);
        assert!(error.contains(part), "{error}");
        assert_eq!(folder.contents(), before);
    }
    std::fs::write(&header, original).expect("written");
    folder.succeed("check");
}

#[test]
fn an_older_copy_of_the_trusted_folder_is_refused() {
    let folder = TestFolder::with_vault("1MiB");
    copy_folder(&folder.path("ameles-data/trusted"), &folder.path("older"));
    folder.succeed("backup");
    folder.succeed("backup");
    std::fs::rename(folder.path("ameles-data/trusted"), folder.path("newest")).expect("moved");
    std::fs::rename(folder.path("older"), folder.path("ameles-data/trusted")).expect("moved");
    for error in check_refusals(&folder, 4) {
        assert!(error.contains("another gateway has opened this vault since: its epoch is"), "{error}");
        assert!(error.contains("`restore --takeover`"), "{error}");
    }
    std::fs::remove_dir_all(folder.path("ameles-data/trusted")).expect("removed");
    std::fs::rename(folder.path("newest"), folder.path("ameles-data/trusted")).expect("moved");
    folder.succeed("check");
}

/// A copy that is started before its original has written anything claims the same epoch.
#[tokio::test]
async fn a_copied_trusted_folder_reports_no_tampering_and_removes_nothing() {
    let folder = TestFolder::with_vault("1MiB");
    copy_folder(&folder.path("ameles-data"), &folder.path("copy"));
    let store = folder.path("ameles-data/untrusted");
    let with_copy = format!("--data copy --store file://{}", store.display());
    let refuse_copy = || {
        for command in [SERVE, "check", "gc", "gc --remove"] {
            let error = folder.fail(&format!("{command} {with_copy}"), 4);
            assert!(error.contains("another gateway has opened this vault since"), "{error}");
            assert!(error.contains("Delete nothing") && !error.contains("planted"), "{error}");
        }
    };
    let server = TestServer::start(&folder, "");
    refuse_copy();
    server.create_bucket("bucket").await;
    for name in ["first", "second", "third"] {
        server.s3("bucket").put(&Path::from(name), vec![7; 50_000].into()).await.expect("put");
    }
    assert_eq!(server.stop(), 0);
    refuse_copy();
    let server = TestServer::start(&folder, "");
    for name in ["first", "second", "third"] {
        let read =
            server.s3("bucket").get(&Path::from(name)).await.expect("there").bytes().await.expect("read");
        assert_eq!(read, vec![7; 50_000]);
    }
    assert_eq!(server.stop(), 0);
    folder.succeed("check");
}

#[test]
fn an_error_names_a_planted_bucket_and_the_command_that_removes_it() {
    let folder = TestFolder::with_vault("1MiB");
    let planted = folder.path("ameles-data/untrusted/buckets/0000000000/000/000-00000005-0000000000000001");
    std::fs::create_dir_all(planted.parent().expect("a folder")).expect("made");
    std::fs::write(&planted, [3; 100]).expect("written");
    for error in check_refusals(&folder, 3) {
        assert!(
            error.contains("bucket 0 version 5.1 in the store is of an epoch that nobody has claimed"),
            "{error}"
        );
        assert!(error.contains("`ameles gc --remove`"), "{error}");
    }
    assert!(folder.succeed("gc").contains("planted         1 object, 100 B"));
    assert!(folder.succeed("gc --remove").contains("Removed 1 bucket, "));
    assert!(!planted.exists());
    folder.succeed("check");
}

#[test]
fn a_missing_store_is_an_error_and_not_created_again() {
    let folder = TestFolder::with_vault("1MiB");
    std::fs::rename(folder.path("ameles-data/untrusted"), folder.path("gone")).expect("moved");
    for error in check_refusals(&folder, 3) {
        assert!(
            error.contains("is the folder mounted?") && error.contains("--store is not given"),
            "{error}"
        );
    }
    put_store_back(&folder, "gone");
}

#[test]
fn a_planted_claim_is_named_and_harmless_after_its_removal() {
    let folder = TestFolder::with_vault("1MiB");
    let planted = folder.path("ameles-data/untrusted/blobs/epoch/ffffffff");
    std::fs::write(&planted, b"no claim").expect("written");
    for error in check_refusals(&folder, 3) {
        assert!(
            error.contains("epoch/ffffffff in the store is not a claim made with this vault's key"),
            "{error}"
        );
    }
    std::fs::remove_file(&planted).expect("removed");
    folder.succeed("check");
}

#[test]
fn without_a_vault_every_command_says_so() {
    let folder = TestFolder::new();
    for command in ["check", "backup", "status"] {
        let error = folder.fail(command, 1);
        assert!(error.contains("ameles-data/trusted: there is no vault"), "{error}");
    }
    assert!(folder.contents().is_empty());
    std::fs::create_dir(folder.path("store")).expect("a folder");
    let error = folder.fail(&format!("restore --store file://{}", folder.path("store").display()), 5);
    assert!(error.contains("the store holds no vault"), "{error}");
}

/// Returns all files below a folder, sorted.
fn files_below(folder: &std::path::Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut files: Vec<_> =
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect();
    files.sort();
    files
}

#[tokio::test]
async fn check_names_the_objects_that_the_store_changed_and_gc_reports_those_of_a_wrong_size() {
    let folder = TestFolder::with_vault("1MiB");
    let server = TestServer::start(&folder, "");
    server.create_bucket("bucket").await;
    for name in ["first", "second", "third"] {
        server.s3("bucket").put(&Path::from(name), vec![7; 50_000].into()).await.expect("put");
    }
    assert_eq!(server.stop(), 0);
    let report = folder.succeed("gc");
    assert!(report.contains("missing         0 buckets in use\n"), "{report}");
    let store = folder.path("ameles-data/untrusted");
    // Of the versions of a bucket, the last one is in use. A fault of a bucket that the opening reads ends the opening.
    let last = files_below(&store.join("buckets")).into_iter().rev().find(|file| {
        let original = std::fs::read(file).expect("a file");
        let mut changed = original.clone();
        changed[0] ^= 1;
        std::fs::write(file, changed).expect("written");
        let checked = folder.run("check");
        std::fs::write(file, original).expect("written");
        let name = file.strip_prefix(&store).expect("below").display();
        checked.code == 3
            && checked.stdout.contains(&format!("; its object is {name}\n"))
            && checked.stdout.contains("Put them back")
    });
    let last = last.expect("a fault that is named by its object");
    let original = std::fs::read(&last).expect("a file");
    let check_gc = |part: &str| {
        let report = folder.run("gc");
        assert_eq!(report.code, 3, "{}{}", report.stdout, report.stderr);
        let both = report.stdout.contains(part) && report.stdout.contains("`ameles check`");
        assert!(both, "{part}: {}{}", report.stdout, report.stderr);
    };
    std::fs::write(&last, "short").expect("written");
    check_gc("spoilt          1 object in");
    std::fs::remove_file(&last).expect("removed");
    check_gc("missing         1 bucket in use: \"bucket ");
    std::fs::write(&last, original).expect("written");
    folder.succeed("gc");
    folder.succeed("check");
}

#[test]
fn a_lost_database_is_damage_and_not_a_missing_vault() {
    let folder = TestFolder::with_vault("1MiB");
    let (database, lost) = (folder.path("ameles-data/trusted/vault.redb"), folder.path("lost"));
    std::fs::rename(&database, &lost).expect("moved");
    for is_empty in [false, true] {
        if is_empty {
            std::fs::write(&database, "").expect("written");
        }
        for error in check_refusals(&folder, 1) {
            assert!(error.contains("vault.redb is missing or empty; `ameles restore --takeover`"), "{error}");
        }
    }
    std::fs::rename(&lost, &database).expect("moved");
    folder.succeed("check");
}

fn restrict_permissions(folder: &TestFolder, name: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(folder.path(name), std::fs::Permissions::from_mode(0o600)).expect("set");
}
