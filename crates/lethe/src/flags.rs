//! The flags that several commands share. Each group becomes a piece of [`Config`], laid over the file's.

use crate::config::{
    Cipher, Config, KeyConfig, KeySource, LogConfig, LogFormat, Padding, PricesConfig, Scheme, ServeConfig,
    StoreConfig, StoreOptions, SwiftListen, TlsConfig, VaultConfig,
};
use crate::interval::Interval;
use crate::size::Size;
use clap::Args;
use std::net::SocketAddr;
use std::path::PathBuf;

/// What every command takes.
#[derive(Args, Clone, Debug, Default)]
pub struct GlobalFlags {
    /// The configuration; lethe.toml of this folder if there is one
    #[arg(long, global = true, value_name = "FILE")]
    pub config: Option<PathBuf>,
    /// The folder of the vault on this machine [default: ./lethe-data]
    #[arg(long, global = true, value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// How much is logged: error, warn, info, debug, trace, or a filter [default: info]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub log: Option<String>,
    /// How a line of the log looks [default: text]
    #[arg(long, global = true, value_name = "FORMAT")]
    pub log_format: Option<LogFormat>,
}

/// The shape of a vault, fixed when it is made.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Vault")]
pub struct VaultFlags {
    /// How much you can store, such as 10GiB [default: 1GiB]
    #[arg(long, value_name = "SIZE")]
    pub capacity: Option<Size>,
    /// The unit that is moved, such as 64KiB [default: 64KiB]
    #[arg(long, value_name = "SIZE")]
    pub block_size: Option<Size>,
    /// The ORAM algorithm [default: ring]
    #[arg(long)]
    pub scheme: Option<Scheme>,
    /// Slots for real blocks in a bucket (ring, path)
    #[arg(long, value_name = "N")]
    pub z: Option<u32>,
    /// Slots for dummy blocks in a bucket (ring)
    #[arg(long, value_name = "N")]
    pub s: Option<u32>,
    /// Accesses from one eviction to the next (ring)
    #[arg(long, value_name = "N")]
    pub a: Option<u32>,
    /// The most accesses of one batch
    #[arg(long, value_name = "N")]
    pub max_batch: Option<u32>,
    /// Trusted memory for the top of the tree, such as 8MiB
    #[arg(long, value_name = "SIZE")]
    pub tree_top: Option<Size>,
    /// Fill every batch up with dummy accesses, so that its length does not show [default: false]
    #[arg(long, value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
    pub pad_batches: Option<bool>,
    /// What seals the slots [default: aes-256-gcm]
    #[arg(long)]
    pub cipher: Option<Cipher>,
}

/// The untrusted side.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Untrusted store")]
pub struct StoreFlags {
    /// s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or file:///FOLDER [default: DATA/untrusted]
    #[arg(long, value_name = "URL")]
    pub store: Option<String>,
    /// A server that speaks the provider's protocol, such as http://127.0.0.1:7070
    #[arg(long, value_name = "URL")]
    pub endpoint: Option<String>,
    /// What else the provider's client takes, such as region=eu-north-1 (may be given several times)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value)]
    pub store_option: Vec<(String, String)>,
}

/// Where the master key comes from.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Master key")]
#[group(multiple = false)]
pub struct KeyFlags {
    /// The key's file [default: DATA/master.key]
    #[arg(long, value_name = "FILE")]
    pub key_file: Option<PathBuf>,
    /// The environment variable that holds the key
    #[arg(long, value_name = "NAME")]
    pub key_env: Option<String>,
    /// Take a passphrase, from LETHE_PASSPHRASE or from the terminal
    #[arg(long)]
    pub passphrase: bool,
}

/// The gateway.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gateway")]
pub struct ServeFlags {
    /// Where clients connect [default: 127.0.0.1:9317]
    #[arg(long, value_name = "ADDRESS")]
    pub listen: Option<SocketAddr>,
    /// Where health and metrics are asked for [default: 127.0.0.1:9318]
    #[arg(long, value_name = "ADDRESS")]
    pub admin: Option<SocketAddr>,
    /// Where clients of Swift connect, or off [default: 127.0.0.1:9319]
    #[arg(long, value_name = "ADDRESS|off")]
    pub swift: Option<SwiftListen>,
    /// The address that the Swift server's catalogues name [default: what each request's Host says]
    #[arg(long, value_name = "URL")]
    pub swift_url: Option<String>,
    /// What the sizes of objects are padded to [default: none]
    #[arg(long, value_name = "CLASSES")]
    pub padding: Option<Padding>,
    /// The certificate for TLS, in PEM, with those that vouch for it; plain HTTP without
    #[arg(long, value_name = "FILE")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's key, in PEM
    #[arg(long, value_name = "FILE")]
    pub tls_key: Option<PathBuf>,
    /// Requests at work at a time; more are told to come again [default: 128]
    #[arg(long, value_name = "N")]
    pub requests: Option<u32>,
    /// Memory for the objects under way, such as 1GiB; more are told to come again [default: 256MiB]
    #[arg(long, value_name = "SIZE")]
    pub transfer_memory: Option<Size>,
}

