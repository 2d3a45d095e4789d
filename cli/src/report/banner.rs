//! The start messages of `ameles serve` and `ameles init`.

use crate::config::size::Size;
use crate::demonstration::{CONTAINER, OBJECTS, Pattern, object_name};
use crate::report::full_disk_reads::ReserveSummary;
use crate::report::recovery_point::Unshipped;
use ameles_gateway::auth::identity::User;
use serde::{Deserialize, Serialize};
use std::fmt::Write;
use std::io::IsTerminal;
use std::net::SocketAddr;
use std::path::Path;

/// The figures of a vault for its owner.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct VaultSummary {
    /// True if the vault was just created.
    pub fresh: bool,
    /// The scheme's name in its paper.
    pub scheme: String,
    /// The scheme's parameters by name.
    pub parameters: Vec<(String, String)>,
    /// The number of bytes that the user can store.
    pub capacity: Size,
    /// The size of a block.
    pub block_size: Size,
    /// The location of the untrusted side.
    pub store: String,
    /// The maximum number of bytes at the provider.
    pub stored: Size,
    /// The number of bytes moved in both directions, per byte that the user reads or writes.
    pub moved_per_byte: f64,
    /// The memory of the vault.
    #[serde(flatten)]
    pub memory: MemorySummary,
    /// The space of stash and tree top on the trusted disk, if they are there.
    pub on_disk: Option<OnDiskSummary>,
    /// The storage costs in US dollars per month, if prices are given.
    pub dollars_per_month: Option<f64>,
    /// The pace at which the vault is served, if there is one.
    pub pace: Option<PaceSummary>,
    /// The cost of the journal in the store, if there is one.
    pub journal: Option<JournalSummary>,
    /// The approximate number of accesses that are lost with the machine: those between two checkpoints in the store.
    pub recovery_point: u64,
}

/// Stash and tree top on the trusted disk.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OnDiskSummary {
    /// The bytes of these payloads on the trusted disk.
    pub room: Size,
    /// The maximum bytes of these payloads in memory.
    pub resident: Size,
}

/// The cost of a journal in the store: one object and one request for each batch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct JournalSummary {
    /// The lengths of batches, each with the bytes of its object.
    pub objects: Vec<(u64, Size)>,
    /// US dollars for the requests of a million batches, if prices are given.
    pub dollars: Option<f64>,
}

/// The cost of a pace, with or without requests of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PaceSummary {
    /// The interval, in readable form.
    pub turn: String,
    /// The number of accesses in each interval.
    pub batch: u32,
    /// The number of bytes that can be read or written per second.
    pub per_second: Size,
    /// The number of requests per day.
    pub requests: u64,
    /// The number of bytes moved per day, in both directions.
    pub bytes: Size,
    /// US dollars per day, if prices are given.
    pub dollars: Option<f64>,
}

/// Bytes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MemorySummary {
    /// The usual trusted memory: maps, the mean stash with the tree top, and a batch.
    pub trusted_usual: Size,
    /// The maximum trusted memory: maps, the stash at its hard bound, and evictions in flight.
    pub trusted: Size,
    /// The usual memory of the whole process.
    pub process: Size,
    /// The maximum memory of that process, with all admitted clients.
    pub process_max: Size,
    /// The space reserved on the trusted disk.
    pub reserve: ReserveSummary,
}

