//! A vault grows, changes its key or moves. Its successor takes over or is cancelled, and no data is lost.

use super::harness::{Finished, SERVE, SERVING, TestFolder, finish, read_until, signal};
use rustix::process::Signal;
use std::io::Read;
use std::path::Path;

/// Returns the flags of the `ameles serve` line that a command printed for serving the vault from now on.
fn flags_of(stdout: &str) -> String {
    let line = stdout.lines().find_map(|line| line.trim().strip_prefix("ameles serve ")).expect("a line");
    line.to_owned()
}

fn predecessors(folder: &TestFolder) -> usize {
    let trusted = std::fs::read_dir(folder.path("ameles-data/trusted")).expect("a folder");
    let names = trusted.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    names.filter(|name| name.starts_with("predecessor-")).count()
}

/// Serves until standard output contains `until`, then stops; returns standard output.
pub(super) fn serve_until(folder: &TestFolder, flags: &str, until: &str) -> String {
    let server = serve_and_stop(folder, flags, until);
    assert_eq!(server.code, 0, "{}", server.stderr);
    server.stdout
}

/// Serves until standard output contains `until`, then stops.
pub(super) fn serve_and_stop(folder: &TestFolder, flags: &str, until: &str) -> Finished {
    let mut child = folder.command(&format!("{SERVE} {flags}")).spawn().expect("it starts");
    let (mut stdout, mut output) = read_until(&mut child, until);
    let is_serving = stdout.contains(until);
    if is_serving {
        signal(&child, Signal::INT);
    }
    output.read_to_string(&mut stdout).expect("text");
    let finished = Finished { stdout, ..finish(child) };
    assert!(is_serving, "{}{}", finished.stdout, finished.stderr);
    finished
}

#[test]
fn a_vault_grows_and_its_old_flags_are_refused_with_the_new_ones() {
    let folder = TestFolder::with_vault("1MiB");
    let stdout = folder.succeed("migrate --capacity 2MiB");
    let flags = flags_of(&stdout);
    assert!(stdout.contains("remove everything below ameles-data/untrusted"), "{stdout}");
    assert!(folder.succeed("status").contains("2 MiB in blocks of 4 KiB"));
    for command in ["check", "backup", "gc", "migrate --capacity 4MiB", SERVE] {
        let error = folder.fail(command, 2);
        assert!(error.contains("is no longer at ameles-data/untrusted"), "{error}");
        assert!(error.contains(&flags), "{error}");
    }
    folder.succeed(&format!("check {flags}"));
    assert_eq!(predecessors(&folder), 1);
    // A successor can be migrated again.
    let stdout = folder
        .succeed(&format!("migrate {flags} --to file://{} --capacity 3MiB", new_folder(&folder, "third")));
    folder.succeed(&format!("check {}", flags_of(&stdout)));
    assert_eq!(predecessors(&folder), 2);
    let error = folder.fail(&format!("check {flags}"), 2);
    assert!(error.contains("third"), "{error}");
}

#[test]
fn after_a_change_of_the_key_the_old_key_opens_nothing() {
    let folder = TestFolder::with_vault("1MiB");
    let stdout = folder.succeed("migrate --new-key-file new.key");
    let flags = flags_of(&stdout);
    assert!(flags.contains("--key-file") && stdout.contains("Keep its key, new.key"), "{stdout}");
    folder.succeed(&format!("check {flags}"));
    let store =
        flags.split_whitespace().skip_while(|word| *word != "--store").take(2).collect::<Vec<_>>().join(" ");
    let error = folder.fail(&format!("check {store} --key-file ameles-data/master.key"), 1);
    assert!(error.contains("the key does not open this vault"), "{error}");
    // The new passphrase comes from its own variable.
    let line = format!(
        "migrate {store} --key-file new.key --to {} --new-passphrase",
        new_folder_url(&folder, "third")
    );
    let passphrase = "six words are enough";
    let flags = flags_of(&folder.succeed_with(&line, &[("AMELES_NEW_PASSPHRASE", passphrase)]));
    assert!(flags.ends_with("--passphrase"), "{flags}");
    folder.succeed_with(&format!("check {flags}"), &[("AMELES_PASSPHRASE", passphrase)]);
}

