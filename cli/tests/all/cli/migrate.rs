//! A vault grows, changes its key or moves: its successor takes over, or is given up, and nothing in between is lost.

use super::harness::{Ended, TestFolder, finish};
use std::io::{BufRead, Read};
use std::path::Path;
use std::process::{Child, Command};

const SERVE: &str = "serve --listen 127.0.0.1:0 --admin 127.0.0.1:0 --swift 127.0.0.1:0";

/// A vault that was open once.
fn vault(capacity: &str) -> TestFolder {
    let desk = TestFolder::new();
    desk.succeed(&format!("init --capacity {capacity} --block-size 4KiB"));
    desk.succeed("backup");
    desk
}

/// The line that a command printed for serving the vault from now on, without `ameles serve`.
fn flags_of(said: &str) -> String {
    let line = said.lines().find_map(|line| line.trim().strip_prefix("ameles serve ")).expect("a line");
    line.to_owned()
}

fn predecessors(desk: &TestFolder) -> usize {
    let trusted = std::fs::read_dir(desk.path("ameles-data/trusted")).expect("a folder");
    let names = trusted.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
    names.filter(|name| name.starts_with("predecessor-")).count()
}

/// Serves until the line `until` was said, then stops; returns what was said.
pub(super) fn serve_until(desk: &TestFolder, flags: &str, until: &str) -> String {
    let served = serve_and_stop(desk, flags, until);
    assert_eq!(served.code, 0, "{}", served.complained);
    served.said
}

/// Serves until the line `until` was said, then stops.
pub(super) fn serve_and_stop(desk: &TestFolder, flags: &str, until: &str) -> Ended {
    let mut child = desk.command(&format!("{SERVE} {flags}")).spawn().expect("it starts");
    let mut said = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
    while !said.contains(until) {
        if output.read_line(&mut said).expect("text") == 0 {
            break;
        }
    }
    let was_in_service = said.contains(until);
    if was_in_service {
        signal(&child, "-INT");
    }
    output.read_to_string(&mut said).expect("text");
    let ended = Ended { said, ..finish(child) };
    assert!(was_in_service, "{}{}", ended.said, ended.complained);
    ended
}

fn signal(child: &Child, name: &str) {
    let kill = Command::new("kill").args([name, &child.id().to_string()]).status();
    assert!(kill.expect("kill is there").success());
}

#[test]
fn a_vault_grows_and_its_old_flags_are_refused_with_the_new_ones() {
    let desk = vault("1MiB");
    let said = desk.succeed("migrate --capacity 2MiB");
    let flags = flags_of(&said);
    assert!(said.contains("remove everything below ameles-data/untrusted"), "{said}");
    assert!(desk.succeed("status").contains("2 MiB in blocks of 4 KiB"));
    for command in ["check", "backup", "gc", "migrate --capacity 4MiB", SERVE] {
        let error = desk.fail(command, 2);
        assert!(error.contains("is not at ameles-data/untrusted any more"), "{error}");
        assert!(error.contains(&flags), "{error}");
    }
    desk.succeed(&format!("check {flags}"));
    assert_eq!(predecessors(&desk), 1);
    // And again: it is a vault like any other.
    let said =
        desk.succeed(&format!("migrate {flags} --to file://{} --capacity 3MiB", folder(&desk, "third")));
    desk.succeed(&format!("check {}", flags_of(&said)));
    assert_eq!(predecessors(&desk), 2);
    let error = desk.fail(&format!("check {flags}"), 2);
    assert!(error.contains("third"), "{error}");
}

#[test]
fn under_a_new_key_the_old_one_opens_nothing() {
    let desk = vault("1MiB");
    let said = desk.succeed("migrate --new-key-file new.key");
    let flags = flags_of(&said);
    assert!(flags.contains("--key-file") && said.contains("Keep its key, new.key"), "{said}");
    desk.succeed(&format!("check {flags}"));
    let store =
        flags.split_whitespace().skip_while(|word| *word != "--store").take(2).collect::<Vec<_>>().join(" ");
    let error = desk.fail(&format!("check {store} --key-file ameles-data/master.key"), 1);
    assert!(error.contains("the key does not open this vault"), "{error}");
    // A passphrase of its own, taken from a variable of its own.
    let mut command = desk.command(&format!(
        "migrate {store} --key-file new.key --to file://{} --new-passphrase",
        folder(&desk, "third")
    ));
    let ended =
        finish(command.env("AMELES_NEW_PASSPHRASE", "six words are enough").spawn().expect("it starts"));
    assert_eq!(ended.code, 0, "{}", ended.complained);
    let flags = flags_of(&ended.said);
    assert!(flags.ends_with("--passphrase"), "{flags}");
    let mut command = desk.command(&format!("check {flags}"));
    let ended = finish(command.env("AMELES_PASSPHRASE", "six words are enough").spawn().expect("it starts"));
    assert_eq!(ended.code, 0, "{}", ended.complained);
}

