//! The settings of a command: a configuration with all defaults filled in.

use super::choices::{
    Cipher, Journal, KeySource, LogFormat, Objective, Padding, Scheme, SwiftListen, TreeTopOn,
};
use super::file::Config;
use super::key::KeyConfig;
use super::limits;
use super::names::{
    A, ADMIN, BLOCK_SIZE, CAPACITY, EVICTION_SLICE, KEY_ENV, KEY_FILE, LISTEN, MAX_BATCH, Name, OBJECTIVE,
    PACE, REGION, REQUESTS, S, SHIP_AFTER, SWIFT, SWIFT_URL, TLS_CERT, TLS_KEY, TREE_TOP, TREE_TOP_ON, Z,
};
use super::options::{ServeConfig, TlsConfig, VaultConfig};
use super::origins::Origins;
use super::settings_error::SettingsError;
use super::size_or_percent::SizeOrPercent;
use super::store_settings::{StoreSettings, TlsSettings, pair, store};
use crate::config::folders::{self, DataFolder};
use crate::config::interval::Interval;
use crate::config::size::Size;
use ameles_vault::Pace;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// The default variable of a key.
const KEY_VARIABLE: &str = "AMELES_KEY";
/// The default variable of a passphrase.
const PASSPHRASE_VARIABLE: &str = "AMELES_PASSPHRASE";

/// All settings of a command.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The folder of the vault on this machine.
    pub data: DataFolder,
    /// The number of bytes that the user can store, in whole blocks.
    pub capacity: Size,
    /// The size of a block.
    pub block_size: Size,
    /// The ORAM algorithm and its parameters.
    pub scheme: SchemeSettings,
    /// The untrusted side.
    pub store: StoreSettings,
    /// The source of the master key.
    pub key: KeySettings,
    /// The gateway.
    pub serve: ServeSettings,
    /// The table of prices, if one is given.
    pub prices: Option<PathBuf>,
    /// The filter of the log.
    pub log_level: String,
    /// The format of a log line.
    pub log_format: LogFormat,
    /// The origin of each value, for errors.
    pub origins: Origins,
}

/// The ORAM algorithm and its parameters. The scheme chooses parameters that are `None`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeSettings {
    /// The algorithm.
    pub scheme: Scheme,
    /// The number of slots for real blocks in a bucket.
    pub z: Option<u32>,
    /// The number of slots for dummy blocks in a bucket.
    pub s: Option<u32>,
    /// The number of accesses from one eviction to the next.
    pub a: Option<u32>,
    /// The maximum number of accesses in one batch.
    pub max_batch: Option<u32>,
    /// The trusted memory for the top of the tree.
    pub tree_top: Option<SizeOrPercent>,
    /// The place of the stash and the tree top.
    pub tree_top_on: TreeTopOn,
    /// True if they may be on a network file system, whose owner sees which blocks are accessed again.
    pub allows_network_disk: bool,
    /// The cost of an access that the plan minimises.
    pub objective: Objective,
    /// The most bytes that an eviction reads or writes at once. A bucket has no more either.
    pub eviction_slice: Option<Size>,
    /// True if every batch is filled with dummies, so that the store does not learn its length.
    pub pad_batches: bool,
    /// The place of the journal, if it is given. The default depends on the store.
    pub journal: Option<Journal>,
    /// The cipher that seals the slots.
    pub cipher: Cipher,
}

/// The source of the master key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySettings {
    /// A file.
    File(PathBuf),
    /// An environment variable that holds the key.
    Env(String),
    /// A passphrase, from this environment variable if it is set, or from the terminal.
    Passphrase(String),
}