impl VaultSummary {
    /// Renders the figures, one per line.
    pub fn render(&self) -> String {
        let mut text = String::new();
        let parameters: Vec<String> =
            self.parameters.iter().map(|(name, value)| format!("{name} = {value}")).collect();
        let mut line = |name: &str, value: String| {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {name:<15} {value}");
        };
        line("capacity", format!("{} in blocks of {}", self.capacity, self.block_size));
        line("scheme", format!("{} ({})", self.scheme, parameters.join(", ")));
        line("untrusted side", self.store.clone());
        line("provider stores", format!("at most {}", self.stored));
        line(
            "bytes moved",
            format!(
                "{:.1} per byte of a block that you read or write, plus checkpoints",
                self.moved_per_byte
            ),
        );
        let MemorySummary { trusted_usual, trusted, process, process_max, reserve } = &self.memory;
        line("trusted memory", format!("about {trusted_usual}, at most {trusted}"));
        line(
            "whole process",
            format!("about {process} of memory with a full, busy vault, at most {process_max}"),
        );
        for (name, value) in reserve.lines() {
            line(name, value);
        }
        if let Some(OnDiskSummary { room, resident }) = &self.on_disk {
            line(
                "tree top",
                format!("on the trusted disk, at most {room}; at most {resident} of it in memory"),
            );
        }
        if let Some(dollars) = self.dollars_per_month {
            line("storage costs", format!("${dollars:.2} a month when full, plus requests and traffic"));
        }
        let lost = match (&self.journal, self.recovery_point) {
            (Some(_), _) => Some("loses no acknowledged write".to_owned()),
            (None, 0) => None,
            (None, point) => {
                let unshipped = Unshipped::of(point, self.block_size.0);
                Some(format!("loses at most the writes of about the last {unshipped}"))
            }
        };
        if let Some(lost) = lost {
            line("a lost machine", lost);
        }
        if let Some(JournalSummary { objects, dollars }) = &self.journal {
            let dollars = dollars.map(|dollars| format!(", ${dollars:.2} per million")).unwrap_or_default();
            line("journal", format!("in the store: one object and one request per batch{dollars}"));
            let sizes: Vec<String> =
                objects.iter().map(|(length, bytes)| format!("{bytes} for {length}")).collect();
            line("its objects", format!("{} accesses", sizes.join(", ")));
        }
        if let Some(pace) = &self.pace {
            let PaceSummary { turn, batch, per_second, requests, bytes, dollars } = pace;
            line("pace", format!("a batch of {batch} every {turn}: at most {per_second} per second"));
            let dollars = dollars.map(|dollars| format!(", ${dollars:.2}")).unwrap_or_default();
            line("pace per day", format!("about {requests} requests, {bytes}{dollars}, used or not"));
        }
        text
    }
}

/// The addresses that a gateway listens on.
#[derive(Clone, Copy, Debug)]
pub struct Addresses<'a> {
    /// True if clients must use TLS.
    pub tls: bool,
    /// The address for clients of S3.
    pub s3: SocketAddr,
    /// The address for clients of Swift, if Swift is served.
    pub swift: Option<SocketAddr>,
    /// The URL that clients of Swift use, if it differs.
    pub swift_url: Option<&'a str>,
    /// The address for health and metrics.
    pub admin: SocketAddr,
}

impl Addresses<'_> {
    fn url(&self, listen: SocketAddr) -> String {
        format!("{}://{listen}", if self.tls { "https" } else { "http" })
    }

    fn swift_url(&self) -> Option<String> {
        let listen = self.swift?;
        Some(self.swift_url.map_or_else(|| self.url(listen), |url| url.trim_end_matches('/').to_owned()))
    }
}

/// The reader of the printed text.
#[derive(Clone, Copy, Debug)]
pub enum Reader<'a> {
    /// A person at a terminal, who may see secrets.
    Terminal,
    /// A log, which must not store secrets: it gets the name of their file.
    Log(&'a Path),
}

impl<'a> Reader<'a> {
    /// Returns the reader of standard output.
    pub fn of_output(credentials: &'a Path) -> Self {
        if std::io::stdout().is_terminal() { Reader::Terminal } else { Reader::Log(credentials) }
    }
}

