//! A configuration with nothing left open: what a command works with.

use super::defaults;
use super::file::{
    Cipher, Config, KeyConfig, KeySource, LogFormat, Padding, Scheme, StoreOptions, VaultConfig,
};
use crate::folders::DataFolder;
use crate::size::Size;
use std::net::SocketAddr;
use std::path::PathBuf;

/// Everything that a command may ask.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The folder of the vault on this machine.
    pub data: DataFolder,
    /// Bytes that the user can store: whole blocks.
    pub capacity: Size,
    /// Bytes of a block.
    pub block_size: Size,
    /// The ORAM algorithm and its parameters.
    pub scheme: SchemeSettings,
    /// The untrusted side.
    pub store: StoreSettings,
    /// Where the master key comes from.
    pub key: KeySettings,
    /// The gateway.
    pub serve: ServeSettings,
    /// A table of prices, if one was given.
    pub prices: Option<PathBuf>,
    /// What is logged.
    pub log_level: String,
    /// How a line of the log looks.
    pub log_format: LogFormat,
}

/// The ORAM algorithm and its parameters; what is `None` the scheme chooses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchemeSettings {
    /// Which one.
    pub scheme: Scheme,
    /// Slots for real blocks in a bucket.
    pub z: Option<u32>,
    /// Slots for dummy blocks in a bucket.
    pub s: Option<u32>,
    /// Accesses from one eviction to the next.
    pub a: Option<u32>,
    /// The most accesses of one batch.
    pub max_batch: Option<u32>,
    /// Trusted memory for the top of the tree.
    pub tree_top: Option<Size>,
    /// Whether every batch is filled up with dummies, so that its length does not show.
    pub pad_batches: bool,
    /// What seals the slots.
    pub cipher: Cipher,
}

/// The untrusted side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// Where; the folder of [`DataFolder::untrusted`] if nothing was said.
    pub url: Option<String>,
    /// The address of a server that speaks the provider's protocol.
    pub endpoint: Option<String>,
    /// What else the provider's client takes.
    pub options: StoreOptions,
}

/// Where the master key comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeySettings {
    /// A file.
    File(PathBuf),
    /// An environment variable that holds the key.
    Env(String),
    /// A passphrase, from this environment variable if it is set, else from the terminal.
    Passphrase(String),
}

/// The gateway.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ServeSettings {
    /// Where clients connect.
    pub listen: SocketAddr,
    /// Where health and metrics are asked for.
    pub admin: SocketAddr,
    /// What the sizes of objects are padded to.
    pub padding: Padding,
}

/// Settings that contradict one another, or that no vault can have.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// A block is too small or too large.
    #[error(
        "blocks of {0} are not supported: --block-size (`vault.block_size`) lies between 64 B and 16 MiB"
    )]
    BlockSize(Size),
    /// Not even one block fits.
    #[error(
        "a capacity of {capacity} holds not one block of {block_size}: raise --capacity (`vault.capacity`) \
         or lower --block-size (`vault.block_size`)"
    )]
    Capacity {
        /// What was asked for.
        capacity: Size,
        /// What should fit.
        block_size: Size,
    },
    /// A parameter that the chosen scheme does not have.
    #[error("the {scheme} scheme has no parameter {name}: leave out --{name} (`vault.{name}`)")]
    Parameter {
        /// The scheme.
        scheme: &'static str,
        /// The parameter.
        name: &'static str,
    },
    /// A parameter that must be at least one.
    #[error("--{flag} (`vault.{key}`) must be at least 1")]
    Zero {
        /// As a flag.
        flag: &'static str,
        /// In the file.
        key: &'static str,
    },
    /// A key of `[key]` that the chosen source does not use.
    #[error(
        "`key.{key}` is not used by the key source `{source_name}`: leave it out or choose another source"
    )]
    KeySource {
        /// The key.
        key: &'static str,
        /// The source.
        source_name: &'static str,
    },
    /// Both listeners on one address.
    #[error("--listen and --admin are both {0}: clients and metrics need an address each")]
    SameAddress(SocketAddr),
    /// A store that is no URL.
    #[error(
        "`{0}` is no address of a store: write s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or file:///FOLDER"
    )]
    Store(String),
    /// An endpoint without a store to reach there.
    #[error("--endpoint (`store.endpoint`) needs a store: add --store s3://BUCKET (`store.url`)")]
    EndpointAlone,
}

impl Settings {
    /// Fills in what `config` leaves open.
    ///
    /// # Errors
    /// Two settings contradict one another, or one is out of bounds.
    pub fn resolve(config: Config) -> Result<Settings, SettingsError> {
        let data = DataFolder::new(config.data.unwrap_or_else(|| defaults::DATA.into()));
        let (capacity, block_size) = sizes(&config.vault)?;
        let listen = config.serve.listen.unwrap_or(defaults::LISTEN);
        let admin = config.serve.admin.unwrap_or(defaults::ADMIN);
        if listen == admin && listen.port() != 0 {
            return Err(SettingsError::SameAddress(listen));
        }
        Ok(Settings {
            capacity,
            block_size,
            scheme: scheme(&config.vault)?,
            store: store(config.store.url, config.store.endpoint, config.store.options)?,
            key: key(config.key, &data)?,
            serve: ServeSettings { listen, admin, padding: config.serve.padding.unwrap_or(Padding::None) },
            prices: config.prices.file,
            log_level: config.log.level.unwrap_or_else(|| defaults::LOG_LEVEL.into()),
            log_format: config.log.format.unwrap_or(LogFormat::Text),
            data,
        })
    }