#[test]
fn served_while_it_is_filled_a_restart_has_the_successor_take_over() {
    let desk = vault("1MiB");
    let said = desk.succeed("migrate --to STORE --prepare".replace("STORE", &url(&desk, "other")).as_str());
    assert!(said.contains("fills it while it serves"), "{said}");
    // With the flags for the time after, it is too early.
    let early = desk.fail(&format!("{SERVE} --store {}", url(&desk, "other")), 2);
    assert!(early.contains("has 0 of 256 blocks so far") && early.contains("ameles serve --data"), "{early}");
    let said = serve_until(&desk, "", "The successor has all blocks");
    assert!(said.contains("is being filled: 0 of 256 blocks so far"), "{said}");
    let told = desk.succeed("status");
    assert!(
        told.contains("256 of 256 blocks") && told.contains("it takes over at the next restart"),
        "{told}"
    );
    assert_eq!(predecessors(&desk), 0);
    // Either line has it take over; the earlier line does it this once.
    let said = serve_until(&desk, "", "Press Ctrl-C to stop.");
    assert!(said.contains("The successor has taken over"), "{said}");
    assert_eq!(predecessors(&desk), 1);
    let flags = flags_of(&said);
    desk.fail(SERVE, 2);
    let said = serve_until(&desk, &flags, "Press Ctrl-C to stop.");
    assert!(!said.contains("The successor"), "{said}");
    desk.succeed(&format!("check {flags}"));
}

#[test]
fn the_line_for_the_time_after_has_the_successor_take_over_too() {
    let desk = vault("1MiB");
    let store = url(&desk, "other");
    desk.succeed(&format!("migrate --to {store} --new-key-file new.key --prepare"));
    let said = serve_until(&desk, "", "The successor has all blocks");
    // The earlier provider may be gone by then.
    std::fs::rename(desk.path("ameles-data/untrusted"), desk.path("gone")).expect("moved");
    let flags = flags_of(&said);
    let said = serve_until(&desk, &flags, "Press Ctrl-C to stop.");
    assert!(said.contains("The successor has taken over"), "{said}");
    desk.succeed(&format!("check {flags}"));
}

#[test]
fn a_migration_that_is_killed_or_interrupted_goes_on_where_it_was() {
    let desk = vault("4MiB");
    // The same command goes on, from the first time on.
    let line = "migrate --capacity 5MiB";
    for (name, code) in [("-KILL", -1), ("-INT", 130)] {
        let store = desk.path("ameles-data/untrusted-2");
        let before = newest(&store);
        let mut child = desk.command(line).spawn().expect("it starts");
        // In this opening of its own: enough for the first note of how far it is, and then for a batch. A quarter of the
        // blocks lie before the first note, and each has about one bucket written.
        let enough = if name == "-KILL" { 400 } else { 30 };
        while newest(&store) < (before.0 + 1, enough) {
            assert!(child.try_wait().expect("its state").is_none(), "it has ended too early");
            std::thread::yield_now();
        }
        signal(&child, name);
        let ended = finish(child);
        assert_eq!(ended.code, code, "{}", ended.complained);
        if name == "-INT" {
            assert!(ended.said.contains("Continuing after"), "{}", ended.said);
            assert!(ended.said.contains("of 1024 blocks copied: `ameles migrate` goes on"), "{}", ended.said);
        }
    }
    let said = desk.succeed("migrate");
    let already: u64 = said
        .lines()
        .find_map(|line| line.strip_prefix("Continuing after ")?.split(' ').next()?.parse().ok())
        .expect("it goes on");
    assert!(already >= 256, "{said}");
    desk.succeed(&format!("check {}", flags_of(&said)));
}

