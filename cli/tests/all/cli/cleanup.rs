//! A failed `ameles init` or first `ameles serve` removes all files that it created, and touches no other file.

use super::harness::{SERVE, SERVING, TestFolder, finish, read_until, signal};
use ameles_vault::TrustedDisk;
use redb::{Database, TableDefinition};
use rustix::process::Signal;
use std::io::Read;
use std::net::{SocketAddr, TcpListener};
use std::process::Child;

/// Creates the folder `store`; returns the flag that names it.
fn new_store(folder: &TestFolder) -> String {
    std::fs::create_dir(folder.path("store")).expect("a folder");
    format!("--store file://{}", folder.path("store").display())
}

/// Creates a vault in the folder `first` and ships a checkpoint of it; returns the flag that names its store.
fn vault_with_checkpoint(folder: &TestFolder) -> String {
    let store = new_store(folder);
    folder.succeed(&format!("init --data first --capacity 1MiB --block-size 4KiB {store}"));
    folder.succeed(&format!("backup --data first {store}"));
    store
}

/// Returns the flags of a store at an S3 provider.
fn s3_store(endpoint: SocketAddr) -> String {
    let credentials = "--store-option access_key_id=a --store-option secret_access_key=b";
    format!("--store s3://b --endpoint http://{endpoint} {credentials}")
}

#[test]
fn a_missing_store_leaves_no_file() {
    let folder = TestFolder::new();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
    let s3 = s3_store(closed);
    for store in ["--store file:///no/such/folder", &s3] {
        for command in ["init", SERVE] {
            folder.check_refusal(&format!("{command} {store}"), 5, &["--store"]);
        }
    }
}

/// The vault is as `init` leaves it when it is killed right after it created the vault.
#[test]
fn a_repeated_init_names_the_command_that_serves_the_existing_vault() {
    let folder = TestFolder::with_new_vault("1MiB");
    let part = "the trusted folder already holds a vault: `ameles serve` serves it";
    folder.check_refusal("init --capacity 1MiB --block-size 4KiB", 2, &[part]);
}

#[test]
fn a_store_that_holds_another_vault_leaves_nothing_and_is_not_changed() {
    let folder = TestFolder::new();
    let store = new_store(&folder);
    folder.succeed(&format!("init --data first --capacity 1MiB {store}"));
    let line = format!("init --data second --capacity 1MiB {store}");
    folder.check_refusal(&line, 2, &["the store already holds a vault"]);
}

#[test]
fn existing_files_stay() {
    let folder = TestFolder::new();
    std::fs::create_dir_all(folder.path("data/trusted")).expect("a folder");
    std::fs::write(folder.path("data/trusted/other"), "content").expect("written");
    std::fs::write(folder.path("data/mine.key"), "no key").expect("written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let closed = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(folder.path("data/mine.key"), closed).expect("set");
    }
    folder.check_refusal("init --data data --key-file data/mine.key", 2, &["--key-file", "holds no key"]);
    folder.check_refusal("init --data data --store file:///no/such/folder", 5, &[]);
}

#[test]
fn an_error_names_a_data_folder_that_cannot_be_created() {
    let folder = TestFolder::new();
    std::fs::write(folder.path("file"), "no folder").expect("written");
    folder.check_refusal("init --data file/data", 1, &["--data", "file/data"]);
    let store = new_store(&folder);
    folder.check_refusal(&format!("init --data file/data {store}"), 1, &["--data", "file/data"]);
}

#[test]
fn an_occupied_port_leaves_no_file() {
    let folder = TestFolder::new();
    let occupied = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = occupied.local_addr().expect("its address");
    for flags in
        [format!("--listen {address} --admin 127.0.0.1:0"), format!("--listen 127.0.0.1:0 --admin {address}")]
    {
        let parts = [&*address.to_string(), "in use by another program"];
        folder.check_refusal(&format!("serve {flags}"), 1, &parts);
    }
}