    /// Blocks that the user can address.
    pub fn blocks(&self) -> u64 {
        self.capacity.0 / self.block_size.0
    }
}

/// Capacity and block size; a capacity that is not whole blocks is rounded down to them.
fn sizes(vault: &VaultConfig) -> Result<(Size, Size), SettingsError> {
    let block_size = vault.block_size.unwrap_or(defaults::BLOCK);
    let capacity = vault.capacity.unwrap_or(defaults::CAPACITY);
    if !(defaults::LEAST_BLOCK..=defaults::MOST_BLOCK).contains(&block_size) {
        return Err(SettingsError::BlockSize(block_size));
    }
    if capacity < block_size {
        return Err(SettingsError::Capacity { capacity, block_size });
    }
    Ok((Size(capacity.0 - capacity.0 % block_size.0), block_size))
}

fn scheme(vault: &VaultConfig) -> Result<SchemeSettings, SettingsError> {
    let scheme = vault.scheme.unwrap_or(Scheme::Ring);
    let (name, has): (_, &[&str]) = match scheme {
        Scheme::Ring => ("ring", &["z", "s", "a"]),
        Scheme::Path => ("path", &["z"]),
        Scheme::Trivial => ("trivial", &[]),
    };
    for (parameter, value) in [("z", vault.z), ("s", vault.s), ("a", vault.a)] {
        if value.is_some() && !has.contains(&parameter) {
            return Err(SettingsError::Parameter { scheme: name, name: parameter });
        }
    }
    for (flag, key, value) in [
        ("z", "z", vault.z),
        ("s", "s", vault.s),
        ("a", "a", vault.a),
        ("max-batch", "max_batch", vault.max_batch),
    ] {
        if value == Some(0) {
            return Err(SettingsError::Zero { flag, key });
        }
    }
    Ok(SchemeSettings {
        scheme,
        z: vault.z,
        s: vault.s,
        a: vault.a,
        max_batch: vault.max_batch,
        tree_top: vault.tree_top,
        pad_batches: vault.pad_batches.unwrap_or(false),
        cipher: vault.cipher.unwrap_or(Cipher::Aes256Gcm),
    })
}

fn store(
    url: Option<String>,
    endpoint: Option<String>,
    options: StoreOptions,
) -> Result<StoreSettings, SettingsError> {
    match &url {
        Some(url) if !url.contains("://") => return Err(SettingsError::Store(url.clone())),
        None if endpoint.is_some() => return Err(SettingsError::EndpointAlone),
        _ => {}
    }
    Ok(StoreSettings { url, endpoint, options })
}

fn key(key: KeyConfig, data: &DataFolder) -> Result<KeySettings, SettingsError> {
    let unused = |key, source_name| Err(SettingsError::KeySource { key, source_name });
    match (key.source.unwrap_or(KeySource::File), key.file, key.variable) {
        (KeySource::File, _, Some(_)) => unused("variable", "file"),
        (KeySource::Env, Some(_), _) => unused("file", "env"),
        (KeySource::Passphrase, Some(_), _) => unused("file", "passphrase"),
        (KeySource::File, file, None) => Ok(KeySettings::File(file.unwrap_or_else(|| data.master_key()))),
        (KeySource::Env, None, variable) => {
            Ok(KeySettings::Env(variable.unwrap_or_else(|| defaults::KEY_VARIABLE.into())))
        }
        (KeySource::Passphrase, None, variable) => {
            Ok(KeySettings::Passphrase(variable.unwrap_or_else(|| defaults::PASSPHRASE_VARIABLE.into())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn settings(text: &str) -> Result<Settings, SettingsError> {
        Settings::resolve(Config::parse(text, Path::new("lethe.toml")).unwrap())
    }

    fn refused(text: &str) -> String {
        settings(text).unwrap_err().to_string()
    }

    #[test]
    fn nothing_said_is_one_gibibyte_of_ring_oram_on_loopback() {
        let settings = settings("").unwrap();
        assert_eq!(settings.capacity, Size(1 << 30));
        assert_eq!(settings.blocks(), 16384);
        assert_eq!(settings.scheme.scheme, Scheme::Ring);
        assert!(settings.serve.listen.ip().is_loopback());
        assert!(settings.serve.admin.ip().is_loopback());
        assert_eq!(settings.key, KeySettings::File("lethe-data/master.key".into()));
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
    fn contradictions_are_named_with_flag_and_key() {
        assert!(refused("[vault]\nblock_size = 1").contains("--block-size"));
        assert!(refused("[vault]\ncapacity = \"1KiB\"").contains("--capacity"));
        assert_eq!(
            refused("[vault]\nscheme = \"path\"\ns = 4"),
            "the path scheme has no parameter s: leave out --s (`vault.s`)"
        );
        assert_eq!(refused("[vault]\nmax_batch = 0"), "--max-batch (`vault.max_batch`) must be at least 1");
        assert!(refused("[key]\nsource = \"env\"\nfile = \"k\"").contains("`key.file`"));
        assert!(refused("[serve]\nlisten = \"127.0.0.1:5\"\nadmin = \"127.0.0.1:5\"").contains("--admin"));
        assert!(refused("[store]\nurl = \"bucket\"").contains("s3://BUCKET"));
        assert!(refused("[store]\nendpoint = \"http://127.0.0.1\"").contains("--store"));
    }
}