/// The gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSettings {
    /// The address for clients.
    pub listen: SocketAddr,
    /// The address for health and metrics.
    pub admin: SocketAddr,
    /// The address for clients of Swift, if there is one.
    pub swift: Option<SocketAddr>,
    /// The URL in the catalogues of the Swift server, if not the `Host` of each request.
    pub swift_url: Option<String>,
    /// The region that clients of S3 must sign for; `None` for any.
    pub region: Option<String>,
    /// The padding of object sizes.
    pub padding: Padding,
    /// The time between two batches, with or without requests; `None` sends a batch on request.
    pub pace: Option<Pace>,
    /// The time for which the store lacks accesses at most, until a checkpoint with them is made.
    pub ship_after: Duration,
    /// True if a stop leaves the last checkpoint on the trusted disk.
    pub no_ship: bool,
    /// The TLS certificate of the gateway, and its key.
    pub tls: Option<TlsSettings>,
    /// The maximum number of requests at a time.
    pub requests: u32,
    /// The maximum bytes of objects in transfer, over all requests.
    pub transfer_memory: Size,
}

impl Settings {
    /// Resolves the settings of a file with this text.
    ///
    /// # Panics
    /// The text is not a valid file, or its settings are invalid.
    #[cfg(test)]
    pub fn from_toml(text: &str) -> Settings {
        Settings::resolve(Config::parse(text, std::path::Path::new("ameles.toml")).unwrap()).unwrap()
    }

    /// Fills in the defaults and checks all values.
    ///
    /// # Errors
    /// Two settings contradict each other, or one is out of range.
    pub fn resolve(config: Config) -> Result<Settings, SettingsError> {
        let data = DataFolder::new(config.data.unwrap_or_else(|| folders::DEFAULT.into()));
        let origins = config.origins;
        let (capacity, block_size) = sizes(&config.vault, &origins)?;
        Ok(Settings {
            capacity,
            block_size,
            scheme: scheme(&config.vault, capacity, &origins)?,
            store: store(config.store, &origins)?,
            key: key(config.key, &data, &origins)?,
            serve: serve(config.serve, &origins)?,
            prices: config.prices.file,
            log_level: config.log.level(),
            log_format: config.log.format(),
            data,
            origins,
        })
    }

    /// Returns the number of blocks that the user can address.
    pub fn blocks(&self) -> u64 {
        self.capacity.0 / self.block_size.0
    }
}

fn refuse_same_addresses(all: &[(Name, Option<SocketAddr>)], origins: &Origins) -> Result<(), SettingsError> {
    for (index, (one, address)) in all.iter().enumerate() {
        // Port 0 is any free one.
        let Some(address) = address.filter(|address| address.port() != 0) else { continue };
        if let Some((other, _)) = all[index + 1..].iter().find(|(_, other)| *other == Some(address)) {
            let (one, other) = (origins.name(*one), origins.name(*other));
            return Err(SettingsError::SameAddress { one, other, address });
        }
    }
    Ok(())
}

/// Returns capacity and block size. The capacity is rounded down to whole blocks.
fn sizes(vault: &VaultConfig, origins: &Origins) -> Result<(Size, Size), SettingsError> {
    let (block_size, capacity) = (vault.block_size(), vault.capacity());
    let (min, max) = (limits::MIN_BLOCK_SIZE, limits::MAX_BLOCK_SIZE);
    if !(min..=max).contains(&block_size) {
        return Err(SettingsError::Size { name: origins.name(BLOCK_SIZE), value: block_size, min, max });
    }
    let limit = Size(limits::BLOCK_COUNT_LIMIT * block_size.0);
    if !(block_size..limit).contains(&capacity) {
        let (name, block_name) = (origins.name(CAPACITY), origins.name(BLOCK_SIZE));
        return Err(SettingsError::Capacity { name, capacity, block_name, block_size, limit });
    }
    Ok((Size(capacity.0 - capacity.0 % block_size.0), block_size))
}

