//! `ameles user`: the users of a vault.

use super::harness::TestFolder;
use std::io::Write;

/// Returns the value on the line that starts with `name`.
fn value<'a>(stdout: &'a str, name: &str) -> &'a str {
    let line = stdout.lines().find_map(|line| line.trim().strip_prefix(name)).expect(name);
    line.split_whitespace().next().expect("a value")
}

#[test]
fn users_are_added_and_removed_and_their_secrets_are_printed_once() {
    let folder = TestFolder::with_new_vault("1MiB");
    let stdout = folder.succeed("user add guests:ann --role member --s3-keys");
    assert!(stdout.starts_with("Added guests:ann (member).\n"), "{stdout}");
    let (password, key, secret) =
        (value(&stdout, "password"), value(&stdout, "access_key_id"), value(&stdout, "secret_access_key"));
    assert_eq!((password.len(), key.len(), secret.len()), (24, 20, 40));
    let list = folder.succeed("user list");
    assert!(list.starts_with("ameles:owner  owner  no password  S3 keys AMLS"), "{list}");
    assert!(list.contains(&format!("guests:ann  member  password  S3 keys {key}\n")), "{list}");
    let file = std::fs::read_to_string(folder.path("ameles-data/trusted/credentials.toml")).expect("users");
    assert!(!list.contains(secret) && !list.contains(password));
    assert!(
        file.contains("$argon2id$") && !file.contains(password),
        "the file holds only a hash of the password"
    );

    let another = folder.succeed("user password guests:ann");
    assert_ne!(value(&another, "password"), password);
    let more = folder.succeed("user keys guests:ann");
    assert_ne!(value(&more, "access_key_id"), key);
    folder.succeed(&format!("user keys guests:ann --remove {key}"));
    assert!(!folder.succeed("user list").contains(key));
    folder.succeed("user remove guests:ann");
    assert_eq!(folder.succeed("user list").lines().count(), 1);
}

#[test]
fn a_password_from_standard_input_is_not_shown() {
    let folder = TestFolder::with_new_vault("1MiB");
    let mut child = folder
        .command("user add ameles:second --password-stdin")
        .stdin(std::process::Stdio::piped())
        .spawn()
        .expect("it starts");
    child.stdin.take().expect("a pipe").write_all(b"open sesame\nmore\n").expect("written");
    let output = child.wait_with_output().expect("it ends");
    let stdout = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && !stdout.contains("sesame"), "{stdout}");
    let error = folder.fail("user add ameles:third --password-stdin", 2);
    assert!(error.contains("standard input has no password"), "{error}");
}

#[test]
fn invalid_changes_are_refused_and_change_nothing() {
    let folder = TestFolder::with_new_vault("1MiB");
    folder.succeed("user list");
    folder.succeed("user add ameles:second");
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
        folder.check_refusal(line, 2, &[expected]);
    }
    folder.succeed("user remove ameles:second");
    folder.check_refusal("user remove ameles:owner", 2, &["the only user"]);
    folder.check_refusal("user list --data nowhere", 1, &["nowhere"]);
}
