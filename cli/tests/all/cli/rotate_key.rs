//! A vault gets another key in place: the old one is refused at once, and what it opened is gone when `status` says so.

use super::harness::{TestFolder, finish};
use super::migrate::serve_until;
use redb::{Database, ReadableTable, TableDefinition};
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_vault_changes_its_key_in_place_and_says_when_the_change_is_complete() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    let said = desk.succeed("rotate-key --new-key-file new.key");
    assert!(said.contains("ameles serve --data ameles-data --key-file new.key"), "{said}");
    let mode = std::fs::metadata(desk.path("new.key")).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for command in ["backup", "check", "rotate-key --new-key-file other.key"] {
        let error = desk.fail(command, 1);
        assert!(error.contains("does not open this vault"), "{command}: {error}");
    }
    let again = desk.succeed("rotate-key --new-key-file new.key");
    assert!(again.contains("already has this key"), "{again}");
    // It is told of before the vault is served for the first time.
    let told = desk.succeed("status");
    assert!(told.contains("is being changed: 0 of"), "{told}");
    let early = desk.fail("rotate-key --key-file new.key --new-key-file third.key", 1);
    assert!(early.contains("is being changed already"), "{early}");
    // A file that it has made for nothing goes, and one that was there stays.
    assert!(!desk.path("third.key").exists());
    std::fs::copy(desk.path("new.key"), desk.path("kept.key")).expect("copied");
    std::fs::write(desk.path("kept.key"), "08".repeat(32)).expect("written");
    desk.fail("rotate-key --key-file new.key --new-key-file kept.key", 1);
    assert!(desk.path("kept.key").exists());
    // The sweep of so small a vault takes no longer than a start; if it does, the next one goes on.
    let is_changing = |desk: &TestFolder| desk.succeed("status").contains("is being changed");
    for _ in 0..10 {
        serve_until(&desk, "--key-file new.key", "Press Ctrl-C to stop.");
        if !is_changing(&desk) {
            break;
        }
    }
    assert!(!is_changing(&desk));
    desk.succeed("check --key-file new.key");
    desk.succeed("rotate-key --key-file new.key --new-key-file third.key");
}

#[test]
fn the_new_key_is_asked_for_and_is_not_the_old_one() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    let error = desk.fail("rotate-key", 2);
    assert!(error.contains("--new-key-file"), "{error}");
    let same = desk.succeed("rotate-key --new-key-file ameles-data/master.key");
    assert!(same.contains("already has this key"), "{same}");
    desk.succeed("migrate --prepare --capacity 2MiB");
    let error = desk.fail("rotate-key --new-key-file new.key", 2);
    assert!(error.contains("migrate --cancel"), "{error}");
}

#[test]
fn a_change_that_the_store_refuses_leaves_no_new_key() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    let store = desk.path("ameles-data/untrusted");
    let key = "--key-file ameles-data/master.key";
    desk.succeed(&format!("restore --takeover --data other {key} --store file://{}", store.display()));
    let error = desk.fail("rotate-key --new-key-file new.key", 4);
    assert!(error.contains("another gateway has opened this vault since"), "{error}");
    assert!(!desk.path("new.key").exists());
}

/// The values of a trusted disk by name.
const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

/// Takes back what a change of the key does after its step on the trusted disk: the header `before` is in the store again,
/// and the disk remembers it.
fn cut_off_before_the_store(desk: &TestFolder, before: &[u8]) {
    let database = Database::open(desk.path("ameles-data/trusted/vault.redb")).expect("opened");
    let changing = database.begin_write().expect("begun");
    changing.open_table(META).expect("a table").insert("header-before", before).expect("set");
    changing.commit().expect("durable");
    std::fs::write(desk.path("ameles-data/untrusted/blobs/vault"), before).expect("written");
}

/// The headers on the trusted disk and in the store.
fn headers(desk: &TestFolder) -> [Vec<u8>; 2] {
    let database = Database::open(desk.path("ameles-data/trusted/vault.redb")).expect("opened");
    let changing = database.begin_write().expect("begun");
    let table = changing.open_table(META).expect("a table");
    let on_disk = table.get("vault").expect("read").expect("there").value().to_vec();
    [on_disk, std::fs::read(desk.path("ameles-data/untrusted/blobs/vault")).expect("the header")]
}

#[test]
fn a_change_that_was_cut_off_before_the_store_had_the_new_header_is_finished_by_the_same_command() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    let [_, before] = headers(&desk);
    desk.succeed("rotate-key --new-key-file new.key");
    cut_off_before_the_store(&desk, &before);
    let again = desk.succeed("rotate-key --new-key-file new.key");
    assert!(again.contains("already has this key"), "{again}");
    let [on_disk, in_store] = headers(&desk);
    assert!(on_disk == in_store && in_store != before, "the old key still opens the store");
    // A machine that is lost now does not come back with the old key.
    let store = desk.path("ameles-data/untrusted");
    let restore = format!("restore --takeover --data other --store file://{}", store.display());
    let error = desk.fail(&format!("{restore} --key-file ameles-data/master.key"), 1);
    assert!(error.contains("does not open this vault"), "{error}");
}

#[test]
fn a_change_to_a_passphrase_can_be_repeated_with_the_same_flags() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    let rotate = |flags: &str, variables: &[(&str, &str)]| {
        let mut command = desk.command(&format!("rotate-key {flags}"));
        let ended = finish(command.envs(variables.iter().copied()).spawn().expect("it starts"));
        assert_eq!(ended.code, 0, "{}", ended.complained);
        ended.said
    };
    let (new, old) = (("AMELES_NEW_PASSPHRASE", "six words are enough"), ("AMELES_PASSPHRASE", "too few"));
    let [_, before] = headers(&desk);
    assert!(rotate("--new-passphrase", &[new]).contains("has the new key"));
    cut_off_before_the_store(&desk, &before);
    for flags in ["--new-passphrase", "--passphrase --new-passphrase"] {
        assert!(rotate(flags, &[new, old]).contains("already has this key"), "{flags}");
        let [on_disk, in_store] = headers(&desk);
        assert_eq!(on_disk, in_store);
    }
}
