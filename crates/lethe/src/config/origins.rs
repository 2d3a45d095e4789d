//! Where a value came from, so that an error can name the flag or the key and its file.

use super::file::Config;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// One value, by its two names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Name {
    pub(super) flag: &'static str,
    key: &'static str,
}

macro_rules! names {
    ($($(#[$docs:meta])* $name:ident: $flag:literal, $key:literal;)*) => {
        $($(#[$docs])* pub const $name: Name = Name { flag: $flag, key: $key };)*
    };
}

names! {
    /// The folder of the vault.
    DATA: "--data", "data";
    /// Bytes that the user can store.
    CAPACITY: "--capacity", "vault.capacity";
    /// Bytes of a block.
    BLOCK_SIZE: "--block-size", "vault.block_size";
    /// The ORAM algorithm.
    SCHEME: "--scheme", "vault.scheme";
    /// Slots for real blocks in a bucket.
    Z: "--z", "vault.z";
    /// Slots for dummy blocks in a bucket.
    S: "--s", "vault.s";
    /// Accesses from one eviction to the next.
    A: "--a", "vault.a";
    /// The most accesses of one batch.
    MAX_BATCH: "--max-batch", "vault.max_batch";
    /// Trusted memory for the top of the tree.
    TREE_TOP: "--tree-top", "vault.tree_top";
    /// Whether batches are filled up.
    PAD_BATCHES: "--pad-batches", "vault.pad_batches";
    /// What seals the slots.
    CIPHER: "--cipher", "vault.cipher";
    /// Where the untrusted side is.
    STORE: "--store", "store.url";
    /// The server that speaks the provider's protocol.
    ENDPOINT: "--endpoint", "store.endpoint";
    /// What else the provider's client takes.
    STORE_OPTION: "--store-option", "store.options";
    /// The key's file.
    KEY_FILE: "--key-file", "key.file";
    /// The environment variable of the key.
    KEY_ENV: "--key-env", "key.variable";
    /// Which kind of key.
    KEY_SOURCE: "--passphrase", "key.source";
    /// Where clients connect.
    LISTEN: "--listen", "serve.listen";
    /// Where health and metrics are asked for.
    ADMIN: "--admin", "serve.admin";
    /// Where clients of Swift connect.
    SWIFT: "--swift", "serve.swift";
    /// The address that the Swift server's catalogues name.
    SWIFT_URL: "--swift-url", "serve.swift_url";
    /// Size classes of objects.
    PADDING: "--padding", "serve.padding";
    /// How often a batch is sent.
    PACE: "--pace", "serve.pace";
    /// The certificate that clients are served with.
    TLS_CERT: "--tls-cert", "serve.tls.cert";
    /// Its key.
    TLS_KEY: "--tls-key", "serve.tls.key";
    /// Requests at work at a time.
    REQUESTS: "--requests", "serve.requests";
    /// Bytes of objects that all transfers hold in memory together.
    TRANSFER_MEMORY: "--transfer-memory", "serve.transfer_memory";
    /// What the provider charges.
    PRICES: "--prices", "prices.file";
    /// How much is logged.
    LOG: "--log", "log.level";
    /// How a line of the log looks.
    LOG_FORMAT: "--log-format", "log.format";
}

/// Which values stand in the configuration's file, and in which file that is; all others came from a flag, or would.
#[derive(Clone, Debug, Default)]
pub struct Origins {
    file: PathBuf,
    keys: BTreeSet<&'static str>,
}

/// What a value means does not depend on where it came from.
impl PartialEq for Origins {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Origins {
    /// All values of `config` come from `file`.
    pub(super) fn of(config: &Config, file: &Path) -> Self {
        Origins { file: file.to_path_buf(), keys: config.given().iter().map(|name| name.key).collect() }
    }

    /// The same after these flags.
    pub(super) fn overlaid(mut self, flags: &[Name]) -> Self {
        self.keys.retain(|key| !flags.iter().any(|name| name.key == *key));
        self
    }

    /// A value as its writer knows it.
    pub fn name(&self, name: Name) -> String {
        if self.keys.contains(name.key) {
            format!("`{}` in {}", name.key, self.file.display())
        } else {
            name.flag.to_owned()
        }
    }
}
