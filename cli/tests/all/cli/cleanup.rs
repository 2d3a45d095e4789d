//! A failed `ameles init`, or first `ameles serve`, leaves nothing that it made itself, and nothing else is touched.

use super::harness::{TestFolder, finish};
use ameles_vault::TrustedDisk;
use redb::{Database, TableDefinition};
use std::io::{BufRead, Read};
use std::net::TcpListener;
use std::process::{Child, Command};

/// Makes a vault in the folder `first` and ships a checkpoint of it; returns the flag that names its store.
fn shipped(desk: &TestFolder) -> String {
    std::fs::create_dir(desk.path("store")).expect("a folder");
    let store = format!("--store file://{}", desk.path("store").display());
    desk.succeed(&format!("init --data first --capacity 1MiB --block-size 4KiB {store}"));
    desk.succeed(&format!("backup --data first {store}"));
    store
}

#[test]
fn a_store_that_is_not_there_leaves_nothing() {
    let desk = TestFolder::new();
    let closed = TcpListener::bind("127.0.0.1:0").and_then(|port| port.local_addr()).expect("a port");
    let s3 = format!(
        "--store s3://b --endpoint http://{closed} --store-option access_key_id=a --store-option secret_access_key=b"
    );
    for store in ["--store file:///no/such/folder", &s3] {
        for command in ["init", "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0"] {
            let error = desk.fail(&format!("{command} {store}"), 5);
            assert!(error.contains("--store"), "{error}");
            assert!(desk.contents().is_empty(), "{:?}", desk.contents().keys());
        }
    }
}

/// As after one that was killed when it had just made the vault.
#[test]
fn an_init_that_is_repeated_says_what_serves_the_vault_that_there_is() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    let before = desk.contents();
    let error = desk.fail("init --capacity 1MiB --block-size 4KiB", 2);
    assert!(error.contains("the trusted folder already holds a vault: `ameles serve` serves it"), "{error}");
    assert_eq!(desk.contents(), before);
}

#[test]
fn a_store_that_holds_another_vault_leaves_nothing_and_is_not_changed() {
    let desk = TestFolder::new();
    std::fs::create_dir(desk.path("store")).expect("a folder");
    let store = format!("--store file://{}", desk.path("store").display());
    desk.succeed(&format!("init --data first --capacity 1MiB {store}"));
    let before = desk.contents();
    let error = desk.fail(&format!("init --data second --capacity 1MiB {store}"), 2);
    assert!(error.contains("the store already holds a vault"), "{error}");
    assert_eq!(desk.contents(), before);
}

#[test]
fn what_was_there_before_stays() {
    let desk = TestFolder::new();
    std::fs::create_dir_all(desk.path("data/trusted")).expect("a folder");
    std::fs::write(desk.path("data/trusted/theirs"), "kept").expect("written");
    std::fs::write(desk.path("data/mine.key"), "no key").expect("written");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let closed = std::fs::Permissions::from_mode(0o600);
        std::fs::set_permissions(desk.path("data/mine.key"), closed).expect("set");
    }
    let before = desk.contents();
    let error = desk.fail("init --data data --key-file data/mine.key", 2);
    assert!(error.contains("--key-file") && error.contains("holds no key"), "{error}");
    desk.fail("init --data data --store file:///no/such/folder", 5);
    assert_eq!(desk.contents(), before);
}

#[test]
fn a_data_folder_that_cannot_be_made_is_named() {
    let desk = TestFolder::new();
    std::fs::write(desk.path("file"), "no folder").expect("written");
    let before = desk.contents();
    let error = desk.fail("init --data file/data", 1);
    assert!(error.contains("--data") && error.contains("file/data"), "{error}");
    let store = desk.path("store");
    std::fs::create_dir(&store).expect("a folder");
    let error = desk.fail(&format!("init --data file/data --store file://{}", store.display()), 1);
    assert!(error.contains("--data") && error.contains("file/data"), "{error}");
    std::fs::remove_dir(&store).expect("it is empty");
    assert_eq!(desk.contents(), before);
}

