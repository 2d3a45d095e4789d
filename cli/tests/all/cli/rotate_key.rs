//! A vault gets another key in place. The old key is refused at once; `status` shows when no data under it remains.

use super::harness::{SERVING, TestFolder};
use super::migrate::serve_until;
use redb::{Database, ReadableTable, TableDefinition};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_vault_changes_its_key_in_place_and_says_when_the_change_is_complete() {
    let folder = TestFolder::with_vault("1MiB");
    let stdout = folder.succeed("rotate-key --new-key-file new.key");
    assert!(stdout.contains("ameles serve --data ameles-data --key-file new.key"), "{stdout}");
    let mode = std::fs::metadata(folder.path("new.key")).expect("it exists").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for command in ["backup", "check", "rotate-key --new-key-file other.key"] {
        let error = folder.fail(command, 1);
        assert!(error.contains("does not open this vault"), "{command}: {error}");
    }
    let again = folder.succeed("rotate-key --new-key-file new.key");
    assert!(again.contains("already has this key"), "{again}");
    // `status` shows the change before the vault is served for the first time.
    let status = folder.succeed("status");
    assert!(status.contains("is being changed: 0 of"), "{status}");
    let early = folder.fail("rotate-key --key-file new.key --new-key-file third.key", 1);
    assert!(early.contains("is already being changed"), "{early}");
    // The refused command removes the key file that it created, and leaves a file that existed before.
    assert!(!folder.path("third.key").exists());
    std::fs::copy(folder.path("new.key"), folder.path("existing.key")).expect("copied");
    std::fs::write(folder.path("existing.key"), "08".repeat(32)).expect("written");
    folder.fail("rotate-key --key-file new.key --new-key-file existing.key", 1);
    assert!(folder.path("existing.key").exists());
    // The sweep of so small a vault usually ends during one start; otherwise the next start continues it.
    let is_changing = |folder: &TestFolder| folder.succeed("status").contains("is being changed");
    for _ in 0..10 {
        serve_until(&folder, "--key-file new.key", SERVING);
        if !is_changing(&folder) {
            break;
        }
    }
    assert!(!is_changing(&folder));
    folder.succeed("check --key-file new.key");
    folder.succeed("rotate-key --key-file new.key --new-key-file third.key");
}

#[test]
fn a_new_key_is_required_and_differs_from_the_old_one() {
    let folder = TestFolder::with_new_vault("1MiB");
    let error = folder.fail("rotate-key", 2);
    assert!(error.contains("--new-key-file"), "{error}");
    let same = folder.succeed("rotate-key --new-key-file ameles-data/master.key");
    assert!(same.contains("already has this key"), "{same}");
    std::fs::write(folder.path("bad.key"), "no key").expect("written");
    let error = folder.fail("rotate-key --new-key-file bad.key", 2);
    assert!(error.contains("--new-key-file") && error.contains("bad.key"), "{error}");
    folder.succeed("migrate --prepare --capacity 2MiB");
    let error = folder.fail("rotate-key --new-key-file new.key", 2);
    assert!(error.contains("migrate --cancel"), "{error}");
}

#[test]
fn a_change_that_the_store_refuses_leaves_no_new_key() {
    let folder = TestFolder::with_vault("1MiB");
    let store = folder.path("ameles-data/untrusted");
    let key = "--key-file ameles-data/master.key";
    folder.succeed(&format!("restore --takeover --data other {key} --store file://{}", store.display()));
    let error = folder.fail("rotate-key --new-key-file new.key", 4);
    assert!(error.contains("another gateway has opened this vault since"), "{error}");
    assert!(!folder.path("new.key").exists());
}

/// The table of a trusted disk that holds its values by name.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// Undoes the steps of a key change after the one on the trusted disk. The store holds the header `before` again, and
/// the disk records it.
fn undo_in_the_store(folder: &TestFolder, before: &[u8]) {
    let database = Database::open(folder.path("ameles-data/trusted/vault.redb")).expect("opened");
    let transaction = database.begin_write().expect("a transaction");
    transaction.open_table(META).expect("a table").insert("header-before", before).expect("set");
    transaction.commit().expect("durable");
    std::fs::write(folder.path("ameles-data/untrusted/blobs/vault"), before).expect("written");
}

/// Returns the headers on the trusted disk and in the store.
fn headers(folder: &TestFolder) -> [Vec<u8>; 2] {
    let database = Database::open(folder.path("ameles-data/trusted/vault.redb")).expect("opened");
    let transaction = database.begin_write().expect("a transaction");
    let table = transaction.open_table(META).expect("a table");
    let on_disk = table.get("vault").expect("read").expect("there").value().to_vec();
    [on_disk, std::fs::read(folder.path("ameles-data/untrusted/blobs/vault")).expect("the header")]
}

#[test]
fn the_same_command_finishes_a_change_that_stopped_before_the_store_had_the_new_header() {
    let folder = TestFolder::with_vault("1MiB");
    let [_, before] = headers(&folder);
    folder.succeed("rotate-key --new-key-file new.key");
    undo_in_the_store(&folder, &before);
    let again = folder.succeed("rotate-key --new-key-file new.key");
    assert!(again.contains("already has this key"), "{again}");
    let [on_disk, in_store] = headers(&folder);
    assert!(on_disk == in_store && in_store != before, "the old key still opens the store");
    // After a loss of the machine, the old key cannot restore the vault.
    let store = folder.path("ameles-data/untrusted");
    let restore = format!("restore --takeover --data other --store file://{}", store.display());
    let error = folder.fail(&format!("{restore} --key-file ameles-data/master.key"), 1);
    assert!(error.contains("does not open this vault"), "{error}");
}

#[test]
fn a_change_to_a_passphrase_can_be_repeated_with_the_same_flags() {
    let folder = TestFolder::with_new_vault("1MiB");
    let rotate = |flags: &str, variables: &[(&str, &str)]| {
        folder.succeed_with(&format!("rotate-key {flags}"), variables)
    };
    let (new, old) = (("AMELES_NEW_PASSPHRASE", "six words are enough"), ("AMELES_PASSPHRASE", "too few"));
    let [_, before] = headers(&folder);
    assert!(rotate("--new-passphrase", &[new]).contains("has the new key"));
    undo_in_the_store(&folder, &before);
    for flags in ["--new-passphrase", "--passphrase --new-passphrase"] {
        assert!(rotate(flags, &[new, old]).contains("already has this key"), "{flags}");
        let [on_disk, in_store] = headers(&folder);
        assert_eq!(on_disk, in_store);
    }
}