#[test]
fn a_restart_switches_to_a_successor_that_was_filled_while_serving() {
    let folder = TestFolder::with_vault("1MiB");
    let stdout = folder
        .succeed("migrate --to STORE --prepare".replace("STORE", &new_folder_url(&folder, "other")).as_str());
    assert!(stdout.contains("fills it while it serves"), "{stdout}");
    // The flags of the successor are refused until it has all blocks.
    let early = folder.fail(&format!("{SERVE} --store {}", new_folder_url(&folder, "other")), 2);
    assert!(early.contains("has only 0 of 256 blocks") && early.contains("ameles serve --data"), "{early}");
    let stdout = serve_until(&folder, "", "The successor has all blocks");
    assert!(stdout.contains("is being filled: 0 of 256 blocks so far"), "{stdout}");
    let status = folder.succeed("status");
    assert!(
        status.contains("256 of 256 blocks") && status.contains("it takes over at the next restart"),
        "{status}"
    );
    assert_eq!(predecessors(&folder), 0);
    // Both lines switch to the successor; the earlier line works only this once.
    let stdout = serve_until(&folder, "", SERVING);
    assert!(stdout.contains("The successor has taken over"), "{stdout}");
    assert_eq!(predecessors(&folder), 1);
    let flags = flags_of(&stdout);
    folder.fail(SERVE, 2);
    let stdout = serve_until(&folder, &flags, SERVING);
    assert!(!stdout.contains("The successor"), "{stdout}");
    folder.succeed(&format!("check {flags}"));
}

#[test]
fn the_line_of_the_successor_switches_to_it_too() {
    let folder = TestFolder::with_vault("1MiB");
    let store = new_folder_url(&folder, "other");
    folder.succeed(&format!("migrate --to {store} --new-key-file new.key --prepare"));
    let stdout = serve_until(&folder, "", "The successor has all blocks");
    // The earlier provider may no longer exist by then.
    std::fs::rename(folder.path("ameles-data/untrusted"), folder.path("gone")).expect("moved");
    let flags = flags_of(&stdout);
    let stdout = serve_until(&folder, &flags, SERVING);
    assert!(stdout.contains("The successor has taken over"), "{stdout}");
    folder.succeed(&format!("check {flags}"));
}

#[test]
fn a_migration_that_is_killed_or_interrupted_continues_where_it_stopped() {
    let folder = TestFolder::with_vault("4MiB");
    // The same command starts and continues the migration.
    let line = "migrate --capacity 5MiB";
    for (name, code) in [(Signal::KILL, -1), (Signal::INT, 130)] {
        let store = folder.path("ameles-data/untrusted-2");
        let before = newest_version(&store);
        let mut child = folder.command(line).spawn().expect("it starts");
        // The number of writes in this opening: enough for the first record of progress, or for a batch. A quarter of
        // the blocks are copied before the first record, and each block writes about one bucket.
        let enough = if name == Signal::KILL { 400 } else { 30 };
        while newest_version(&store) < (before.0 + 1, enough) {
            assert!(child.try_wait().expect("its state").is_none(), "it ended too early");
            std::thread::yield_now();
        }
        signal(&child, name);
        let finished = finish(child);
        assert_eq!(finished.code, code, "{}", finished.stderr);
        if name == Signal::INT {
            assert!(finished.stdout.contains("Continuing after"), "{}", finished.stdout);
            assert!(
                finished.stdout.contains("of 1024 blocks: run `ameles migrate` again"),
                "{}",
                finished.stdout
            );
        }
    }
    let stdout = folder.succeed("migrate");
    let already: u64 = stdout
        .lines()
        .find_map(|line| line.strip_prefix("Continuing after ")?.split(' ').next()?.parse().ok())
        .expect("it continues");
    assert!(already >= 256, "{stdout}");
    folder.succeed(&format!("check {}", flags_of(&stdout)));
}

#[test]
fn a_cancelled_successor_leaves_the_vault_as_it_was() {
    let folder = TestFolder::with_vault("1MiB");
    let before = folder.contents();
    folder.succeed("migrate --capacity 2MiB --new-key-file new.key --prepare");
    serve_until(&folder, "", SERVING);
    let stdout = folder.succeed("migrate --cancel");
    assert!(stdout.contains("ameles-data/untrusted-2"), "{stdout}");
    let trusted = |name: &Path| name.starts_with(folder.path("ameles-data/trusted"));
    let after = folder.contents();
    let new_files: Vec<_> =
        after.keys().filter(|name| trusted(name) && !before.contains_key(*name)).collect();
    assert!(new_files.iter().all(|name| !name.to_string_lossy().contains("successor")), "{new_files:?}");
    folder.succeed("check");
    // A cancellation that stopped before its output can run again.
    let again = folder.succeed("migrate --cancel");
    assert_eq!(again, stdout);
    // Another attempt uses another folder.
    let stdout = folder.succeed("migrate --capacity 2MiB");
    assert!(stdout.contains("ameles-data/untrusted-3"), "{stdout}");
    let flags = flags_of(&stdout);
    let error = folder.fail(&format!("migrate --cancel {flags}"), 2);
    assert!(error.contains("there is no successor to cancel"), "{error}");
}