#[test]
fn a_successor_that_is_given_up_leaves_the_vault_as_it_was() {
    let desk = vault("1MiB");
    let before = desk.contents();
    desk.succeed("migrate --capacity 2MiB --new-key-file new.key --prepare");
    serve_until(&desk, "", "Press Ctrl-C to stop.");
    let said = desk.succeed("migrate --cancel");
    assert!(said.contains("ameles-data/untrusted-2"), "{said}");
    let trusted = |name: &Path| name.starts_with(desk.path("ameles-data/trusted"));
    let after = desk.contents();
    let left: Vec<_> = after.keys().filter(|name| trusted(name) && !before.contains_key(*name)).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().contains("successor")), "{left:?}");
    desk.succeed("check");
    // Cut off before it had said so, it is run again.
    let again = desk.succeed("migrate --cancel");
    assert_eq!(again, said);
    // Another attempt takes another place.
    let said = desk.succeed("migrate --capacity 2MiB");
    assert!(said.contains("ameles-data/untrusted-3"), "{said}");
    let flags = flags_of(&said);
    let error = desk.fail(&format!("migrate --cancel {flags}"), 2);
    assert!(error.contains("there is no successor to cancel"), "{error}");
}

#[test]
fn flags_that_a_successor_was_made_with_go_on_and_others_are_named() {
    let desk = vault("1MiB");
    let (store, third) = (url(&desk, "other"), url(&desk, "third"));
    let flags = format!("--to {store} --capacity 2MiB --z 20 --new-key-file new.key");
    desk.succeed(&format!("migrate --prepare {flags}"));
    let before = desk.contents();
    for (others, differs) in [
        ("--capacity 3MiB", "--capacity is 3 MiB and the successor has 2 MiB"),
        ("--z 8", "--z is 8 and the successor has 20"),
        (&format!("--to {third}"), "--to is"),
        ("--new-key-file other.key", "its key has another source"),
        (&format!("--to {store} --to-option region=there"), "--to-option region is another"),
    ] {
        for prepare in ["", "--prepare"] {
            let error = desk.fail(&format!("migrate {prepare} {others}"), 2);
            assert!(error.contains(differs), "{error}");
            assert!(error.contains("cancel it with `ameles migrate --cancel`"), "{error}");
        }
    }
    assert_eq!(desk.contents(), before, "a refusal changed something");
    for same in ["", &flags, "--capacity 2MiB"] {
        let said = desk.succeed(&format!("migrate --prepare {same}"));
        assert!(said.contains("The successor already exists"), "{said}");
    }
    let said = desk.succeed(&format!("migrate {flags}"));
    desk.succeed(&format!("check {}", flags_of(&said)));
}

/// The vault with a successor as the command that made it leaves it if it is killed right before the end.
fn cut_off_at_the_end_of_making(flags: &str) -> TestFolder {
    let desk = vault("1MiB");
    if flags.contains("STORE") {
        folder(&desk, "other");
    }
    desk.succeed(&format!("migrate --prepare {}", flags.replace("STORE", &url_of(&desk.path("other")))));
    let successor = desk.path("ameles-data/trusted/successor");
    std::fs::rename(successor.join("note.toml"), successor.join("making.toml")).expect("moved");
    desk
}

/// The same if it is killed before there is anything of a vault, in the store or on the trusted disk.
fn cut_off_at_the_begin_of_making(flags: &str, store: &str) -> TestFolder {
    let desk = vault("1MiB");
    if flags.contains("STORE") {
        folder(&desk, "other");
    }
    cut_off_at_the_begin(&desk, &flags.replace("STORE", &url_of(&desk.path("other"))), store);
    desk
}

/// Kills `migrate` when its note is there and no vault is, in the store or on the trusted disk.
fn cut_off_at_the_begin(desk: &TestFolder, flags: &str, store: &str) {
    let successor = desk.path("ameles-data/trusted/successor");
    let noted = loop {
        let mut child = desk.command(&format!("migrate --prepare {flags}")).spawn().expect("it starts");
        let read = || std::fs::read_to_string(successor.join("making.toml"));
        let mut noted = read();
        while noted.is_err() && child.try_wait().expect("its state").is_none() {
            noted = read();
        }
        child.kill().expect("it is ours");
        finish(child);
        if let Ok(noted) = noted {
            break noted;
        }
        // The note came and went unseen.
        desk.succeed("migrate --cancel");
        std::fs::remove_dir_all(desk.path(store)).expect("removed");
        std::fs::create_dir(desk.path("other")).unwrap_or_default();
    };
    // However far it came.
    std::fs::write(successor.join("making.toml"), noted).expect("written");
    for file in ["note.toml", "vault.redb"] {
        let _ = std::fs::remove_file(successor.join(file));
    }
    let _ = std::fs::remove_dir_all(desk.path(store));
    std::fs::create_dir(desk.path(store)).expect("made");
}