#[test]
fn a_port_that_is_taken_leaves_nothing() {
    let desk = TestFolder::new();
    let taken = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = taken.local_addr().expect("its address");
    for flags in
        [format!("--listen {address} --admin 127.0.0.1:0"), format!("--listen 127.0.0.1:0 --admin {address}")]
    {
        let error = desk.fail(&format!("serve {flags}"), 1);
        assert!(
            error.contains(&address.to_string()) && error.contains("in use by another program"),
            "{error}"
        );
        assert!(desk.contents().is_empty(), "{:?}", desk.contents().keys());
    }
}

#[test]
fn a_restore_that_is_refused_leaves_nothing() {
    let desk = TestFolder::new();
    std::fs::create_dir(desk.path("store")).expect("a folder");
    let store = format!("--store file://{}", desk.path("store").display());
    desk.succeed(&format!("init --data first --capacity 1MiB {store}"));
    let receipt = desk.succeed(&format!("backup --data first {store}"));
    let before = desk.contents();
    let restore = |flags: &str, code| desk.fail(&format!("restore --data second {store} {flags}"), code);
    let error = restore("--key-file first/master.key", 4);
    assert!(error.contains("--takeover"), "{error}");
    let other = receipt.trim().replacen("ameles1-", "ameles1-00", 1);
    restore(&format!("--key-file first/master.key --takeover --expect {other}"), 2);
    restore("--key-file no.key --takeover", 2);
    assert_eq!(desk.contents(), before);
}

#[test]
fn a_restore_without_a_receipt_warns_once() {
    let desk = TestFolder::new();
    let store = shipped(&desk);
    let restore = format!("restore --data second --key-file first/master.key --takeover {store}");
    let restored = desk.run(&restore);
    assert_eq!(restored.code, 0, "{}", restored.complained);
    let serve = format!("ameles serve --data second {store} --key-file first/master.key");
    assert!(restored.said.contains(&serve), "{}", restored.said);
    let status = desk.succeed("status --data second");
    let receipt = restored.said.lines().last().expect("a receipt");
    assert!(receipt.starts_with("ameles1-") && status.contains(receipt), "{status}");
    assert_eq!(
        restored.complained.matches("cannot detect that the store was rolled back").count(),
        1,
        "{}",
        restored.complained
    );
}

#[test]
fn a_restore_that_was_killed_at_its_very_end_is_ended_and_told_by_the_same_command() {
    let desk = TestFolder::new();
    let store = shipped(&desk);
    let restore = format!("restore --data second --key-file first/master.key --takeover {store}");
    desk.succeed(&restore);
    // The vault is complete, and the copy was not removed yet.
    std::fs::create_dir_all(desk.path("second/restoring/buckets")).expect("a folder");
    std::fs::write(desk.path("second/restoring/stash.redb"), "sealed").expect("written");
    let said = desk.succeed(&restore);
    assert!(said.contains("The vault is restored"), "{said}");
    assert!(!desk.path("second/restoring").exists());
    let receipt = said.lines().last().expect("a receipt");
    let third =
        format!("restore --data third --key-file first/master.key --takeover {store} --expect {receipt}");
    desk.succeed(&third);
    // A vault that was restored and told is not restored again.
    let error = desk.fail(&restore, 2);
    assert!(error.contains("already holds a vault"), "{error}");
}

#[test]
fn beside_a_restore_that_was_killed_no_vault_is_made() {
    let serve = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";
    for has_begun in [true, false] {
        let desk = TestFolder::new();
        std::fs::create_dir_all(desk.path("ameles-data/trusted")).expect("a folder");
        let file = desk.path("ameles-data/trusted/vault.redb");
        drop(TrustedDisk::open(&file).expect("made"));
        let database = Database::open(file).expect("a database");
        if has_begun {
            let noting = database.begin_write().expect("begun");
            let meta = TableDefinition::<&str, &[u8]>::new("meta");
            noting.open_table(meta).expect("a table").insert("restoring", &b"unfinished"[..]).expect("set");
            noting.commit().expect("durable");
        } else {
            std::fs::create_dir(desk.path("ameles-data/restoring")).expect("a folder");
        }
        drop(database);
        let before = desk.contents();
        for command in ["init", serve, "status", "check", "backup", "rotate-key --new-key-file new.key"] {
            let error = desk.fail(command, 1);
            assert!(error.contains("was not finished: run `ameles restore` again"), "{error}");
            assert_eq!(desk.contents(), before, "{command} made something");
        }
    }
}

