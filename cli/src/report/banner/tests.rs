use super::*;
use crate::report::full_disk_reads::ReadsOnFullStore;
use ameles_gateway::auth::identity::{AccessKey, AccountName, Identity, Role};

fn summary() -> VaultSummary {
    VaultSummary {
        fresh: true,
        scheme: "Ring ORAM".into(),
        parameters: vec![("Z".into(), "16".into()), ("S".into(), "27".into())],
        capacity: Size(1 << 30),
        block_size: Size(64 << 10),
        store: "file:///srv/untrusted".into(),
        stored: Size(3 << 30),
        moved_per_byte: 12.345,
        memory: MemorySummary {
            trusted_usual: Size(40 << 20),
            trusted: Size(96 << 20),
            process: Size(250 << 20),
            process_max: Size(700 << 20),
            reserve: ReserveSummary {
                bytes: Size(13 << 20),
                reads: 120,
                on_full_store: ReadsOnFullStore { usual: 20, max: 80 },
            },
        },
        on_disk: None,
        dollars_per_month: None,
        pace: None,
        journal: None,
        million_accesses: Vec::new(),
        recovery_point: 40960,
        ship_after: 300,
    }
}

#[test]
fn a_summary_names_every_figure() {
    let text = summary().render();
    for part in [
        "1 GiB in blocks of 64 KiB",
        "Ring ORAM (Z = 16, S = 27)",
        "file:///srv/untrusted",
        "at most 3 GiB",
        "12.3 per byte",
        "about 40 MiB, at most 96 MiB",
        "about 250 MiB of memory with a full, busy vault, at most 700 MiB",
        "13 MiB of the trusted disk: when it is full, writes get 507, and at least 120 reads are answered",
        "a full store    writes get 507, and reads are answered for usually 20 more accesses, at most 80",
        "a lost machine  loses at most the writes of about the last 40960 accesses, 2.50 GiB of blocks, or of the last 5m",
        "journal         announcements and payloads on the trusted disk",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    assert!(!text.contains('$'));
    let there = OnDiskSummary { room: Size(48 << 20), resident: Size(3 << 20) };
    let on_disk = VaultSummary { on_disk: Some(there), ..summary() }.render();
    assert!(on_disk.contains("on the trusted disk, at most 48 MiB; at most 3 MiB of it in memory"));
    let priced = VaultSummary { dollars_per_month: Some(0.069), ..summary() };
    assert!(priced.render().contains("$0.07 a month"));
    let journal = JournalSummary {
        objects: vec![(1, Size(67 << 10)), (16, Size(1 << 20))],
        announces: false,
        is_in_etcd: false,
        heartbeats: None,
    };
    let text = VaultSummary { journal: Some(journal), ..summary() }.render();
    for part in [
        "a lost machine  loses no acknowledged write",
        "journal         announcements on the trusted disk, payloads in the store: one object per batch",
        "67 KiB for 1, 1 MiB for 16 accesses",
    ] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
    let pace = PaceSummary {
        turn: "1s".into(),
        batch: 16,
        per_second: Size(1 << 20),
        requests: 7654321,
        bytes: Size(5 << 40),
        dollars: Some(2.345),
    };
    let text = VaultSummary { pace: Some(pace), ..summary() }.render();
    for part in ["a batch of 16 every 1s: at most 1 MiB per second", "7654321 requests, 5 TiB, $2.35"] {
        assert!(text.contains(part), "{part} is missing in\n{text}");
    }
}

#[test]
fn the_commands_to_try_can_be_pasted() {
    let users = [User::first(AccessKey::new("AMLSID", "hush"))];
    let at = addresses();
    let text = serving(&summary(), &at, &users, None, Reader::Terminal);
    assert!(text.contains("AWS_ENDPOINT_URL=http://127.0.0.1:9317\n"));
    assert!(text.contains("AWS_ACCESS_KEY_ID=AMLSID\n"));
    assert!(text.contains("AWS_SECRET_ACCESS_KEY=hush\n"));
    assert!(text.contains("aws s3 mb s3://first\n"));
    assert_eq!(text.lines().filter(|line| line.contains("aws s3 ")).count(), 2);
}

fn addresses() -> Addresses<'static> {
    let [s3, swift, admin] =
        ["127.0.0.1:9317", "127.0.0.1:9319", "127.0.0.1:9318"].map(|address| address.parse().unwrap());
    Addresses { tls: false, s3, swift: Some(swift), swift_url: None, admin, data_flag: " --data d" }
}

