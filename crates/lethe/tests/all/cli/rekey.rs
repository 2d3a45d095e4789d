//! A vault gets another key in place: the old one is refused at once, and what it opened is gone when `status` says so.

use super::desk::Desk;
use super::migrate::serve_until;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_vault_changes_its_key_in_place_and_says_when_the_change_is_complete() {
    let desk = Desk::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk.succeed("backup");
    let said = desk.succeed("rekey --new-key-file new.key");
    assert!(said.contains("lethe serve --data lethe-data --key-file new.key"), "{said}");
    let mode = std::fs::metadata(desk.path("new.key")).expect("it was made").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    for command in ["backup", "check", "rekey --new-key-file other.key"] {
        let error = desk.fail(command, 1);
        assert!(error.contains("does not open this vault"), "{command}: {error}");
    }
    let again = desk.succeed("rekey --new-key-file new.key");
    assert!(again.contains("has this key already"), "{again}");
    let early = desk.fail("rekey --key-file new.key --new-key-file third.key", 1);
    assert!(early.contains("is being changed already"), "{early}");
    // The sweep of so small a vault takes no longer than a start; if it does, the next one goes on.
    let is_changing = |desk: &Desk| desk.succeed("status").contains("is being changed");
    for _ in 0..10 {
        serve_until(&desk, "--key-file new.key", "Ctrl-C stops.");
        if !is_changing(&desk) {
            break;
        }
    }
    assert!(!is_changing(&desk));
    desk.succeed("check --key-file new.key");
    desk.succeed("rekey --key-file new.key --new-key-file third.key");
}

#[test]
fn the_new_key_is_asked_for_and_is_not_the_old_one() {
    let desk = Desk::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    let error = desk.fail("rekey", 2);
    assert!(error.contains("--new-key-file"), "{error}");
    let same = desk.succeed("rekey --new-key-file lethe-data/master.key");
    assert!(same.contains("has this key already"), "{same}");
    desk.succeed("migrate --prepare --capacity 2MiB");
    let error = desk.fail("rekey --new-key-file new.key", 2);
    assert!(error.contains("migrate --cancel"), "{error}");
}