#[test]
fn a_refused_restore_leaves_no_file() {
    let folder = TestFolder::new();
    let store = new_store(&folder);
    folder.succeed(&format!("init --data first --capacity 1MiB {store}"));
    let receipt = folder.succeed(&format!("backup --data first {store}"));
    let refuse = |flags: &str, code, parts: &[&str]| {
        folder.check_refusal(&format!("restore --data second {store} {flags}"), code, parts);
    };
    refuse("--key-file first/master.key", 4, &["--takeover"]);
    let other = receipt.trim().replacen("ameles1-", "ameles1-00", 1);
    refuse(&format!("--key-file first/master.key --takeover --expect {other}"), 2, &[]);
    refuse("--key-file no.key --takeover", 2, &[]);
}

#[test]
fn a_restore_without_a_receipt_warns_once() {
    let folder = TestFolder::new();
    let store = vault_with_checkpoint(&folder);
    let restore = format!("restore --data second --key-file first/master.key --takeover {store}");
    let restored = folder.run(&restore);
    assert_eq!(restored.code, 0, "{}", restored.stderr);
    let serve = format!("ameles serve --data second {store} --key-file first/master.key");
    assert!(restored.stdout.contains(&serve), "{}", restored.stdout);
    let status = folder.succeed("status --data second");
    let receipt = restored.stdout.lines().last().expect("a receipt");
    assert!(receipt.starts_with("ameles1-") && status.contains(receipt), "{status}");
    // It is of the newest checkpoint in the store, so that a later restore accepts no older state.
    let contents = folder.contents();
    let folder_of_checkpoints = folder.path("store/blobs/checkpoint");
    let checkpoints = contents.keys().filter(|path| path.parent() == Some(&folder_of_checkpoints));
    let newest = checkpoints.filter_map(|path| path.file_name()?.to_str()).max().expect("a checkpoint");
    let fields: Vec<u64> =
        receipt.split('-').skip(2).take(2).map(|field| field.parse().expect("a number")).collect();
    assert_eq!(newest, format!("{:08x}-{:016x}", fields[0], fields[1]), "{receipt}");
    assert_eq!(
        restored.stderr.matches("cannot detect that the store was rolled back").count(),
        1,
        "{}",
        restored.stderr
    );
    // The gateway has ended: nobody waits for it.
    assert!(!restored.stderr.contains("old gateway"), "{}", restored.stderr);
    // No eviction has written a bucket yet.
    let announced = restored.stderr.matches("The restore fetches 0 B of 0 buckets, and it writes").count();
    assert_eq!(announced, 1, "{}", restored.stderr);
}

#[test]
fn the_same_command_finishes_a_restore_that_was_killed_at_its_end() {
    let folder = TestFolder::new();
    let store = vault_with_checkpoint(&folder);
    let restore = format!("restore --data second --key-file first/master.key --takeover {store}");
    folder.succeed(&restore);
    // The vault is complete, but its copy is not removed yet.
    std::fs::create_dir_all(folder.path("second/restoring/buckets")).expect("a folder");
    std::fs::write(folder.path("second/restoring/stash.redb"), "sealed").expect("written");
    let stdout = folder.succeed(&restore);
    assert!(stdout.contains("The vault is restored"), "{stdout}");
    assert!(!folder.path("second/restoring").exists());
    let receipt = stdout.lines().last().expect("a receipt");
    let third =
        format!("restore --data third --key-file first/master.key --takeover {store} --expect {receipt}");
    folder.succeed(&third);
    // A finished restore does not run again.
    let error = folder.fail(&restore, 2);
    assert!(error.contains("already holds a vault"), "{error}");
}

