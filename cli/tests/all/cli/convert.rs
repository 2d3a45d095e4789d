//! The place of a vault's journal: its default, what the owner is told of it, and its conversion in place.

use super::harness::{SERVING, TestFolder};
use super::migrate::serve_until;

fn status_has(folder: &TestFolder, parts: &[&str]) {
    let status = folder.succeed("status");
    for part in parts {
        assert!(status.contains(part), "{part} is missing in\n{status}");
    }
}

const ON_DISK: &str = "journal         announcements and payloads on the trusted disk";
const IN_STORE: &str = "journal         announcements on the trusted disk, payloads in the store";

#[test]
fn a_journal_moves_into_the_store_and_back_and_the_owner_reads_where_it_is() {
    let folder = TestFolder::with_vault("1MiB");
    status_has(&folder, &[ON_DISK, "or of the last 5m", "nothing would be lost: the store has every access"]);
    let stdout = folder.succeed("convert --journal store");
    assert!(stdout.contains("a lost machine loses no acknowledged write"), "{stdout}");
    assert!(stdout.contains("ameles serve --data ameles-data"), "{stdout}");
    status_has(&folder, &[IN_STORE, "a lost machine  loses no acknowledged write", "10^6 accesses"]);
    serve_until(&folder, "", SERVING);
    status_has(
        &folder,
        &[IN_STORE, "recovery point  nothing acknowledged would be lost", "log lag         none"],
    );
    let logged = folder.path("ameles-data/untrusted/blobs/log");
    assert!(logged.is_dir(), "the opening has begun a journal in the store");
    folder.succeed("check");
    // Converting it again changes nothing.
    folder.succeed("convert --journal store");
    let refused = folder.fail("serve --journal disk", 2);
    assert!(refused.contains("--journal is disk, but the vault has store"), "{refused}");
    folder.succeed("convert --journal disk");
    serve_until(&folder, "", SERVING);
    status_has(&folder, &[ON_DISK, "manifest"]);
    folder.succeed("check");
    folder.succeed("migrate --prepare --capacity 2MiB");
    let refused = folder.fail("convert --journal store", 2);
    assert!(refused.contains("migrate --cancel"), "{refused}");
}

#[test]
fn the_requests_of_a_backup_and_of_a_check_are_counted() {
    let folder = TestFolder::with_vault("1MiB");
    let requests = || {
        let status = folder.succeed("status");
        let line = status.lines().find(|line| line.starts_with("  requests")).expect("a line").to_owned();
        line.split_whitespace().nth(1).and_then(|count| count.parse::<u64>().ok()).expect("a number")
    };
    let mut before = requests();
    for command in ["backup", "check", "convert --journal store"] {
        folder.succeed(command);
        let after = requests();
        assert!(after > before, "{command}: {after} after {before}");
        before = after;
    }
}

#[test]
fn a_lost_trusted_folder_is_named_with_the_command_that_restores_it() {
    let folder = TestFolder::with_vault("1MiB");
    let trusted = folder.path("ameles-data/trusted");
    std::fs::write(trusted.join("credentials.toml"), "").expect("written");
    for file in std::fs::read_dir(&trusted).expect("listed") {
        let file = file.expect("listed").path();
        if file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("vault")) {
            std::fs::remove_file(file).expect("removed");
        }
    }
    let error = folder.fail("init", 2);
    assert!(error.contains("ameles-data/trusted/vault.redb is missing"), "{error}");
    let command = error.split('`').find(|part| part.starts_with("ameles restore --takeover --store file://"));
    let command = command.unwrap_or_else(|| panic!("no command in {error}"));
    folder.succeed(command.strip_prefix("ameles ").expect("it is ours"));
    folder.succeed("check");
    let error = folder.fail(&command["ameles ".len()..], 2);
    assert!(error.contains("ameles-data/trusted: the trusted folder already holds a vault"), "{error}");
}

#[test]
fn a_hint_names_the_folder_unless_it_is_the_default() {
    let folder = TestFolder::new();
    let stdout = folder.succeed("init --data elsewhere --capacity 1MiB");
    assert!(stdout.contains("Serve it with `ameles serve --data elsewhere`."), "{stdout}");
    let stdout = folder.succeed("init --capacity 1MiB");
    assert!(stdout.contains("Serve it with `ameles serve`."), "{stdout}");
}