/// When batches are sent.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Gateway")]
pub struct PaceFlags {
    /// Send a full batch this often, such as 500ms, whether or not anybody asks: hides when clients are active
    #[arg(long, value_name = "TIME")]
    pub pace: Option<Interval>,
}

/// Where a vault's successor is to be, and its key.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Successor")]
pub struct SuccessorFlags {
    /// Its store, another place than the vault's [default: DATA/untrusted-2, if the vault is in DATA/untrusted]
    #[arg(long, value_name = "URL")]
    pub to: Option<String>,
    /// A server that speaks its provider's protocol
    #[arg(long, value_name = "URL", requires = "to")]
    pub to_endpoint: Option<String>,
    /// What else its provider's client takes (may be given several times)
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_and_value, requires = "to")]
    pub to_option: Vec<(String, String)>,
    /// The file of its key, made if it is not there [default: the vault's own key]
    #[arg(long, value_name = "FILE", group = "new_key")]
    pub new_key_file: Option<PathBuf>,
    /// The environment variable that holds its key
    #[arg(long, value_name = "NAME", group = "new_key")]
    pub new_key_env: Option<String>,
    /// Take a passphrase for it, from LETHE_NEW_PASSPHRASE or from the terminal
    #[arg(long, group = "new_key")]
    pub new_passphrase: bool,
}

/// What the provider charges.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Prices")]
pub struct PriceFlags {
    /// What the provider charges: free, s3-standard, r2-standard (examples with a date), FILE or FILE#NAME
    #[arg(long, value_name = "NAME|FILE")]
    pub prices: Option<PathBuf>,
}

fn key_and_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as region=eu-north-1".to_owned()),
    }
}

impl GlobalFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        config.overlaid(Config {
            data: self.data,
            log: LogConfig { level: self.log, format: self.log_format },
            ..Config::default()
        })
    }
}

impl VaultFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        let VaultFlags { capacity, block_size, scheme, z, s, a, max_batch, tree_top, pad_batches, cipher } =
            self;
        config.overlaid(Config {
            vault: VaultConfig {
                capacity,
                block_size,
                scheme,
                z,
                s,
                a,
                max_batch,
                tree_top,
                pad_batches,
                cipher,
            },
            ..Config::default()
        })
    }
}

impl StoreFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        config.overlaid(Config {
            store: StoreConfig {
                url: self.store,
                endpoint: self.endpoint,
                options: StoreOptions(self.store_option.into_iter().collect()),
            },
            ..Config::default()
        })
    }
}

impl KeyFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        let source = match (&self.key_file, &self.key_env, self.passphrase) {
            (Some(_), _, _) => Some(KeySource::File),
            (_, Some(_), _) => Some(KeySource::Env),
            (_, _, true) => Some(KeySource::Passphrase),
            _ => None,
        };
        config.overlaid(Config {
            key: KeyConfig { source, file: self.key_file, variable: self.key_env },
            ..Config::default()
        })
    }
}

impl ServeFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        config.overlaid(Config {
            serve: ServeConfig {
                listen: self.listen,
                admin: self.admin,
                swift: self.swift,
                swift_url: self.swift_url,
                padding: self.padding,
                tls: TlsConfig { cert: self.tls_cert, key: self.tls_key },
                requests: self.requests,
                transfer_memory: self.transfer_memory,
                pace: None,
            },
            ..Config::default()
        })
    }
}

impl PaceFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        config.overlaid(Config {
            serve: ServeConfig { pace: self.pace, ..ServeConfig::default() },
            ..Config::default()
        })
    }
}

