//! The contents of `ameles.toml`. All keys are optional; an unknown key is an error.

use super::error_location::{self, ConfigError};
use super::key::KeyConfig;
use super::option_table::{Name, Options};
use super::options::{LogConfig, PricesConfig, ServeConfig, StoreConfig, VaultConfig};
use super::origins::Origins;
use clap::Args;
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The default configuration file.
const CONFIG_FILE: &str = "ameles.toml";

/// The folder of the vault on this machine.
pub const DATA: Name = Name { flag: "--data", key: "data" };

/// The whole file, or the flags of one command. It declares the flags of every command.
#[derive(Args, Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Config {
    /// The folder of the vault on this machine [default: ./ameles-data]
    #[arg(long, global = true, help_heading = "Every command", value_name = "FOLDER")]
    pub data: Option<PathBuf>,
    /// The vault's shape, fixed when it is created, except for `allow_network_disk`.
    #[arg(skip)]
    pub vault: VaultConfig,
    /// The untrusted side.
    #[arg(skip)]
    pub store: StoreConfig,
    /// The source of the master key.
    #[arg(skip)]
    pub key: KeyConfig,
    /// The gateway.
    #[arg(skip)]
    pub serve: ServeConfig,
    /// The prices of the provider.
    #[arg(skip)]
    pub prices: PricesConfig,
    /// The log.
    #[command(flatten)]
    pub log: LogConfig,
    /// The values that come from the file.
    #[arg(skip)]
    #[serde(skip)]
    pub origins: Origins,
}

impl Config {
    /// Reads `path`, or `ameles.toml` in the current folder if it exists.
    ///
    /// # Errors
    /// The named file is missing or cannot be read, or the file is invalid.
    pub fn load(path: Option<&Path>) -> Result<Config, ConfigError> {
        let is_named = path.is_some();
        let path = path.unwrap_or(Path::new(CONFIG_FILE));
        match std::fs::read_to_string(path) {
            Ok(text) => Config::parse(&text, path),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound && !is_named => Ok(Config::default()),
            Err(error) => Err(ConfigError::Unreadable { file: path.to_path_buf(), error }),
        }
    }

    /// Parses a configuration. `path` names it in errors, and its relative paths start from the folder of `path`.
    ///
    /// # Errors
    /// The text is not TOML, has an unknown key, or an invalid value.
    pub fn parse(text: &str, path: &Path) -> Result<Config, ConfigError> {
        let mut config: Config = error_location::deserialize(text, path)?;
        let folder = path.parent().unwrap_or(Path::new(""));
        let Config { data, key, serve, prices, .. } = &mut config;
        let tls = &mut serve.tls;
        let paths = [data, &mut key.file, &mut tls.cert, &mut tls.key, &mut prices.file];
        for written in paths.into_iter().flatten() {
            *written = folder.join(&*written);
        }
        config.origins = Origins::of(&config.names(), path);
        Ok(config)
    }

    /// Returns the names of all values that are set.
    pub(super) fn names(&self) -> Vec<Name> {
        let Config { data, vault, store, key, serve, prices, log, origins: _ } = self;
        let tables = [vault.names(), store.names(), key.names(), serve.names(), prices.names(), log.names()];
        data.iter().map(|_| DATA).chain(tables.into_iter().flatten()).collect()
    }

    /// Returns the first of `candidates` that is set, by the name that the user gave it.
    pub fn first_set(&self, candidates: &[Name]) -> Option<String> {
        let names = self.names();
        candidates.iter().find(|name| names.contains(name)).map(|name| self.origins.name(*name))
    }