#[test]
fn the_flags_of_a_successor_continue_it_and_other_flags_are_refused() {
    let folder = TestFolder::with_vault("1MiB");
    let (store, third) = (new_folder_url(&folder, "other"), new_folder_url(&folder, "third"));
    let flags = format!("--to {store} --capacity 2MiB --z 20 --new-key-file new.key");
    folder.succeed(&format!("migrate --prepare {flags}"));
    let before = folder.contents();
    for (others, differs) in [
        ("--capacity 3MiB", "--capacity is 3 MiB, but the successor has 2 MiB"),
        ("--z 8", "--z is 8, but the successor has 20"),
        (&format!("--to {third}"), "--to is"),
        ("--new-key-file other.key", "its key has another source"),
        (&format!("--to {store} --to-option region=there"), "--to-option region differs"),
    ] {
        for prepare in ["", "--prepare"] {
            let error = folder.fail(&format!("migrate {prepare} {others}"), 2);
            assert!(error.contains(differs), "{error}");
            assert!(error.contains("cancel it with `ameles migrate --cancel`"), "{error}");
        }
    }
    assert_eq!(folder.contents(), before, "a refusal changed something");
    for same in ["", &flags, "--capacity 2MiB"] {
        let stdout = folder.succeed(&format!("migrate --prepare {same}"));
        assert!(stdout.contains("The successor already exists"), "{stdout}");
    }
    let stdout = folder.succeed(&format!("migrate {flags}"));
    folder.succeed(&format!("check {}", flags_of(&stdout)));
}

/// Creates a vault whose `migrate --prepare` was killed right before its end.
fn interrupted_after_creation(flags: &str) -> TestFolder {
    let folder = TestFolder::with_vault("1MiB");
    if flags.contains("STORE") {
        new_folder(&folder, "other");
    }
    folder.succeed(&format!("migrate --prepare {}", flags.replace("STORE", &url_of(&folder.path("other")))));
    let successor = folder.path("ameles-data/trusted/successor");
    std::fs::rename(successor.join("note.toml"), successor.join("making.toml")).expect("moved");
    folder
}

/// Creates a vault whose `migrate --prepare` was killed before the successor existed in the store or on the trusted
/// disk.
fn interrupted_before_creation(flags: &str, store: &str) -> TestFolder {
    let folder = TestFolder::with_vault("1MiB");
    if flags.contains("STORE") {
        new_folder(&folder, "other");
    }
    interrupt_before_creation(&folder, &flags.replace("STORE", &url_of(&folder.path("other"))), store);
    folder
}

/// Kills `migrate --prepare` when its record exists, and no vault yet in the store or on the trusted disk.
fn interrupt_before_creation(folder: &TestFolder, flags: &str, store: &str) {
    let successor = folder.path("ameles-data/trusted/successor");
    let record = loop {
        let mut child = folder.command(&format!("migrate --prepare {flags}")).spawn().expect("it starts");
        let read = || std::fs::read_to_string(successor.join("making.toml"));
        let mut record = read();
        while record.is_err() && child.try_wait().expect("its state").is_none() {
            record = read();
        }
        child.kill().expect("it runs");
        finish(child);
        if let Ok(record) = record {
            break record;
        }
        // `migrate` finished before the test saw the record.
        folder.succeed("migrate --cancel");
        std::fs::remove_dir_all(folder.path(store)).expect("removed");
        std::fs::create_dir(folder.path("other")).unwrap_or_default();
    };
    // Undo the later steps, however many it took.
    std::fs::write(successor.join("making.toml"), record).expect("written");
    for file in ["note.toml", "vault.redb"] {
        let _ = std::fs::remove_file(successor.join(file));
    }
    let _ = std::fs::remove_dir_all(folder.path(store));
    std::fs::create_dir(folder.path(store)).expect("created");
}