/// Returns the start message of `ameles serve`. `password` is that of the first user, if it was just generated.
pub fn serving(
    vault: &VaultSummary,
    at: &Addresses<'_>,
    users: &[User],
    password: Option<&str>,
    reader: Reader<'_>,
) -> String {
    let state = if vault.fresh { "A new vault" } else { "An existing vault" };
    let vault = vault.render();
    let also = at.swift_url().map_or(String::new(), |url| format!(", Swift on {url}"));
    let s3_url = at.url(at.s3);
    let (s3, swift) = (s3(&s3_url, users, reader), swift(at, users, password, reader));
    format!(
        "\
{state}
{vault}
Serving S3 on {s3_url}{also}, health and metrics on http://{admin}

{s3}{swift}
Press Ctrl-C to stop.
",
        admin = at.admin,
    )
}

/// Describes a demonstration, and how to read in a pattern.
pub fn demonstration(folder: &Path, pattern: Pattern) -> String {
    let reads = match pattern {
        Pattern::Sweep => "They are read in order, then one of them repeatedly. Read others meanwhile",
        Pattern::Quiet => "Read them in a pattern",
    };
    let (first, last) = (object_name(0), object_name(OBJECTS - 1));
    format!(
        "\
This is a demonstration. Do not store data in it: everything is in {folder},
which is removed at the end. It holds {first} to {last}. The page below shows
which blocks are read, and has a switch that turns the ORAM off.

{reads}, with the S3 credentials named above:

  for n in $(seq -w 0 {number}); do aws s3 cp --quiet s3://{CONTAINER}/object-$n /dev/null; done
  while :; do aws s3 cp --quiet s3://{CONTAINER}/{first} /dev/null; done
",
        folder = folder.display(),
        number = OBJECTS - 1,
    )
}

/// Returns the link to the owner's page; a log gets the file that holds the link.
pub fn page(link: &str, reader: Reader<'_>) -> String {
    match reader {
        Reader::Terminal => {
            format!(
                "Your private page, with the requests of applications and what the provider sees:\n  {link}"
            )
        }
        Reader::Log(file) => format!("The link to the owner's page is in {}.", file.display()),
    }
}

/// Returns how to use S3, with the keys of the first user who has keys.
fn s3(endpoint: &str, users: &[User], reader: Reader<'_>) -> String {
    let Some(key) = users.iter().find_map(|user| user.keys.first()) else {
        return "No user has S3 keys: create some with `ameles user keys ACCOUNT:USER`.\n".to_owned();
    };
    if let Reader::Log(file) = reader {
        return format!("The secret of the S3 key {} is in {}.\n", key.id, file.display());
    }
    format!(
        "  export AWS_ACCESS_KEY_ID={id}
  export AWS_SECRET_ACCESS_KEY={secret}
  export AWS_DEFAULT_REGION=us-east-1 AWS_ENDPOINT_URL={endpoint}

With these variables set, try:

  aws s3 mb s3://first
  aws s3 cp README.md s3://first/
",
        id = key.id,
        secret = *key.secret,
    )
}

/// Returns how to use Swift, as the user whose keys are shown, or the first user with a password if no user has keys.
fn swift(at: &Addresses<'_>, users: &[User], password: Option<&str>, reader: Reader<'_>) -> String {
    let Some(url) = at.swift_url() else { return String::new() };
    // Keys of one user next to the name of another would lead to two accounts.
    let has_keys = users.iter().find(|user| !user.keys.is_empty());
    let Some(user) = has_keys.or_else(|| users.iter().find(|user| user.password.is_some())) else {
        return "\nNo user has a password for Swift: create one with `ameles user password ACCOUNT:USER`.\n"
            .to_owned();
    };
    let name = format!("{}:{}", user.identity.account.as_str(), user.identity.user.as_str());
    if user.password.is_none() {
        return format!(
            "\n{name} has no password for Swift: create one with `ameles user password {name}`.\n"
        );
    }
    if let (Some(_), Reader::Log(_)) = (password, reader) {
        return format!(
            "\nThe password of {name} is shown only at a terminal: create a new one with `ameles user password {name}`.\n"
        );
    }
    let (key, hint) = match password {
        Some(password) => (password, "The password is shown only once.".to_owned()),
        None => (
            "...",
            format!(
                "The password of {name} is not stored: create a new one with `ameles user password {name}`."
            ),
        ),
    };
    format!(
        "
  export ST_AUTH={url}/auth/v1.0 ST_USER={name} ST_KEY={key}

With these variables set, try:

  swift upload first README.md
  swift list first

{hint}
"
    )
}

