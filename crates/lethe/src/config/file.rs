//! What may stand in `lethe.toml`. Everything is optional; an unknown key is an error.

use super::defaults;
use super::locate::{self, ConfigError};
use super::origins::{self, Name, Origins};
use crate::interval::Interval;
use crate::size::Size;
use clap::ValueEnum;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fmt;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The whole file, or what the flags of one command say.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The folder of the vault on this machine.
    pub data: Option<PathBuf>,
    /// The vault's shape, fixed when it is made.
    pub vault: VaultConfig,
    /// The untrusted side.
    pub store: StoreConfig,
    /// Where the master key comes from.
    pub key: KeyConfig,
    /// The gateway.
    pub serve: ServeConfig,
    /// What the provider charges.
    pub prices: PricesConfig,
    /// The log.
    pub log: LogConfig,
    /// Which of these values come from the file.
    #[serde(skip)]
    pub origins: Origins,
}

/// `[vault]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct VaultConfig {
    /// Bytes that the user can store.
    pub capacity: Option<Size>,
    /// Bytes of a block.
    pub block_size: Option<Size>,
    /// The ORAM algorithm.
    pub scheme: Option<Scheme>,
    /// Slots for real blocks in a bucket (Path ORAM, Ring ORAM: Z).
    pub z: Option<u32>,
    /// Slots for dummy blocks in a bucket (Ring ORAM: S).
    pub s: Option<u32>,
    /// Accesses from one eviction to the next (Ring ORAM: A).
    pub a: Option<u32>,
    /// The most accesses of one batch.
    pub max_batch: Option<u32>,
    /// Trusted memory for the top of the tree.
    pub tree_top: Option<Size>,
    /// Whether every batch is filled up with dummy accesses.
    pub pad_batches: Option<bool>,
    /// What seals the slots.
    pub cipher: Option<Cipher>,
}

/// An ORAM algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Ring ORAM (Ren et al. 2015): one slot a bucket is read
    Ring,
    /// Path ORAM (Stefanov et al. 2013): whole paths are read
    Path,
    /// Everything is read at every access: for very small vaults
    Trivial,
}

/// What seals the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
pub enum Cipher {
    /// AES-256 in Galois/counter mode
    #[serde(rename = "aes-256-gcm")]
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    /// AEGIS-128L: the fastest, with a 128-bit key
    #[serde(rename = "aegis-128l")]
    #[value(name = "aegis-128l")]
    Aegis128L,
    /// AEGIS-256
    #[serde(rename = "aegis-256")]
    #[value(name = "aegis-256")]
    Aegis256,
    /// ChaCha20-Poly1305
    #[serde(rename = "chacha20-poly1305")]
    #[value(name = "chacha20-poly1305")]
    ChaCha20Poly1305,
}

/// `[store]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct StoreConfig {
    /// `s3://bucket/prefix`, `gs://…`, `az://…` or `file:///…`; a folder beside the trusted one if not given.
    pub url: Option<String>,
    /// The address of a server that speaks the provider's protocol.
    pub endpoint: Option<String>,
    /// What else the provider's client takes, such as `region`.
    pub options: StoreOptions,
}

/// Options of the provider's client. May hold credentials: values are never shown.
#[derive(Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(transparent)]
pub struct StoreOptions(pub BTreeMap<String, String>);

impl fmt::Debug for StoreOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

/// `[key]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KeyConfig {
    /// What kind of source.
    pub source: Option<KeySource>,
    /// The key's file, of `source = "file"`.
    pub file: Option<PathBuf>,
    /// The environment variable, of the other two sources.
    pub variable: Option<String>,
}

/// Where the master key comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// A file, made with a fresh key together with the vault
    File,
    /// An environment variable that holds the key
    Env,
    /// A passphrase, from an environment variable or asked for on the terminal
    Passphrase,
}

/// `[serve]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServeConfig {
    /// Where clients connect.
    pub listen: Option<SocketAddr>,
    /// Where health and metrics are asked for.
    pub admin: Option<SocketAddr>,
    /// Where clients of Swift connect.
    pub swift: Option<SwiftListen>,
    /// The address that the Swift server's catalogues name.
    pub swift_url: Option<String>,
    /// What the sizes of objects are padded to.
    pub padding: Option<Padding>,
    /// How often a batch is sent, whether or not anybody asks.
    pub pace: Option<Interval>,
    /// The certificate that clients are served with, and its key.
    pub tls: TlsConfig,
    /// Requests at work at a time.
    pub requests: Option<u32>,
    /// Bytes of objects that all transfers hold in memory together.
    pub transfer_memory: Option<Size>,
}