#[test]
fn a_successor_whose_command_was_killed_after_its_creation_is_filled_or_cancelled() {
    let folder = interrupted_after_creation("--to STORE");
    let error = folder.fail(&format!("migrate --to {}", new_folder_url(&folder, "third")), 2);
    assert!(error.contains("a successor already exists"), "{error}");
    let stdout = folder.succeed(&format!("migrate --to {}", url_of(&folder.path("other"))));
    folder.succeed(&format!("check {}", flags_of(&stdout)));
    let folder = interrupted_after_creation("--capacity 2MiB");
    assert!(folder.succeed("migrate --cancel").contains("untrusted-2"));
    folder.succeed("check");
    assert!(!folder.path("ameles-data/trusted/successor").exists());
}

#[test]
fn a_creation_that_was_killed_before_the_successor_existed_starts_again_or_is_cancelled() {
    for (flags, store) in [("--capacity 2MiB", "ameles-data/untrusted-2"), ("--to STORE", "other")] {
        let folder = interrupted_before_creation(flags, store);
        let flags = flags.replace("STORE", &url_of(&folder.path("other")));
        // Without a successor, the vault is served alone.
        folder.succeed("check");
        let error = folder.fail("migrate", 2);
        assert!(
            error.contains("the creation of a successor was interrupted") && error.contains("--cancel"),
            "{error}"
        );
        let stdout = folder.succeed(&format!("migrate {flags}"));
        assert!(flags_of(&stdout).contains(store) && !stdout.contains("untrusted-3"), "{stdout}");
        folder.succeed(&format!("check {}", flags_of(&stdout)));

        let folder =
            interrupted_before_creation(&flags.replace(&url_of(&folder.path("other")), "STORE"), store);
        let stdout = folder.succeed("migrate --cancel");
        assert!(stdout.contains("nothing was written to") && stdout.contains(store), "{stdout}");
        assert!(folder.path(store).exists() && !folder.path("ameles-data/trusted/successor").exists());
        assert!(folder.succeed("migrate --cancel").contains(store));
        folder.succeed("check");
    }
}

#[test]
fn files_of_an_interrupted_cancellation_block_no_command() {
    let folder = TestFolder::with_vault("1MiB");
    let database = folder.path("ameles-data/trusted/successor/vault.redb");
    let flags = format!("--to {} --capacity 2MiB", new_folder_url(&folder, "other"));
    folder.succeed(&format!("migrate --prepare {flags}"));
    let content = std::fs::read(&database).expect("it is there");
    folder.succeed("migrate --cancel");
    // The state after a kill that follows the removal of the record.
    std::fs::create_dir_all(database.parent().expect("a folder")).expect("created");
    std::fs::write(&database, content).expect("written");
    folder.succeed("check");
    let error = folder.fail(&format!("migrate {flags}"), 2);
    assert!(
        error.contains("other")
            && error.contains("still holds the data of the cancelled successor: empty it"),
        "{error}"
    );
    assert!(folder.succeed("migrate --cancel").contains("other"));
    std::fs::remove_dir_all(folder.path("other")).expect("removed");
    std::fs::create_dir(folder.path("other")).expect("created");
    let stdout = folder.succeed(&format!("migrate {flags}"));
    folder.succeed(&format!("check {}", flags_of(&stdout)));
}

#[test]
fn a_successor_without_a_record_is_removed_only_when_it_is_cancelled() {
    let folder = interrupted_after_creation("--capacity 2MiB");
    std::fs::remove_file(folder.path("ameles-data/trusted/successor/making.toml")).expect("removed");
    let error = folder.fail("migrate --capacity 2MiB", 2);
    assert!(error.contains("without a record of its store") && error.contains("--cancel"), "{error}");
    assert!(folder.path("ameles-data/trusted/successor/vault.redb").exists());
    folder.succeed("migrate --cancel");
    let stdout = folder.succeed("migrate --capacity 2MiB");
    folder.succeed(&format!("check {}", flags_of(&stdout)));
}