fn scheme(vault: &VaultConfig, capacity: Size, origins: &Origins) -> Result<SchemeSettings, SettingsError> {
    let scheme = vault.scheme();
    let (scheme_name, accepted): (_, &[Name]) = match scheme {
        Scheme::Ring => ("ring", &[Z, S, A, TREE_TOP]),
        Scheme::Path => ("path", &[Z, TREE_TOP]),
        Scheme::Trivial => ("trivial", &[]),
    };
    let max_z = if scheme == Scheme::Path { limits::MAX_PATH_Z } else { limits::MAX_SLOTS };
    for (name, value, max) in [
        (Z, vault.z, max_z),
        (S, vault.s, limits::MAX_SLOTS),
        (A, vault.a, limits::MAX_SLOTS),
        (MAX_BATCH, vault.max_batch, limits::MAX_BATCH),
    ] {
        let Some(value) = value else { continue };
        if name != MAX_BATCH && !accepted.contains(&name) {
            return Err(SettingsError::Parameter { name: origins.name(name), scheme: scheme_name });
        }
        if !(1..=max).contains(&value) {
            let (name, value, max) = (origins.name(name), value.into(), max.into());
            return Err(SettingsError::Number { name, value, min: 1, max });
        }
    }
    if vault.tree_top_on() == TreeTopOn::Disk && !accepted.contains(&TREE_TOP) {
        return Err(SettingsError::Parameter { name: origins.name(TREE_TOP_ON), scheme: scheme_name });
    }
    if let Some(top) = vault.tree_top {
        let value = top.resolve(capacity);
        if !accepted.contains(&TREE_TOP) {
            return Err(SettingsError::Parameter { name: origins.name(TREE_TOP), scheme: scheme_name });
        }
        if value > capacity {
            let (name, min) = (origins.name(TREE_TOP), Size(0));
            return Err(SettingsError::Size { name, value, min, max: capacity });
        }
    }
    if vault.objective.is_some() && scheme != Scheme::Ring {
        return Err(SettingsError::Parameter { name: origins.name(OBJECTIVE), scheme: scheme_name });
    }
    if let Some(value) = vault.eviction_slice {
        if scheme != Scheme::Ring {
            return Err(SettingsError::Parameter { name: origins.name(EVICTION_SLICE), scheme: scheme_name });
        }
        let (min, max) = (vault.block_size(), limits::MAX_EVICTION_SLICE);
        if !(min..=max).contains(&value) {
            return Err(SettingsError::Size { name: origins.name(EVICTION_SLICE), value, min, max });
        }
    }
    Ok(SchemeSettings {
        scheme,
        z: vault.z,
        s: vault.s,
        a: vault.a,
        max_batch: vault.max_batch,
        tree_top: vault.tree_top,
        tree_top_on: vault.tree_top_on(),
        allows_network_disk: vault.allow_network_disk(),
        objective: vault.objective(),
        eviction_slice: vault.eviction_slice,
        pad_batches: vault.pad_batches(),
        journal: vault.journal,
        cipher: vault.cipher(),
    })
}

fn serve(config: ServeConfig, origins: &Origins) -> Result<ServeSettings, SettingsError> {
    let (listen, admin) = (config.listen(), config.admin());
    let swift = match config.swift() {
        SwiftListen::At(address) => Some(address),
        SwiftListen::Off => None,
    };
    refuse_same_addresses(&[(LISTEN, Some(listen)), (ADMIN, Some(admin)), (SWIFT, swift)], origins)?;
    if let Some(url) = &config.swift_url
        && !["http://", "https://"].iter().any(|scheme| url.starts_with(scheme) && url.len() > scheme.len())
    {
        return Err(SettingsError::SwiftUrl { name: origins.name(SWIFT_URL), url: url.clone() });
    }
    if let Some(region) = &config.region
        && !ameles_gateway::s3::is_region(region)
    {
        return Err(SettingsError::Region { name: origins.name(REGION), region: region.clone() });
    }
    let requests = config.requests();
    if !(1..=limits::MAX_REQUESTS).contains(&requests) {
        let (value, max) = (requests.into(), limits::MAX_REQUESTS.into());
        return Err(SettingsError::Number { name: origins.name(REQUESTS), value, min: 1, max });
    }
    Ok(ServeSettings {
        listen,
        admin,
        swift,
        padding: config.padding(),
        pace: config.pace.map(|interval| pace(interval, origins)).transpose()?,
        requests,
        ship_after: ship_after(config.ship_after(), origins)?,
        no_ship: config.no_ship(),
        transfer_memory: config.transfer_memory(),
        swift_url: config.swift_url,
        region: config.region,
        tls: tls(config.tls, origins)?,
    })
}