/// `[serve.tls]`
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct TlsConfig {
    /// The certificate's file, in PEM, with those that vouch for it.
    pub cert: Option<PathBuf>,
    /// The key's file, in PEM.
    pub key: Option<PathBuf>,
}

/// Where clients of Swift connect, if they may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum SwiftListen {
    /// Nowhere.
    Off,
    /// At this address.
    At(SocketAddr),
}

impl FromStr for SwiftListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(SwiftListen::Off),
            text => text
                .parse()
                .map(SwiftListen::At)
                .map_err(|_| format!("`{text}` is no address: write one such as 127.0.0.1:9319, or off")),
        }
    }
}

impl TryFrom<String> for SwiftListen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}

/// Classes that the sizes of objects are padded to, so that an access shows less of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// Whole blocks and nothing more
    None,
    /// Powers of two
    Power2,
}

/// `[prices]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct PricesConfig {
    /// A table of prices.
    pub file: Option<PathBuf>,
}

/// `[log]`
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct LogConfig {
    /// A level, or a filter such as `info,lethe_vault=debug`.
    pub level: Option<String>,
    /// How a line looks.
    pub format: Option<LogFormat>,
}

/// How a line of the log looks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    Text,
    /// One JSON object a line
    Json,
}

impl Config {
    /// Reads `path`, or `lethe.toml` of this folder if there is one, or nothing.
    ///
    /// # Errors
    /// The named file is missing, cannot be read, or holds what it should not.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        let named = path.is_some();
        let path = path.unwrap_or(Path::new(defaults::CONFIG_FILE));
        match std::fs::read_to_string(path) {
            Ok(text) => Config::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !named => Ok(Config::default()),
            Err(error) => Err(ConfigError::Unreadable { file: path.to_path_buf(), error }),
        }
    }

    /// Reads a configuration; `path` is what errors call it, and what its relative paths start from.
    ///
    /// # Errors
    /// What is written is no TOML, names an unknown key, or gives a key an impossible value.
    pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let mut config: Config = locate::deserialize(text, path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let Config { data, key, serve, prices, .. } = &mut config;
        let tls = &mut serve.tls;
        let paths = [data, &mut key.file, &mut tls.cert, &mut tls.key, &mut prices.file];
        for written in paths.into_iter().flatten() {
            *written = folder.join(&*written);
        }
        config.origins = Origins::of(&config, path);
        Ok(config)
    }

    /// The names of all values that are given here.
    pub(super) fn given(&self) -> Vec<Name> {
        let Config { data, vault, store, key, serve, prices, log, origins: _ } = self;
        let given = [
            (origins::DATA, data.is_some()),
            (origins::CAPACITY, vault.capacity.is_some()),
            (origins::BLOCK_SIZE, vault.block_size.is_some()),
            (origins::SCHEME, vault.scheme.is_some()),
            (origins::Z, vault.z.is_some()),
            (origins::S, vault.s.is_some()),
            (origins::A, vault.a.is_some()),
            (origins::MAX_BATCH, vault.max_batch.is_some()),
            (origins::TREE_TOP, vault.tree_top.is_some()),
            (origins::PAD_BATCHES, vault.pad_batches.is_some()),
            (origins::CIPHER, vault.cipher.is_some()),
            (origins::STORE, store.url.is_some()),
            (origins::ENDPOINT, store.endpoint.is_some()),
            (origins::STORE_OPTION, !store.options.0.is_empty()),
            // A flag that names a kind of key replaces all that the file says of keys.
            (origins::KEY_SOURCE, key.source.is_some()),
            (origins::KEY_FILE, key.source.is_some() || key.file.is_some()),
            (origins::KEY_ENV, key.source.is_some() || key.variable.is_some()),
            (origins::LISTEN, serve.listen.is_some()),
            (origins::ADMIN, serve.admin.is_some()),
            (origins::SWIFT, serve.swift.is_some()),
            (origins::SWIFT_URL, serve.swift_url.is_some()),
            (origins::PADDING, serve.padding.is_some()),
            (origins::PACE, serve.pace.is_some()),
            (origins::TLS_CERT, serve.tls.cert.is_some()),
            (origins::TLS_KEY, serve.tls.key.is_some()),
            (origins::REQUESTS, serve.requests.is_some()),
            (origins::TRANSFER_MEMORY, serve.transfer_memory.is_some()),
            (origins::PRICES, prices.file.is_some()),
            (origins::LOG, log.level.is_some()),
            (origins::LOG_FORMAT, log.format.is_some()),
        ];
        given.into_iter().filter_map(|(name, is_given)| is_given.then_some(name)).collect()
    }

    /// The first of `names` that has a value, as its writer knows it.
    pub fn first_given(&self, names: &[Name]) -> Option<String> {
        let given = self.given();
        names.iter().find(|name| given.contains(name)).map(|name| self.origins.name(*name))
    }

    /// This configuration where `over` says nothing, and `over` where it speaks.
    #[must_use]
    pub fn overlaid(self, over: Config) -> Config {
        let origins = self.origins.overlaid(&over.given());
        let mut options = self.store.options;
        options.0.extend(over.store.options.0);
        // Naming a kind of key source says that what the file says about another kind is not meant.
        let key = if over.key.source.is_some() { over.key } else { self.key };
        Config {
            data: over.data.or(self.data),
            vault: VaultConfig {
                capacity: over.vault.capacity.or(self.vault.capacity),
                block_size: over.vault.block_size.or(self.vault.block_size),
                scheme: over.vault.scheme.or(self.vault.scheme),
                z: over.vault.z.or(self.vault.z),
                s: over.vault.s.or(self.vault.s),
                a: over.vault.a.or(self.vault.a),
                max_batch: over.vault.max_batch.or(self.vault.max_batch),
                tree_top: over.vault.tree_top.or(self.vault.tree_top),
                pad_batches: over.vault.pad_batches.or(self.vault.pad_batches),
                cipher: over.vault.cipher.or(self.vault.cipher),
            },
            store: StoreConfig {
                url: over.store.url.or(self.store.url),
                endpoint: over.store.endpoint.or(self.store.endpoint),
                options,
            },
            key,
            serve: ServeConfig {
                listen: over.serve.listen.or(self.serve.listen),
                admin: over.serve.admin.or(self.serve.admin),
                swift: over.serve.swift.or(self.serve.swift),
                swift_url: over.serve.swift_url.or(self.serve.swift_url),
                padding: over.serve.padding.or(self.serve.padding),
                pace: over.serve.pace.or(self.serve.pace),
                tls: TlsConfig {
                    cert: over.serve.tls.cert.or(self.serve.tls.cert),
                    key: over.serve.tls.key.or(self.serve.tls.key),
                },
                requests: over.serve.requests.or(self.serve.requests),
                transfer_memory: over.serve.transfer_memory.or(self.serve.transfer_memory),
            },
            prices: PricesConfig { file: over.prices.file.or(self.prices.file) },
            log: LogConfig {
                level: over.log.level.or(self.log.level),
                format: over.log.format.or(self.log.format),
            },
            origins,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("conf/lethe.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn an_empty_file_changes_nothing() {
        assert_eq!(parse(""), Ok(Config::default()));
    }

    #[test]
    fn every_key_is_read() {
        let config = parse(
            r#"
            data = "vault"
            [vault]
            capacity = "10GiB"
            block_size = 65536
            scheme = "ring"
            z = 16
            s = 27
            a = 23
            max_batch = 32
            tree_top = "8MiB"
            pad_batches = true
            cipher = "chacha20-poly1305"
            [store]
            url = "s3://bucket/prefix"
            endpoint = "http://127.0.0.1:7070"
            options = { region = "eu-north-1" }
            [key]
            source = "file"
            file = "/etc/lethe.key"
            [serve]
            listen = "127.0.0.1:80"
            admin = "[::1]:81"
            swift = "127.0.0.1:82"
            swift_url = "https://swift.example.org"
            padding = "power2"
            pace = "50ms"
            tls = { cert = "cert.pem", key = "/etc/key.pem" }
            requests = 7
            transfer_memory = "1GiB"
            [prices]
            file = "prices.toml"
            [log]
            level = "debug"
            format = "json"
            "#,
        )
        .unwrap();
        assert_eq!(config.data, Some("conf/vault".into()));
        assert_eq!(config.vault.capacity, Some(Size(10 << 30)));
        assert_eq!(config.vault.block_size, Some(Size(65536)));
        assert_eq!(config.vault.cipher, Some(Cipher::ChaCha20Poly1305));
        assert_eq!(config.store.options.0["region"], "eu-north-1");
        assert_eq!(config.key.file, Some("/etc/lethe.key".into()));
        assert_eq!(config.serve.padding, Some(Padding::Power2));
        assert_eq!(config.serve.pace, Some(Interval(Duration::from_millis(50))));
        assert_eq!(config.serve.tls.cert, Some("conf/cert.pem".into()));
        assert_eq!(config.serve.tls.key, Some("/etc/key.pem".into()));
        assert_eq!((config.serve.requests, config.serve.transfer_memory), (Some(7), Some(Size(1 << 30))));
        assert_eq!(config.serve.swift, Some(SwiftListen::At("127.0.0.1:82".parse().unwrap())));
        assert_eq!(config.serve.swift_url.as_deref(), Some("https://swift.example.org"));
        assert_eq!(parse("[serve]\nswift = \"off\"").unwrap().serve.swift, Some(SwiftListen::Off));
        assert_eq!(config.prices.file, Some("conf/prices.toml".into()));
        assert_eq!(config.log.format, Some(LogFormat::Json));
    }

    #[test]
    fn a_mistyped_key_is_named_with_its_line_and_what_was_meant() {
        assert_eq!(
            parse("[vault]\nscheme = \"ring\"\ncapcity = 5\n").unwrap_err(),
            "conf/lethe.toml, line 3: unknown key `vault.capcity`; did you mean `capacity`?"
        );
        assert_eq!(
            parse("\n[sevre]\nlisten = 1").unwrap_err(),
            "conf/lethe.toml, line 2: unknown key `sevre`; did you mean `serve`?"
        );
    }

    #[test]
    fn a_key_like_no_other_gets_the_list_of_keys() {
        let error = parse("[log]\nqqqqqqqqqqqq = 5\n").unwrap_err();
        assert_eq!(
            error,
            "conf/lethe.toml, line 2: unknown key `log.qqqqqqqqqqqq`; the keys here are: level, format"
        );
    }

    #[test]
    fn an_impossible_value_is_named_with_its_line_and_key() {
        assert_eq!(
            parse("[vault]\nscheme = \"rng\"").unwrap_err(),
            "conf/lethe.toml, line 2: `vault.scheme`: unknown value `rng`; did you mean `ring`?"
        );
        let size = parse("[vault]\n\nblock_size = \"64 potatoes\"").unwrap_err();
        assert!(
            size.starts_with("conf/lethe.toml, line 3: `vault.block_size`: `64 potatoes` is no size"),
            "{size}"
        );
        let address = parse("[serve]\nlisten = \"here\"").unwrap_err();
        assert!(address.starts_with("conf/lethe.toml, line 2: `serve.listen`: "), "{address}");
        let kind = parse("[vault]\nz = \"four\"").unwrap_err();
        assert!(kind.starts_with("conf/lethe.toml, line 2: `vault.z`: "), "{kind}");
    }

    #[test]
    fn a_file_that_is_no_toml_is_named_with_its_line() {
        let error = parse("[vault]\nscheme = = 5").unwrap_err();
        assert!(error.starts_with("conf/lethe.toml, line 2: "), "{error}");
    }

    #[test]
    fn an_error_fits_on_one_line() {
        for text in ["[vault]\nscheme = = 5", "[[vault]]", "x", "[vault]\ncapacity = \"1K\"", "data = 5"] {
            let error = parse(text).unwrap_err();
            assert!(!error.contains('\n'), "{error:?}");
        }
    }

    #[test]
    fn flags_override_the_file_key_by_key() {
        let file =
            parse("data = \"/d\"\n[vault]\nz = 4\ns = 6\n[store.options]\nregion = \"a\"\nuser = \"u\"")
                .unwrap();
        let mut flags = Config::default();
        flags.vault.z = Some(5);
        flags.store.options.0.insert("region".into(), "b".into());
        let both = file.overlaid(flags);
        assert_eq!(both.data, Some("/d".into()));
        assert_eq!((both.vault.z, both.vault.s), (Some(5), Some(6)));
        assert_eq!(both.store.options.0["region"], "b");
        assert_eq!(both.store.options.0["user"], "u");
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let error = Config::load(Some(Path::new("/nowhere/lethe.toml"))).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/lethe.toml cannot be read"), "{error}");
    }

    #[test]
    fn store_options_never_show_their_values() {
        let config = parse("[store.options]\nsecret_access_key = \"hush\"").unwrap();
        let shown = format!("{config:?}");
        assert!(shown.contains("secret_access_key") && !shown.contains("hush"), "{shown}");
    }

    #[test]
    fn fuzz_every_text_is_a_configuration_or_a_clear_error() {
        bolero::check!().for_each(|bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            if let Err(error) = parse(&text) {
                assert!(error.starts_with("conf/lethe.toml"), "{error}");
            }
        });
    }
}