#[test]
fn no_vault_is_created_while_a_restore_is_unfinished() {
    for is_recorded in [true, false] {
        let folder = TestFolder::new();
        std::fs::create_dir_all(folder.path("ameles-data/trusted")).expect("a folder");
        let file = folder.path("ameles-data/trusted/vault.redb");
        drop(TrustedDisk::open(&file).expect("created"));
        let database = Database::open(file).expect("a database");
        if is_recorded {
            let transaction = database.begin_write().expect("a transaction");
            let meta = TableDefinition::<&str, &[u8]>::new("meta");
            transaction
                .open_table(meta)
                .expect("a table")
                .insert("restoring", &b"unfinished"[..])
                .expect("set");
            transaction.commit().expect("durable");
        } else {
            std::fs::create_dir(folder.path("ameles-data/restoring")).expect("a folder");
        }
        drop(database);
        for command in ["init", SERVE, "status", "check", "backup", "rotate-key --new-key-file new.key"] {
            folder.check_refusal(command, 1, &["was not finished: run `ameles restore` again"]);
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_init_leaves_no_file_and_an_interrupted_start_loses_nothing() {
    let folder = TestFolder::new();
    // A provider that accepts connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = silent.local_addr().expect("its address");
    let s3 = s3_store(endpoint);
    let child = folder.command(&format!("init {s3}")).spawn().expect("it starts");
    let (_connection, _) = silent.accept().expect("it connects to the provider");
    signal(&child, Signal::INT);
    let finished = finish(child);
    assert_eq!(finished.code, 130, "{}", finished.stderr);
    assert!(folder.contents().is_empty(), "{:?}", folder.contents().keys());

    folder.succeed("init --capacity 1MiB");
    for _ in 0..5 {
        let child = folder.command(SERVE).spawn().expect("it starts");
        wait_for_signal_handler(&child);
        signal(&child, Signal::INT);
        finish(child);
    }
    let mut child = folder.command(SERVE).spawn().expect("it starts");
    let (_, mut output) = read_until(&mut child, SERVING);
    signal(&child, Signal::INT);
    std::io::copy(&mut output, &mut std::io::sink()).expect("text");
    assert_eq!(finish(child).code, 0);
    folder.succeed("check");
}

#[cfg(unix)]
#[test]
fn two_ctrl_c_at_once_stop_cleanly() {
    let folder = TestFolder::new();
    folder.succeed("init --capacity 1MiB");
    let mut child = folder.command(SERVE).spawn().expect("it starts");
    let (mut stdout, mut output) = read_until(&mut child, SERVING);
    // The test sends both signals itself: starting another program for each could take too long.
    for _ in 0..2 {
        signal(&child, Signal::INT);
    }
    output.read_to_string(&mut stdout).expect("text");
    let finished = finish(child);
    assert_eq!(finished.code, 0, "{}", finished.stderr);
    assert!(stdout.contains("Stopped. Receipt of the last checkpoint"), "{stdout}");
}

/// Waits until the program handles interrupts itself; this takes less than a second.
#[cfg(target_os = "linux")]
fn wait_for_signal_handler(child: &Child) {
    let interrupt = 1 << (Signal::INT.as_raw() - 1);
    loop {
        let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).expect("its state");
        let caught = status.lines().find_map(|line| line.strip_prefix("SigCgt:")).expect("a mask of signals");
        let listens = u64::from_str_radix(caught.trim(), 16).expect("a mask") & interrupt != 0;
        if listens || status.contains("State:\tZ") {
            return;
        }
        std::thread::yield_now();
    }
}

#[test]
fn the_next_command_finishes_a_database_whose_creation_was_killed() {
    let folder = TestFolder::new();
    let write_incomplete_database = |file: &str| {
        let file = folder.path(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("created");
        std::fs::write(file, vec![0; 8192]).expect("written");
    };
    write_incomplete_database("ameles-data/trusted/vault.redb");
    folder.succeed("init --capacity 1MiB");
    write_incomplete_database("ameles-data/trusted/successor/vault.redb");
    folder.succeed("check");
    folder.succeed("migrate --cancel");
    write_incomplete_database("ameles-data/trusted/successor/vault.redb");
    folder.succeed("migrate --capacity 2MiB --prepare");
    folder.succeed("migrate");
}