impl SuccessorFlags {
    /// Whether nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.to.is_none() && self.to_endpoint.is_none() && self.to_option.is_empty() && !self.has_key()
    }

    /// Whether it is to have a key of its own.
    pub fn has_key(&self) -> bool {
        self.new_key_file.is_some() || self.new_key_env.is_some() || self.new_passphrase
    }
}

impl PriceFlags {
    /// These flags over `config`.
    pub fn over(self, config: Config) -> Config {
        config.overlaid(Config { prices: PricesConfig { file: self.prices }, ..Config::default() })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{KeySettings, Settings};
    use clap::Parser;

    #[derive(Parser)]
    struct All {
        #[command(flatten)]
        global: GlobalFlags,
        #[command(flatten)]
        vault: VaultFlags,
        #[command(flatten)]
        store: StoreFlags,
        #[command(flatten)]
        key: KeyFlags,
        #[command(flatten)]
        serve: ServeFlags,
        #[command(flatten)]
        pace: PaceFlags,
        #[command(flatten)]
        prices: PriceFlags,
    }

    fn settings(line: &str, file: &str) -> Result<Settings, String> {
        let all = All::try_parse_from(std::iter::once("lethe").chain(line.split_whitespace()))
            .map_err(|error| error.to_string())?;
        let config = Config::parse(file, "lethe.toml".as_ref()).map_err(|error| error.to_string())?;
        let config = all.global.over(all.vault.over(all.store.over(config)));
        let config = all.key.over(all.serve.over(all.pace.over(all.prices.over(config))));
        Settings::resolve(config).map_err(|error| error.to_string())
    }

    #[test]
    fn a_flag_says_the_same_as_its_key_in_the_file() {
        let flags = "--data /d --log debug --log-format json --capacity 2GiB --block-size 4KiB --scheme path --z 5 \
            --max-batch 8 --tree-top 1MiB --pad-batches --cipher chacha20-poly1305 --store s3://b/p \
            --endpoint http://127.0.0.1:1 --store-option region=r --key-env K --listen 127.0.0.1:1 \
            --admin 127.0.0.1:2 --swift 127.0.0.1:3 --swift-url http://s --padding power2 --pace 250ms --prices /p.toml \
            --tls-cert /c.pem --tls-key /k.pem --requests 7 --transfer-memory 1GiB";
        let file = r#"
            data = "/d"
            log = { level = "debug", format = "json" }
            vault = { capacity = "2GiB", block_size = "4KiB", scheme = "path", z = 5, max_batch = 8, tree_top = "1MiB", pad_batches = true, cipher = "chacha20-poly1305" }
            store = { url = "s3://b/p", endpoint = "http://127.0.0.1:1", options = { region = "r" } }
            key = { source = "env", variable = "K" }
            serve = { listen = "127.0.0.1:1", admin = "127.0.0.1:2", swift = "127.0.0.1:3", swift_url = "http://s", padding = "power2", pace = "250ms", tls = { cert = "/c.pem", key = "/k.pem" }, requests = 7, transfer_memory = "1GiB" }
            prices = { file = "/p.toml" }
        "#;
        assert_eq!(settings(flags, "").unwrap(), settings("", file).unwrap());
    }

    #[test]
    fn a_flag_wins_over_the_file() {
        let file = "[vault]\nscheme = \"path\"\n[key]\nsource = \"env\"\nvariable = \"K\"";
        let settings = settings("--scheme trivial --key-file /k", file).unwrap();
        assert_eq!(settings.scheme.scheme, Scheme::Trivial);
        assert_eq!(settings.key, KeySettings::File("/k".into()));
    }

    #[test]
    fn a_mistyped_option_says_what_was_meant() {
        let error = settings("--capacty 1GiB", "").unwrap_err();
        assert!(error.contains("--capacity"), "{error}");
        let error = settings("--scheme rign", "").unwrap_err();
        assert!(error.contains("ring"), "{error}");
    }

    #[test]
    fn a_bad_size_in_a_flag_is_named() {
        let error = settings("--capacity lots", "").unwrap_err();
        assert!(error.contains("'--capacity <SIZE>'") && error.contains("`lots` is no size"), "{error}");
    }

    #[test]
    fn two_sources_of_one_key_are_refused() {
        let error = settings("--key-file /k --passphrase", "").unwrap_err();
        assert!(error.contains("cannot be used with"), "{error}");
    }

    #[test]
    fn a_store_option_without_a_value_is_refused() {
        let error = settings("--store-option region", "").unwrap_err();
        assert!(error.contains("KEY=VALUE"), "{error}");
    }
}