#[cfg(test)]
mod tests {
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
            recovery_point: 40960,
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
            "a lost machine  loses at most the writes of about the last 40960 accesses",
        ] {
            assert!(text.contains(part), "{part} is missing in\n{text}");
        }
        assert!(!text.contains('$'));
        let there = OnDiskSummary { room: Size(48 << 20), resident: Size(3 << 20) };
        let on_disk = VaultSummary { on_disk: Some(there), ..summary() }.render();
        assert!(on_disk.contains("on the trusted disk, at most 48 MiB; at most 3 MiB of it in memory"));
        let priced = VaultSummary { dollars_per_month: Some(0.069), ..summary() };
        assert!(priced.render().contains("$0.07 a month"));
        let journal =
            JournalSummary { objects: vec![(1, Size(67 << 10)), (16, Size(1 << 20))], dollars: Some(5.0) };
        let text = VaultSummary { journal: Some(journal), ..summary() }.render();
        for part in [
            "a lost machine  loses no acknowledged write",
            "one object and one request per batch, $5.00 per million",
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
        Addresses { tls: false, s3, swift: Some(swift), swift_url: None, admin }
    }

    #[test]
    fn the_password_is_shown_when_it_is_generated_and_never_again() {
        let hash = crate::users::file::hash("open sesame").unwrap();
        let users = [User { password: Some(hash), ..User::first(AccessKey::new("AMLSID", "hush")) }];
        let first = serving(&summary(), &addresses(), &users, Some("open sesame"), Reader::Terminal);
        let line = "ST_AUTH=http://127.0.0.1:9319/auth/v1.0 ST_USER=ameles:owner ST_KEY=open sesame\n";
        assert!(first.contains(line), "{first}");
        let later = serving(&summary(), &addresses(), &users, None, Reader::Terminal);
        assert!(!later.contains("sesame") && later.contains("ameles user password ameles:owner"), "{later}");
        let without = serving(
            &summary(),
            &addresses(),
            &[User::first(AccessKey::new("A", "b"))],
            None,
            Reader::Terminal,
        );
        assert!(without.contains("ameles:owner has no password"), "{without}");
        let off =
            serving(&summary(), &Addresses { swift: None, ..addresses() }, &users, None, Reader::Terminal);
        assert!(!off.contains("ST_AUTH") && !off.contains("Swift"), "{off}");
        let secure =
            serving(&summary(), &Addresses { tls: true, ..addresses() }, &users, None, Reader::Terminal);
        assert!(secure.contains("ST_AUTH=https://127.0.0.1:9319/auth/v1.0 "), "{secure}");
        let log = Reader::Log(Path::new("trusted/credentials.toml"));
        let logged = serving(&summary(), &addresses(), &users, Some("open sesame"), log);
        assert!(!logged.contains("sesame") && !logged.contains("hush"), "{logged}");
        assert!(logged.contains("AMLSID is in trusted/credentials.toml"), "{logged}");
        assert!(logged.contains("ameles user password ameles:owner"), "{logged}");
        let named = Addresses { swift_url: Some("https://s.example.org/"), ..addresses() };
        let text = serving(&summary(), &named, &users, None, Reader::Terminal);
        assert!(text.contains("ST_AUTH=https://s.example.org/auth/v1.0 "), "{text}");
    }

    #[test]
    fn s3_and_swift_are_shown_for_one_user() {
        let hash = crate::users::file::hash("open sesame").unwrap();
        let user = |name: &str, key: Option<&str>, has_password: bool| User {
            identity: Identity {
                account: AccountName::first(),
                user: name.parse().unwrap(),
                role: Role::Owner,
            },
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
}
