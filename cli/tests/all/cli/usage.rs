//! Wrong flags and settings: exit code 2, one error that names the flag, or the key and its file, and no file changes.

use super::harness::{SERVE, TestFolder};

#[test]
fn a_wrong_value_is_named_by_its_flag_with_what_is_allowed() {
    let folder = TestFolder::new();
    for (line, parts) in [
        ("init --capacity 1PiB", ["--capacity is 1 PiB", "less than 128 TiB"]),
        ("init --capacity 1KiB", ["--capacity is 1 KiB", "at least one block"]),
        ("init --capacity lots", ["--capacity", "`lots` is not a size"]),
        ("init --capacity 100TiB", ["--capacity is 100 TiB", "of trusted memory"]),
        ("init --block-size 32B", ["--block-size is 32 B", "from 64 B to 16 MiB"]),
        ("init --max-batch 999999999", ["--max-batch is 999999999", "from 1 to 1024"]),
        ("init --scheme trivial --max-batch 999999999", ["--max-batch is 999999999", "from 1 to 1024"]),
        ("init --tree-top 1EiB", ["--tree-top is 1 EiB", "from 0 B to 1 GiB"]),
        ("init --scheme path --z 65", ["--z is 65", "from 1 to 64"]),
        (
            "init --scheme path --z 2",
            ["error: --z does not fit the vault: buckets of 2", "set Z to 4 or more"],
        ),
        (
            "init --scheme path --z 3 --tree-top 0B",
            ["at most 10 levels", "give the tree top more trusted memory"],
        ),
        ("init --scheme path --s 3", ["--s is not a parameter", "leave it out"]),
        ("init --scheme trivial --tree-top 1MiB", ["--tree-top is not a parameter", "leave it out"]),
        ("init --z 4 --a 60", ["--z, --a do not fit together", "lower A to at most 3"]),
        ("init --store bucket", ["--store is `bucket`", "s3://BUCKET"]),
        ("init --store ftp://x", ["--store", "s3://"]),
        ("init --endpoint http://127.0.0.1:1", ["--endpoint", "--store"]),
        (
            "init --store file:///x --endpoint http://127.0.0.1:1",
            ["--endpoint is for servers, and --store is `file:///x`", "leave --endpoint out"],
        ),
        ("init --store s3://b --store-option colour=red", ["--store-option", "colour"]),
        ("init --prices nonsense", ["--prices is nonsense", "nor a readable file"]),
        ("status --prices nonsense", ["--prices is nonsense", "nor a readable file"]),
        (
            "init --key-file missing/key --data other",
            ["--key-file", "missing/key cannot be created, because its folder does not exist"],
        ),
        ("init --data /dev/null", ["--data is /dev/null, which is not a folder", "name a folder"]),
        ("check --data /dev/null", ["--data is /dev/null, which is not a folder", "name a folder"]),
        (
            "init --key-file /tmp",
            ["--key-file: the key file /tmp is a folder, not a file", "name the key's file"],
        ),
        ("init --key-env NO_SUCH_VARIABLE", ["--key-env", "NO_SUCH_VARIABLE"]),
        ("init --passphrase", ["AMELES_PASSPHRASE", "terminal"]),
        ("init --log loud", ["--log is `loud`", "debug"]),
        ("init --config missing.toml", ["--config", "missing.toml"]),
        (
            "serve --listen 127.0.0.1:4 --admin 127.0.0.1:4",
            ["--listen and --admin", "a different address for each"],
        ),
        ("serve --listen localhost:9500", ["`localhost:9500` is not an address", "127.0.0.1:9317"]),
        ("restore --takeover", ["--store is not given", "s3://my-bucket/ameles"]),
        ("restore --store file:///no/such/place", ["--store is ", "there is no such folder"]),
        (
            "serve --listen 192.0.2.1:80",
            ["--listen: cannot listen on 192.0.2.1:80", "an address of this machine"],
        ),
        ("restore --expect garbage", ["--expect", "is not a receipt"]),
        ("init --capcity 1GiB", ["--capcity", "--capacity"]),
        ("serv", ["unrecognized subcommand 'serv'", "serve"]),
        ("statsu", ["unrecognized subcommand 'statsu'", "status"]),
    ] {
        folder.check_refusal(line, 2, &parts);
    }
}

#[test]
fn an_empty_passphrase_is_refused_by_the_name_of_its_variable() {
    let folder = TestFolder::new();
    let error = folder.fail_with("init --passphrase", &[("AMELES_PASSPHRASE", "")], 2);
    assert!(error.contains("AMELES_PASSPHRASE is empty"), "{error}");
    assert!(folder.contents().is_empty());
}

#[test]
fn an_error_names_an_endpoint_from_the_environment() {
    let folder = TestFolder::new();
    let variables = [
        ("AWS_ENDPOINT_URL", "http://127.0.0.1:1"),
        ("AWS_ACCESS_KEY_ID", "id"),
        ("AWS_SECRET_ACCESS_KEY", "secret"),
        ("AWS_DEFAULT_REGION", "us-east-1"),
    ];
    let error = folder.fail_with("init --store s3://bucket/ameles", &variables, 5);
    for part in ["AWS_ENDPOINT_URL is set", "unset it", "--endpoint"] {
        assert!(error.contains(part), "{error}");
    }
    assert!(folder.contents().is_empty());
}

