//! `ameles user`: the users of a vault.

use super::harness::TestFolder;
use std::io::Write;

fn vault() -> TestFolder {
    let desk = TestFolder::new();
    desk.succeed("init --capacity 1MiB --block-size 4KiB");
    desk
}

/// The text after a word that begins a line.
fn value<'a>(said: &'a str, name: &str) -> &'a str {
    let line = said.lines().find_map(|line| line.trim().strip_prefix(name)).expect(name);
    line.split_whitespace().next().expect("a value")
}

#[test]
fn users_come_and_go_and_their_secrets_are_shown_once() {
    let desk = vault();
    let said = desk.succeed("user add guests:ann --role member --s3-keys");
    assert!(said.starts_with("Added guests:ann (member).\n"), "{said}");
    let (password, key, secret) =
        (value(&said, "password"), value(&said, "access_key_id"), value(&said, "secret_access_key"));
    assert_eq!((password.len(), key.len(), secret.len()), (24, 20, 40));
    let list = desk.succeed("user list");
    assert!(list.starts_with("ameles:owner  owner  no password  S3 keys AMLS"), "{list}");
    assert!(list.contains(&format!("guests:ann  member  password  S3 keys {key}\n")), "{list}");
    let file = std::fs::read_to_string(desk.path("ameles-data/trusted/credentials.toml")).expect("users");
    assert!(!list.contains(secret) && !list.contains(password));
    assert!(file.contains("$argon2id$") && !file.contains(password), "a password is kept as a hash only");

    let another = desk.succeed("user password guests:ann");
    assert_ne!(value(&another, "password"), password);
    let more = desk.succeed("user keys guests:ann");
    assert_ne!(value(&more, "access_key_id"), key);
    desk.succeed(&format!("user keys guests:ann --remove {key}"));
    assert!(!desk.succeed("user list").contains(key));
    desk.succeed("user remove guests:ann");
    assert_eq!(desk.succeed("user list").lines().count(), 1);
}

#[test]
fn a_password_from_standard_input_is_not_shown() {
    let desk = vault();
    let mut child = desk
        .command("user add ameles:second --password-stdin")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"open sesame\nmore\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !said.contains("sesame"), "{said}");
    let error = desk.fail("user add ameles:third --password-stdin", 2);
    assert!(error.contains("standard input has no password"), "{error}");
}

#[test]
fn what_makes_no_sense_is_refused_and_changes_nothing() {
    let desk = vault();
    desk.succeed("user list");
    desk.succeed("user add ameles:second");
    let before = desk.contents();
    for (line, expected) in [
        ("user add ameles:second", "already exists"),
        ("user password ameles:third", "there is no user ameles:third"),
        ("user remove ameles:third", "there is no user ameles:third"),
        ("user keys ameles:owner --remove X", "no such access key"),
        ("user add ameles", "ACCOUNT:USER"),
        ("user add a/b:c", "the account"),
        ("user add a:b:c", "the user"),
        ("user add a:b --no-password", "--s3-keys"),
    ] {
        let error = desk.fail(line, 2);
        assert!(error.contains(expected), "{line}: {error}");
    }
    assert_eq!(desk.contents(), before, "a refusal changed something");
    desk.succeed("user remove ameles:second");
    let error = desk.fail("user remove ameles:owner", 2);
    assert!(error.contains("the only user"), "{error}");
    let error = desk.fail("user list --data nowhere", 1);
    assert!(error.contains("nowhere"), "{error}");
}