fn tls(tls: TlsConfig, origins: &Origins) -> Result<Option<TlsSettings>, SettingsError> {
    pair((TLS_CERT, tls.cert), (TLS_KEY, tls.key), origins)
}

fn pace(interval: Interval, origins: &Origins) -> Result<Pace, SettingsError> {
    let (min, max) = (Interval(Pace::MIN), Interval(Pace::MAX));
    Pace::every(interval.0).map_err(|_| SettingsError::Interval {
        name: origins.name(PACE),
        value: interval,
        min,
        max,
    })
}

fn ship_after(value: Interval, origins: &Origins) -> Result<Duration, SettingsError> {
    let (min, max) = (limits::MIN_SHIP_AFTER, limits::MAX_SHIP_AFTER);
    match (min..=max).contains(&value) {
        true => Ok(value.0),
        false => Err(SettingsError::Interval { name: origins.name(SHIP_AFTER), value, min, max }),
    }
}

fn key(key: KeyConfig, data: &DataFolder, origins: &Origins) -> Result<KeySettings, SettingsError> {
    let unused = |name, source_name| Err(SettingsError::KeySource { name: origins.name(name), source_name });
    match (key.source.unwrap_or(KeySource::File), key.file, key.variable) {
        (KeySource::File, _, Some(_)) => unused(KEY_ENV, "file"),
        (KeySource::Env, Some(_), _) => unused(KEY_FILE, "env"),
        (KeySource::Passphrase, Some(_), _) => unused(KEY_FILE, "passphrase"),
        (KeySource::File, file, None) => Ok(KeySettings::File(file.unwrap_or_else(|| data.master_key()))),
        (KeySource::Env, None, variable) => {
            Ok(KeySettings::Env(variable.unwrap_or_else(|| KEY_VARIABLE.into())))
        }
        (KeySource::Passphrase, None, variable) => {
            Ok(KeySettings::Passphrase(variable.unwrap_or_else(|| PASSPHRASE_VARIABLE.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn settings(text: &str) -> Result<Settings, SettingsError> {
        Settings::resolve(Config::parse(text, Path::new("ameles.toml")).unwrap())
    }

    #[test]
    fn a_certificate_needs_its_key() {
        let error = error_of("[serve]\ntls.cert = \"c.pem\"");
        assert_eq!(error, "`serve.tls.cert` in ameles.toml needs --tls-key too: give both, or neither");
        let error = error_of("[serve.tls]\nkey = \"k.pem\"");
        assert_eq!(error, "`serve.tls.key` in ameles.toml needs --tls-cert too: give both, or neither");
    }

    #[test]
    fn the_number_of_requests_is_at_least_one() {
        assert_eq!(
            error_of("[serve]\nrequests = 0"),
            "`serve.requests` in ameles.toml is 0: choose from 1 to 65536"
        );
    }

    fn error_of(text: &str) -> String {
        settings(text).unwrap_err().to_string()
    }

    #[test]
    fn the_default_is_one_gibibyte_of_ring_oram_on_loopback() {
        let settings = settings("").unwrap();
        assert_eq!(settings.capacity, Size(1 << 30));
        assert_eq!(settings.blocks(), 16384);
        assert_eq!(settings.scheme.scheme, Scheme::Ring);
        assert!(settings.serve.listen.ip().is_loopback());
        assert!(settings.serve.admin.ip().is_loopback());
        assert_eq!(settings.key, KeySettings::File("ameles-data/master.key".into()));
    }

    #[test]
    fn the_default_key_lies_outside_of_the_untrusted_folder() {
        let settings = settings("data = \"/d\"").unwrap();
        let KeySettings::File(key) = &settings.key else {
            panic!("the default key is in a file");
        };
        assert!(!key.starts_with(settings.data.untrusted()));
        assert!(!settings.data.trusted().starts_with(settings.data.untrusted()));
    }

    #[test]
    fn a_capacity_is_whole_blocks() {
        let settings = settings("[vault]\ncapacity = \"1000000\"\nblock_size = \"4KiB\"").unwrap();
        assert_eq!(settings.capacity, Size(999_424));
    }

    #[test]
    fn a_value_from_the_file_is_named_by_its_key_and_the_file() {
        for (text, expected) in [
            (
                "[vault]\nblock_size = 1",
                "`vault.block_size` in ameles.toml is 1 B: choose from 64 B to 16 MiB",
            ),
            (
                "[vault]\ncapacity = \"1KiB\"",
                "`vault.capacity` in ameles.toml is 1 KiB: in blocks of 64 KiB (--block-size) choose at least one block and less \
                 than 128 TiB",
            ),
            (
                "[vault]\nscheme = \"path\"\ns = 4",
                "`vault.s` in ameles.toml is not a parameter of the scheme path: leave it out",
            ),
            ("[serve]\npace = \"5ms\"", "`serve.pace` in ameles.toml is 5ms: choose from 8ms to 1h"),
            (
                "[vault]\nscheme = \"path\"\nobjective = \"bytes\"",
                "`vault.objective` in ameles.toml is not a parameter of the scheme path: leave it out",
            ),
            (
                "[vault]\nscheme = \"path\"\neviction_slice = \"8MiB\"",
                "`vault.eviction_slice` in ameles.toml is not a parameter of the scheme path: leave it out",
            ),
            (
                "[vault]\neviction_slice = \"1KiB\"",
                "`vault.eviction_slice` in ameles.toml is 1 KiB: choose from 64 KiB to 1 TiB",
            ),
            ("[vault]\nmax_batch = 0", "`vault.max_batch` in ameles.toml is 0: choose from 1 to 1024"),
            (
                "[vault]\ntree_top = \"2GiB\"",
                "`vault.tree_top` in ameles.toml is 2 GiB: choose from 0 B to 1 GiB",
            ),
            (
                "[serve]\nadmin = \"127.0.0.1:9317\"",
                "--listen and `serve.admin` in ameles.toml are both 127.0.0.1:9317: choose a different \
                 address for each",
            ),
        ] {
            assert_eq!(error_of(text), expected);
        }
        assert!(error_of("[key]\nsource = \"env\"\nfile = \"k\"").starts_with("`key.file` in ameles.toml"));
        assert!(error_of("[store]\nurl = \"bucket\"").starts_with("`store.url` in ameles.toml is `bucket`"));
        let error = error_of("[store]\nendpoint = \"http://127.0.0.1\"");
        assert!(error.starts_with("`store.endpoint` in ameles.toml") && error.contains("--store"), "{error}");
    }

    #[test]
    fn a_value_from_a_flag_is_named_by_the_flag_also_over_a_file() {
        let file = "[vault]\ncapacity = \"1GiB\"\nmax_batch = 8";
        let file = Config::parse(file, Path::new("ameles.toml")).unwrap();
        let mut flags = Config::default();
        flags.vault.capacity = Some(Size(1 << 50));
        let error = Settings::resolve(file.overlay(flags)).unwrap_err().to_string();
        assert!(
            error.starts_with("--capacity is 1 PiB: in blocks of 64 KiB (--block-size) choose"),
            "{error}"
        );
    }
}