#[test]
fn a_successor_that_was_made_when_its_command_was_killed_is_filled_or_given_up() {
    let desk = cut_off_at_the_end_of_making("--to STORE");
    let error = desk.fail(&format!("migrate --to {}", url(&desk, "third")), 2);
    assert!(error.contains("a successor already exists"), "{error}");
    let said = desk.succeed(&format!("migrate --to {}", url_of(&desk.path("other"))));
    desk.succeed(&format!("check {}", flags_of(&said)));
    let desk = cut_off_at_the_end_of_making("--capacity 2MiB");
    assert!(desk.succeed("migrate --cancel").contains("untrusted-2"));
    desk.succeed("check");
    assert!(!desk.path("ameles-data/trusted/successor").exists());
}

#[test]
fn a_making_that_was_killed_before_there_was_a_vault_is_begun_again_or_given_up() {
    for (flags, store) in [("--capacity 2MiB", "ameles-data/untrusted-2"), ("--to STORE", "other")] {
        let desk = cut_off_at_the_begin_of_making(flags, store);
        let flags = flags.replace("STORE", &url_of(&desk.path("other")));
        // Until there is one, the vault is served alone.
        desk.succeed("check");
        let error = desk.fail("migrate", 2);
        assert!(
            error.contains("the creation of a successor was interrupted") && error.contains("--cancel"),
            "{error}"
        );
        let said = desk.succeed(&format!("migrate {flags}"));
        assert!(flags_of(&said).contains(store) && !said.contains("untrusted-3"), "{said}");
        desk.succeed(&format!("check {}", flags_of(&said)));

        let desk =
            cut_off_at_the_begin_of_making(&flags.replace(&url_of(&desk.path("other")), "STORE"), store);
        let said = desk.succeed("migrate --cancel");
        assert!(said.contains("nothing was written to") && said.contains(store), "{said}");
        assert!(desk.path(store).exists() && !desk.path("ameles-data/trusted/successor").exists());
        assert!(desk.succeed("migrate --cancel").contains(store));
        desk.succeed("check");
    }
}

#[test]
fn what_a_cut_off_cancellation_has_left_is_in_nobodys_way() {
    let desk = vault("1MiB");
    let database = desk.path("ameles-data/trusted/successor/vault.redb");
    let flags = format!("--to {} --capacity 2MiB", url(&desk, "other"));
    desk.succeed(&format!("migrate --prepare {flags}"));
    let left = std::fs::read(&database).expect("it is there");
    desk.succeed("migrate --cancel");
    // As if it had been killed after the note was gone.
    std::fs::create_dir_all(database.parent().expect("a folder")).expect("made");
    std::fs::write(&database, left).expect("written");
    desk.succeed("check");
    let error = desk.fail(&format!("migrate {flags}"), 2);
    assert!(
        error.contains("other")
            && error.contains("still holds the data of the cancelled successor: empty it"),
        "{error}"
    );
    assert!(desk.succeed("migrate --cancel").contains("other"));
    std::fs::remove_dir_all(desk.path("other")).expect("removed");
    std::fs::create_dir(desk.path("other")).expect("made");
    let said = desk.succeed(&format!("migrate {flags}"));
    desk.succeed(&format!("check {}", flags_of(&said)));
}

#[test]
fn a_successor_without_any_note_is_not_removed_unless_it_is_given_up() {
    let desk = cut_off_at_the_end_of_making("--capacity 2MiB");
    std::fs::remove_file(desk.path("ameles-data/trusted/successor/making.toml")).expect("removed");
    let error = desk.fail("migrate --capacity 2MiB", 2);
    assert!(error.contains("without a record of its store") && error.contains("--cancel"), "{error}");
    assert!(desk.path("ameles-data/trusted/successor/vault.redb").exists());
    desk.succeed("migrate --cancel");
    let said = desk.succeed("migrate --capacity 2MiB");
    desk.succeed(&format!("check {}", flags_of(&said)));
}