#[test]
fn the_password_is_shown_when_it_is_generated_and_never_again() {
    let hash = crate::users::file::hash("open sesame").unwrap();
    let users = [User { password: Some(hash), ..User::first(AccessKey::new("AMLSID", "hush")) }];
    let first = serving(&summary(), &addresses(), &users, Some("open sesame"), Reader::Terminal);
    let line = "ST_AUTH=http://127.0.0.1:9319/auth/v1.0 ST_USER=ameles:owner ST_KEY=open sesame\n";
    assert!(first.contains(line), "{first}");
    let later = serving(&summary(), &addresses(), &users, None, Reader::Terminal);
    assert!(
        !later.contains("sesame") && later.contains("`ameles user password ameles:owner --data d`"),
        "{later}"
    );
    let without =
        serving(&summary(), &addresses(), &[User::first(AccessKey::new("A", "b"))], None, Reader::Terminal);
    assert!(without.contains("ameles:owner has no password"), "{without}");
    let off = serving(&summary(), &Addresses { swift: None, ..addresses() }, &users, None, Reader::Terminal);
    assert!(!off.contains("ST_AUTH") && !off.contains("Swift"), "{off}");
    let secure = serving(&summary(), &Addresses { tls: true, ..addresses() }, &users, None, Reader::Terminal);
    assert!(secure.contains("ST_AUTH=https://127.0.0.1:9319/auth/v1.0 "), "{secure}");
    let log = Reader::Log(Path::new("trusted/credentials.toml"));
    let logged = serving(&summary(), &addresses(), &users, Some("open sesame"), log);
    assert!(!logged.contains("sesame") && !logged.contains("hush"), "{logged}");
    assert!(logged.contains("AMLSID is in trusted/credentials.toml"), "{logged}");
    assert!(logged.contains("`ameles user password ameles:owner --data d`"), "{logged}");
    let named = Addresses { swift_url: Some("https://s.example.org/"), ..addresses() };
    let text = serving(&summary(), &named, &users, None, Reader::Terminal);
    assert!(text.contains("ST_AUTH=https://s.example.org/auth/v1.0 "), "{text}");
}

#[test]
fn s3_and_swift_are_shown_for_one_user() {
    let hash = crate::users::file::hash("open sesame").unwrap();
    let user = |name: &str, key: Option<&str>, has_password: bool| User {
        identity: Identity { account: AccountName::first(), user: name.parse().unwrap(), role: Role::Owner },
        keys: key.map(|id| AccessKey::new(id, "hush")).into_iter().collect(),
        password: has_password.then(|| hash.clone()),
    };
    let shown = |users: &[User]| serving(&summary(), &addresses(), users, None, Reader::Terminal);
    let password_only = user("mail", None, true);
    let both = shown(&[password_only.clone(), user("web", Some("WEB"), true)]);
    assert!(both.contains("AWS_ACCESS_KEY_ID=WEB\n") && both.contains("ST_USER=ameles:web "), "{both}");
    let keys_only = shown(&[password_only.clone(), user("web", Some("WEB"), false)]);
    assert!(
        keys_only.contains("ameles:web has no password") && !keys_only.contains("ST_USER"),
        "{keys_only}"
    );
    let nobody_has_keys = shown(&[password_only]);
    assert!(nobody_has_keys.contains("ST_USER=ameles:mail "), "{nobody_has_keys}");
}