#[cfg(target_os = "linux")]
#[test]
fn an_interrupted_init_leaves_nothing_and_an_interrupted_start_loses_nothing() {
    let desk = TestFolder::new();
    // A provider that takes connections and never answers.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port");
    let endpoint = silent.local_addr().expect("its address");
    let s3 = format!(
        "--store s3://b --endpoint http://{endpoint} --store-option access_key_id=a --store-option secret_access_key=b"
    );
    let child = desk.command(&format!("init {s3}")).spawn().expect("it starts");
    let (_connection, _) = silent.accept().expect("it asks the provider");
    interrupt(&child);
    let ended = finish(child);
    assert_eq!(ended.code, 130, "{}", ended.complained);
    assert!(desk.contents().is_empty(), "{:?}", desk.contents().keys());

    desk.succeed("init --capacity 1MiB");
    let serve = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";
    for _ in 0..5 {
        let child = desk.command(serve).spawn().expect("it starts");
        wait_until_it_listens_for_interrupts(&child);
        interrupt(&child);
        finish(child);
    }
    let mut child = desk.command(serve).spawn().expect("it starts");
    let (_, mut output) = read_until_in_service(&mut child);
    interrupt(&child);
    std::io::copy(&mut output, &mut std::io::sink()).expect("text");
    assert_eq!(finish(child).code, 0);
    desk.succeed("check");
}

#[cfg(unix)]
#[test]
fn one_ctrl_c_that_arrives_twice_still_stops_cleanly() {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB");
    let mut child = desk
        .command("serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0")
        .spawn()
        .expect("it starts");
    let (mut said, mut output) = read_until_in_service(&mut child);
    // At once one after the other: another program in between could take its time.
    for _ in 0..2 {
        rustix::process::kill_process(rustix::process::Pid::from_child(&child), rustix::process::Signal::INT)
            .expect("it runs");
    }
    output.read_to_string(&mut said).expect("text");
    let ended = finish(child);
    assert_eq!(ended.code, 0, "{}", ended.complained);
    assert!(said.contains("Stopped. Receipt of the last checkpoint"), "{said}");
}

/// Waits for the moment from which an interrupt does not end the program by itself: it is in its first second then.
#[cfg(target_os = "linux")]
fn wait_until_it_listens_for_interrupts(child: &Child) {
    let interrupt = 1 << (rustix::process::Signal::INT.as_raw() - 1);
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

/// The output of the program until it was in service, and the rest of its output.
#[cfg(unix)]
fn read_until_in_service(child: &mut Child) -> (String, impl Read + use<>) {
    let mut said = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
    while !said.contains("Press Ctrl-C to stop.") {
        assert_ne!(output.read_line(&mut said).expect("text"), 0, "{said}");
    }
    (said, output)
}

#[cfg(unix)]
fn interrupt(child: &Child) {
    let kill = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
    assert!(kill.expect("kill is there").success());
}

#[test]
fn a_database_whose_making_was_killed_is_made_by_the_next_command() {
    let desk = TestFolder::new();
    let unmade = |file: &str| {
        let file = desk.path(file);
        std::fs::create_dir_all(file.parent().expect("a folder")).expect("made");
        std::fs::write(file, vec![0; 8192]).expect("written");
    };
    unmade("ameles-data/trusted/vault.redb");
    desk.succeed("init --capacity 1MiB");
    unmade("ameles-data/trusted/successor/vault.redb");
    desk.succeed("check");
    desk.succeed("migrate --cancel");
    unmade("ameles-data/trusted/successor/vault.redb");
    desk.succeed("migrate --capacity 2MiB --prepare");
    desk.succeed("migrate");
}