#[test]
fn an_impossible_successor_is_refused_and_creates_no_file() {
    let folder = TestFolder::with_vault("1MiB");
    std::fs::create_dir(folder.path("ameles-data/untrusted/inside")).expect("a folder");
    let inside = url_of(&folder.path("ameles-data/untrusted/inside"));
    let (around, same) = (url_of(&folder.path("ameles-data")), url_of(&folder.path("ameles-data/untrusted")));
    for (line, code, parts) in [
        ("migrate", 2, ["say how the successor differs", "--capacity"]),
        ("migrate --prepare", 2, ["say how the successor differs", "--to"]),
        ("migrate --cancel", 2, ["there is no successor", "to cancel"]),
        ("migrate --cancel --prepare", 2, ["--cancel", "--prepare"]),
        (
            "migrate --capacity 512KiB",
            2,
            ["--capacity is 512 KiB, but the vault has 1 MiB", "at least as large"],
        ),
        (
            "migrate --block-size 8KiB",
            2,
            ["--block-size is 8 KiB, but the vault has 4 KiB", "same block size"],
        ),
        ("migrate --to bucket", 2, ["--to is `bucket`", "s3://BUCKET"]),
        ("migrate --to-endpoint http://127.0.0.1:1", 2, ["--to", "--to-endpoint"]),
        (
            "migrate --to file:///no/such/folder",
            5,
            [
                "the successor: --to: there is no folder /no/such/folder",
                "create it with `mkdir -p /no/such/folder`",
            ],
        ),
        ("migrate --to ftp://host/there", 2, ["the successor: --to: ", "ftp://"]),
        (
            "migrate --to s3://b/p --to-option no_such=1",
            2,
            ["the successor: --to-option: ", "has no option \"no_such\""],
        ),
        (&format!("migrate --to {same}"), 2, ["--to is", "overlaps the store of the vault"]),
        (&format!("migrate --to {inside}"), 2, ["--to is", "overlaps the store of the vault"]),
        (&format!("migrate --to {around}"), 2, ["--to is", "overlaps the store of the vault"]),
        (
            "migrate --new-key-file ameles-data/master.key",
            2,
            ["the new key is the key of the vault", "another file"],
        ),
        ("migrate --new-key-file a --new-passphrase", 2, ["--new-key-file", "--new-passphrase"]),
        (
            "migrate --new-key-env NO_SUCH_VARIABLE",
            2,
            ["--new-key-env: ", "environment variable NO_SUCH_VARIABLE is not set"],
        ),
        ("migrate --new-key-file ameles-data", 2, ["--new-key-file: ", "ameles-data"]),
        ("migrate --data elsewhere --capacity 2MiB", 1, ["elsewhere/trusted", "no vault"]),
    ] {
        folder.check_refusal(line, code, &parts);
    }
    let store = format!("--store {}", new_folder_url(&folder, "s"));
    folder.succeed(&format!("init --data other --capacity 1MiB --block-size 4KiB {store}"));
    let error = folder.fail(&format!("migrate --data other {store} --capacity 2MiB"), 2);
    assert!(error.contains("--to is missing"), "{error}");
    let error = folder.fail(&format!("migrate --to {}", new_folder_url(&folder, "s")), 2);
    assert!(error.contains("the successor") && error.contains("the store already holds a vault"), "{error}");
    folder.succeed("check");
}

#[test]
fn while_a_vault_is_served_no_successor_is_created_or_cancelled() {
    let folder = TestFolder::with_vault("1MiB");
    let mut child = folder.command(SERVE).spawn().expect("it starts");
    let (mut stdout, mut output) = read_until(&mut child, SERVING);
    let error = folder.fail("migrate --capacity 2MiB", 4);
    assert!(error.contains("open in another process"), "{error}");
    signal(&child, Signal::INT);
    output.read_to_string(&mut stdout).expect("text");
    assert_eq!(finish(child).code, 0);
}

/// Creates a folder; returns its path.
fn new_folder(folder: &TestFolder, name: &str) -> String {
    std::fs::create_dir_all(folder.path(name)).expect("a folder");
    folder.path(name).display().to_string()
}

/// Creates a folder; returns its URL.
fn new_folder_url(folder: &TestFolder, name: &str) -> String {
    format!("file://{}", new_folder(folder, name))
}

fn url_of(new_folder: &Path) -> String {
    format!("file://{}", new_folder.display())
}

/// Returns the newest version of a bucket in a store: its epoch and its counter.
fn newest_version(store: &Path) -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir(store) else { return (0, 0) };
    let versions = entries.filter_map(Result::ok).map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return newest_version(&path);
        }
        let name = entry.file_name().into_string().unwrap_or_default();
        let numbers: Vec<u64> =
            name.split('-').skip(1).filter_map(|number| u64::from_str_radix(number, 16).ok()).collect();
        if let [epoch, counter] = numbers[..] { (epoch, counter) } else { (0, 0) }
    });
    versions.max().unwrap_or((0, 0))
}