#[test]
fn an_address_or_key_that_no_request_can_have_is_named_by_its_origin() {
    let folder = TestFolder::new();
    let keys = [("AWS_ACCESS_KEY_ID", "id"), ("AWS_SECRET_ACCESS_KEY", "secret")];
    let refuse = |line: &str, variables: &[(&str, &str)], part: &str| {
        let error = folder.fail_with(line, variables, 2);
        assert!(error.contains(part), "{line}: {part:?} is missing in\n{error}");
        assert!(folder.contents().keys().all(|path| path.ends_with("ameles.toml")), "{line} left files");
    };
    let advice = "is not the address of a server: write http://HOST:PORT";
    for endpoint in
        ["127.0.0.1:7070", "localhost:9000", "http://", "://", "http://127.0.0.1:99999", "ftp://x.y"]
    {
        let part = format!("--endpoint: `{endpoint}` {advice}");
        for command in ["init", SERVE] {
            refuse(&format!("{command} --store s3://b/x --endpoint {endpoint}"), &keys, &part);
        }
    }
    let by_option = format!("--store-option: `foo` {advice}");
    refuse("init --store s3://b/x --store-option endpoint=foo", &keys, &by_option);
    for variable in ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3"] {
        let variables = [keys[0], keys[1], (variable, "localhost:9000")];
        refuse("init --store s3://b/x", &variables, &format!("{variable}: `localhost:9000` {advice}"));
    }
    let variables = [("AWS_ACCESS_KEY_ID", "id\nmore"), keys[1]];
    let line = "init --store s3://b/x --endpoint http://127.0.0.1:1";
    refuse(line, &variables, "AWS_ACCESS_KEY_ID: the value of AWS_ACCESS_KEY_ID has a character");
    let text = "[store]\nurl = \"s3://b/x\"\nendpoint = \"\"";
    std::fs::write(folder.path("ameles.toml"), text).expect("written");
    refuse("init", &keys, &format!("`store.endpoint` in ameles.toml: `` {advice}"));
}

#[test]
fn a_wrong_value_of_the_file_is_named_by_key_and_file() {
    let folder = TestFolder::new();
    for (text, part) in [
        ("[vault]\ncapacity = \"1PiB\"", "`vault.capacity` in ameles.toml is 1 PiB"),
        ("[vault]\nmax_batch = 4096", "`vault.max_batch` in ameles.toml is 4096: choose from 1 to 1024"),
        ("[vault]\nblock_size = \"1G\"", "ameles.toml, line 2: `vault.block_size`"),
        ("[prices]\nfile = \"nonsense\"", "`prices.file` in ameles.toml is nonsense"),
        ("[log]\nlevel = \"loud\"", "`log.level` in ameles.toml is `loud`"),
        ("[store]\nurl = \"file:///no/such/folder\"", "`store.url` in ameles.toml"),
    ] {
        std::fs::write(folder.path("ameles.toml"), text).expect("written");
        let code = if text.contains("file:///") { 5 } else { 2 };
        folder.check_refusal("init", code, &[part]);
    }
}

#[test]
fn vault_flags_that_contradict_the_vault_are_refused_before_it_opens() {
    let folder = TestFolder::with_new_vault("16MiB");
    for (line, part) in [
        ("--capacity 32MiB", "--capacity is 32 MiB, but the vault has 16 MiB"),
        ("--block-size 64KiB", "--block-size is 64 KiB, but the vault has 4 KiB"),
        ("--scheme path", "--scheme is path, but the vault has ring"),
        ("--cipher aegis-256 --max-batch 3", "--max-batch is 3, but the vault has 16, --cipher"),
    ] {
        folder.check_refusal(&format!("{SERVE} {line}"), 2, &[part]);
        // A successor has blocks of the same size.
        let advises_successor = folder.fail(&format!("{SERVE} {line}"), 2).contains("`ameles migrate`");
        assert_eq!(advises_successor, !line.contains("--block-size"), "{line}");
    }
}

#[test]
fn the_help_of_a_command_starts_with_its_own_flags() {
    let folder = TestFolder::new();
    for (command, own) in [
        ("restore", "--takeover"),
        ("serve", "--listen"),
        ("init", "--capacity"),
        ("gc", "--remove"),
        ("migrate", "--prepare"),
    ] {
        let help = folder.succeed(&format!("{command} --help"));
        let at =
            |flag: &str| help.find(&format!("\n      {flag}")).unwrap_or_else(|| panic!("{flag} in {help}"));
        for global in ["--config", "--data", "--log ", "--log-format"] {
            assert!(at(own) < at(global), "{command}: {global} comes before {own}");
        }
    }
    assert!(
        folder.succeed("restore --help").find("--takeover")
            < folder.succeed("restore --help").find("Untrusted store:")
    );
}