#[test]
fn what_no_successor_can_be_is_refused_and_nothing_is_made() {
    let desk = vault("1MiB");
    std::fs::create_dir(desk.path("ameles-data/untrusted/inside")).expect("a folder");
    let inside = url_of(&desk.path("ameles-data/untrusted/inside"));
    let (around, same) = (url_of(&desk.path("ameles-data")), url_of(&desk.path("ameles-data/untrusted")));
    let before = desk.contents();
    for (line, code, parts) in [
        ("migrate", 2, ["say how the successor differs", "--capacity"]),
        ("migrate --prepare", 2, ["say how the successor differs", "--to"]),
        ("migrate --cancel", 2, ["there is no successor", "to cancel"]),
        ("migrate --cancel --prepare", 2, ["--cancel", "--prepare"]),
        ("migrate --capacity 512KiB", 2, ["--capacity is 512 KiB and the vault has 1 MiB", "at least"]),
        ("migrate --block-size 8KiB", 2, ["--block-size is 8 KiB and the vault has 4 KiB", "same size"]),
        ("migrate --to bucket", 2, ["--to is `bucket`", "s3://BUCKET"]),
        ("migrate --to-endpoint http://127.0.0.1:1", 2, ["--to", "--to-endpoint"]),
        (
            "migrate --to file:///no/such/folder",
            5,
            [
                "the successor: --to: there is no folder /no/such/folder",
                "`mkdir -p /no/such/folder` makes it\n",
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
        let error = desk.fail(line, code);
        for part in parts {
            assert!(error.contains(part), "{line}: {part:?} is missing in\n{error}");
        }
        assert_eq!(desk.contents(), before, "{line} changed something");
    }
    let store = format!("--store {}", url(&desk, "s"));
    desk.succeed(&format!("init --data other --capacity 1MiB --block-size 4KiB {store}"));
    let error = desk.fail(&format!("migrate --data other {store} --capacity 2MiB"), 2);
    assert!(error.contains("--to is missing"), "{error}");
    let error = desk.fail(&format!("migrate --to {}", url(&desk, "s")), 2);
    assert!(error.contains("the successor") && error.contains("the store already holds a vault"), "{error}");
    desk.succeed("check");
}

#[test]
fn while_a_vault_is_served_nobody_makes_or_gives_up_its_successor() {
    let desk = vault("1MiB");
    let mut child = desk.command(SERVE).spawn().expect("it starts");
    let mut said = String::new();
    let mut output = std::io::BufReader::new(child.stdout.take().expect("piped"));
    while !said.contains("Press Ctrl-C to stop.") {
        assert_ne!(output.read_line(&mut said).expect("text"), 0, "{said}");
    }
    let error = desk.fail("migrate --capacity 2MiB", 4);
    assert!(error.contains("open in another process"), "{error}");
    signal(&child, "-INT");
    output.read_to_string(&mut said).expect("text");
    assert_eq!(finish(child).code, 0);
}

/// A new folder's path.
fn folder(desk: &TestFolder, name: &str) -> String {
    std::fs::create_dir_all(desk.path(name)).expect("a folder");
    desk.path(name).display().to_string()
}

/// A new folder's URL.
fn url(desk: &TestFolder, name: &str) -> String {
    format!("file://{}", folder(desk, name))
}

fn url_of(folder: &Path) -> String {
    format!("file://{}", folder.display())
}

/// The newest version of a bucket in a store: in which opening it was written, and as which one.
fn newest(store: &Path) -> (u64, u64) {
    let Ok(entries) = std::fs::read_dir(store) else { return (0, 0) };
    let versions = entries.filter_map(Result::ok).map(|entry| {
        let path = entry.path();
        if path.is_dir() {
            return newest(&path);
        }
        let name = entry.file_name().into_string().unwrap_or_default();
        let numbers: Vec<u64> =
            name.split('-').skip(1).filter_map(|number| u64::from_str_radix(number, 16).ok()).collect();
        if let [epoch, counter] = numbers[..] { (epoch, counter) } else { (0, 0) }
    });
    versions.max().unwrap_or((0, 0))
}