    /// Returns this configuration with the flags of a command applied: their values win.
    #[must_use]
    pub fn overlay(self, flags: Config) -> Config {
        let flags = Config { key: flags.key.with_source(), ..flags };
        Config {
            origins: self.origins.overlay(&flags.names()),
            data: flags.data.or(self.data),
            vault: self.vault.overlay(flags.vault),
            store: self.store.overlay(flags.store),
            key: self.key.overlay(flags.key),
            serve: self.serve.overlay(flags.serve),
            prices: self.prices.overlay(flags.prices),
            log: self.log.overlay(flags.log),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::choices::{Cipher, LogFormat, Padding, SwiftListen};
    use crate::config::interval::Interval;
    use crate::config::size::Size;
    use std::time::Duration;

    fn parse(text: &str) -> Result<Config, String> {
        Config::parse(text, Path::new("conf/ameles.toml")).map_err(|error| error.to_string())
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
            file = "/etc/ameles.key"
            [serve]
            listen = "127.0.0.1:80"
            admin = "[::1]:81"
            swift = "127.0.0.1:82"
            swift_url = "https://swift.example.org"
            region = "RegionOne"
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
        assert_eq!(config.key.file, Some("/etc/ameles.key".into()));
        assert_eq!(config.serve.padding, Some(Padding::Power2));
        assert_eq!(config.serve.pace, Some(Interval(Duration::from_millis(50))));
        assert_eq!(config.serve.tls.cert, Some("conf/cert.pem".into()));
        assert_eq!(config.serve.tls.key, Some("/etc/key.pem".into()));
        assert_eq!((config.serve.requests, config.serve.transfer_memory), (Some(7), Some(Size(1 << 30))));
        assert_eq!(config.serve.swift, Some(SwiftListen::At("127.0.0.1:82".parse().unwrap())));
        assert_eq!(config.serve.swift_url.as_deref(), Some("https://swift.example.org"));
        assert_eq!(config.serve.region.as_deref(), Some("RegionOne"));
        assert_eq!(parse("[serve]\nswift = \"off\"").unwrap().serve.swift, Some(SwiftListen::Off));
        assert_eq!(config.prices.file, Some("conf/prices.toml".into()));
        assert_eq!(config.log.format, Some(LogFormat::Json));
    }

    #[test]
    fn a_mistyped_key_is_named_with_its_line_and_a_suggestion() {
        assert_eq!(
            parse("[vault]\nscheme = \"ring\"\ncapcity = 5\n").unwrap_err(),
            "conf/ameles.toml, line 3: unknown key `vault.capcity`; did you mean `capacity`?"
        );
        assert_eq!(
            parse("\n[sevre]\nlisten = 1").unwrap_err(),
            "conf/ameles.toml, line 2: unknown key `sevre`; did you mean `serve`?"
        );
    }

    #[test]
    fn a_key_like_no_other_gets_the_list_of_keys() {
        let error = parse("[log]\nqqqqqqqqqqqq = 5\n").unwrap_err();
        assert_eq!(
            error,
            "conf/ameles.toml, line 2: unknown key `log.qqqqqqqqqqqq`; the keys here are: level, format"
        );
    }

    #[test]
    fn an_invalid_value_is_named_with_its_line_and_key() {
        assert_eq!(
            parse("[vault]\nscheme = \"rng\"").unwrap_err(),
            "conf/ameles.toml, line 2: `vault.scheme`: unknown value `rng`; did you mean `ring`?"
        );
        let size = parse("[vault]\n\nblock_size = \"64 potatoes\"").unwrap_err();
        assert!(
            size.starts_with("conf/ameles.toml, line 3: `vault.block_size`: `64 potatoes` is not a size"),
            "{size}"
        );
        let address = parse("[serve]\nlisten = \"here\"").unwrap_err();
        assert!(address.starts_with("conf/ameles.toml, line 2: `serve.listen`: "), "{address}");
        let kind = parse("[vault]\nz = \"four\"").unwrap_err();
        assert!(kind.starts_with("conf/ameles.toml, line 2: `vault.z`: "), "{kind}");
    }

    #[test]
    fn a_file_that_is_not_toml_is_named_with_its_line() {
        let error = parse("[vault]\nscheme = = 5").unwrap_err();
        assert!(error.starts_with("conf/ameles.toml, line 2: "), "{error}");
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
        let merged = file.overlay(flags);
        assert_eq!(merged.data, Some("/d".into()));
        assert_eq!((merged.vault.z, merged.vault.s), (Some(5), Some(6)));
        assert_eq!(merged.store.options.0["region"], "b");
        assert_eq!(merged.store.options.0["user"], "u");
    }

    #[test]
    fn a_named_file_that_is_missing_is_an_error() {
        let error = Config::load(Some(Path::new("/nowhere/ameles.toml"))).unwrap_err();
        assert!(error.to_string().starts_with("/nowhere/ameles.toml cannot be read"), "{error}");
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
                assert!(error.starts_with("conf/ameles.toml"), "{error}");
            }
        });
    }
}
