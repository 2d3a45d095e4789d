//! All options of the file and of the flags, table by table.

use super::choices::{
    Cipher, Journal, LogFormat, Objective, Padding, Scheme, SwiftListen, TreeTopOn, address,
    deserialize_address,
};
use super::option_table::{Name, options};
use super::store_options::StoreOptions;
use crate::config::interval::Interval;
use crate::config::size::Size;
use crate::config::size_or_percent::SizeOrPercent;
use std::net::SocketAddr;
use std::path::PathBuf;

options! {
    /// `[vault]`: the shape of a vault, fixed when it is created, except for `allow_network_disk`.
    VaultConfig("vault", "Vault") {
        #[arg(value_name = "SIZE")]
        CAPACITY: capacity: Size = "capacity" or "1GiB", "The number of bytes that you can store, such as 10GiB";
        #[arg(value_name = "SIZE")]
        BLOCK_SIZE: block_size: Size = "block-size" or "64KiB", "The unit of reads and writes, such as 64KiB";
        #[arg(value_name = "SCHEME")]
        SCHEME: scheme: Scheme = "scheme" or "ring", "The ORAM algorithm";
        #[arg(value_name = "N")]
        Z: z: u32 = "z", "Slots for real blocks in a bucket (ring, path)";
        #[arg(value_name = "N")]
        S: s: u32 = "s", "Slots for dummy blocks in a bucket (ring)";
        #[arg(value_name = "N")]
        A: a: u32 = "a", "Accesses from one eviction to the next (ring)";
        #[arg(value_name = "N")]
        MAX_BATCH: max_batch: u32 = "max-batch", "The maximum number of accesses in one batch";
        #[arg(value_name = "SIZE")]
        TREE_TOP: tree_top: SizeOrPercent = "tree-top", "Trusted space for the top of the tree, such as 8MiB, or 25% of the capacity";
        #[arg(value_name = "PLACE")]
        TREE_TOP_ON: tree_top_on: TreeTopOn = "tree-top-on" or "memory", "Where the stash and the tree top are (ring, path)";
        #[arg(value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
        NETWORK_DISK: allow_network_disk: bool = "allow-network-disk" or "false",
            "Allow the tree top on a network file system: its owner sees which blocks are accessed again";
        #[arg(value_name = "WHAT")]
        OBJECTIVE: objective: Objective = "objective" or "bytes", "What the planned parameters minimise (ring)";
        #[arg(value_name = "SIZE")]
        EVICTION_SLICE: eviction_slice: Size = "eviction-slice",
            "The most bytes that an eviction reads or writes at once (ring) [default: 16MiB, or a bucket]";
        #[arg(value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
        PAD_BATCHES: pad_batches: bool = "pad-batches" or "false",
            "Fill every batch with dummy accesses, so that the store does not learn its length";
        #[arg(value_name = "PLACE")]
        JOURNAL: journal: Journal = "journal",
            "Where a write must be before it is acknowledged [default: store, or disk if the store is a folder of this machine]";
        #[arg(value_name = "CIPHER")]
        CIPHER: cipher: Cipher = "cipher" or "aes-256-gcm", "The cipher that seals the slots";
    }
}

options! {
    /// `[store]`: the untrusted side.
    StoreConfig("store", "Untrusted store") {
        #[arg(value_name = "URL")]
        STORE: url: String = "store",
            "s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or file:///FOLDER [default: DATA/untrusted]";
        #[arg(value_name = "URL")]
        ENDPOINT: endpoint: String = "endpoint",
            "The address of a server with the provider's protocol, such as http://127.0.0.1:7070";
        #[arg(value_name = "URL")]
        ETCD: etcd: String = "etcd",
            "The place of the journal in etcd, such as https://a:2379,b:2379,c:2379/PREFIX";
        #[arg(value_name = "FILE")]
        ETCD_CA: etcd_ca: PathBuf = "etcd-ca",
            "The certificate of the authority of etcd's servers, in PEM [default: those of the system]";
        #[arg(value_name = "FILE")]
        ETCD_CERT: etcd_cert: PathBuf = "etcd-cert", "The certificate with which this machine logs in to etcd, in PEM";
        #[arg(value_name = "FILE")]
        ETCD_KEY: etcd_key: PathBuf = "etcd-key", "The key of that certificate, in PEM";
    } with options: StoreOptions
}

options! {
    /// `[serve]`: the gateway.
    ServeConfig("serve", "Gateway") {
        #[arg(value_name = "ADDRESS", value_parser = address)]
        #[serde(deserialize_with = "deserialize_address")]
        LISTEN: listen: SocketAddr = "listen" or "127.0.0.1:9317",
            "The address for clients: an IP address and a port";
        #[arg(value_name = "ADDRESS", value_parser = address)]
        #[serde(deserialize_with = "deserialize_address")]
        ADMIN: admin: SocketAddr = "admin" or "127.0.0.1:9318", "The address for health, metrics and the owner's page";
        #[arg(value_name = "ADDRESS|off")]
        SWIFT: swift: SwiftListen = "swift" or "127.0.0.1:9319", "The address for clients of Swift, or off";
        #[arg(value_name = "URL")]
        SWIFT_URL: swift_url: String = "swift-url",
            "The URL in the catalogues of the Swift server [default: the Host of each request]";
        #[arg(value_name = "NAME")]
        REGION: region: String = "region",
            "The only region that clients of S3 may sign for [default: any]";
        #[arg(value_name = "CLASSES")]
        PADDING: padding: Padding = "padding" or "none", "The padding of object sizes";
        #[arg(value_name = "N")]
        REQUESTS: requests: u32 = "requests" or "128", "The maximum number of requests at a time; others are told to retry";
        #[arg(value_name = "SIZE")]
        TRANSFER_MEMORY: transfer_memory: Size = "transfer-memory" or "256MiB",
            "Memory for objects in transfer, such as 1GiB; other requests are told to retry";
        #[arg(value_name = "TIME")]
        PACE: pace: Interval = "pace",
            "Send a full batch at this interval, such as 500ms, with or without requests: hides when clients are active";
        #[arg(value_name = "TIME")]
        SHIP_AFTER: ship_after: Interval = "ship-after" or "5m",
            "With the journal on the disk: ship a checkpoint when the store has lacked accesses for this time";
        #[arg(value_name = "YES", num_args = 0..=1, default_missing_value = "true")]
        NO_SHIP: no_ship: bool = "no-ship" or "false",
            "Stop without a checkpoint in the store: it lacks what came since the last one";
    } with tls: TlsConfig
}

options! {
    /// `[serve.tls]`: the TLS certificate of the gateway, and its key.
    TlsConfig("serve.tls", "Gateway") {
        #[arg(value_name = "FILE")]
        TLS_CERT: cert: PathBuf = "tls-cert",
            "The TLS certificate with its chain, in PEM; without it, plain HTTP";
        #[arg(value_name = "FILE")]
        TLS_KEY: key: PathBuf = "tls-key", "The key of the certificate, in PEM";
    }
}

options! {
    /// `[prices]`: the prices of the provider.
    PricesConfig("prices", "Prices") {
        #[arg(value_name = "NAME|FILE")]
        PRICES: file: PathBuf = "prices",
            "The provider's prices: free, s3-standard, r2-standard (dated examples), FILE or FILE#NAME";
    }
}

options! {
    /// `[log]`
    LogConfig("log", "Every command") {
        #[arg(global = true, value_name = "LEVEL")]
        LOG: level: String = "log" or "info",
            "The log level: error, warn, info, debug, trace, off, or a filter";
        #[arg(global = true, value_name = "FORMAT")]
        LOG_FORMAT: format: LogFormat = "log-format" or "text", "The format of a log line";
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{Config, KeyConfig, KeySettings, Settings};
    use clap::{CommandFactory, Parser};

    #[derive(Parser)]
    struct All {
        #[command(flatten)]
        global: Config,
        #[command(flatten)]
        vault: VaultConfig,
        #[command(flatten)]
        store: StoreConfig,
        #[command(flatten)]
        key: KeyConfig,
        #[command(flatten)]
        serve: ServeConfig,
        #[command(flatten)]
        prices: PricesConfig,
    }

    fn config(line: &str, file: &str) -> Result<Config, String> {
        let all = All::try_parse_from(std::iter::once("ameles").chain(line.split_whitespace()))
            .map_err(|error| error.to_string())?;
        let config = Config::parse(file, "ameles.toml".as_ref()).map_err(|error| error.to_string())?;
        let All { global, vault, store, key, serve, prices } = all;
        Ok(config.overlay(Config { vault, store, key, serve, prices, ..global }))
    }

    fn settings(line: &str, file: &str) -> Result<Settings, String> {
        Settings::resolve(config(line, file)?).map_err(|error| error.to_string())
    }

    #[test]
    fn the_reference_lists_every_option_by_its_flag_and_by_its_key() {
        let page = include_str!("../../../docs/reference/configuration.md");
        for option in All::command().get_arguments().filter(|option| option.get_id() != "help") {
            let flag = format!("`--{}`", option.get_long().expect("every option has a flag"));
            assert!(page.contains(&flag), "{flag} is missing");
        }
        let everything = "--data d --log l --log-format json --capacity 1KiB --block-size 64 --scheme ring --z 1 --s 1 \
            --a 1 --max-batch 1 --tree-top 1KiB --tree-top-on disk --allow-network-disk --objective dollars --eviction-slice 8MiB --pad-batches --journal store \
            --cipher aegis-256 --store s --endpoint e --etcd e --etcd-ca a --etcd-cert c --etcd-key k --store-option a=b --key-file k --listen [::1]:1 --admin [::1]:2 --swift off --swift-url u --region r --padding none \
            --pace 1s --ship-after 1m --no-ship --tls-cert c --tls-key k --requests 1 --transfer-memory 1KiB --prices p";
        let names = config(everything, "").unwrap().names();
        // Only one of the three flags of a key can be given, and it sets all three names.
        assert_eq!(names.len(), All::command().get_arguments().count());
        for name in names {
            let key = name.key.rsplit('.').next().expect("a key has a name");
            assert!(
                page.contains(&format!("{key} = ")) || page.contains(&format!("`{}`", name.key)),
                "{name:?}"
            );
        }
    }

    #[test]
    fn a_flag_says_the_same_as_its_key_in_the_file() {
        let flags = "--data /d --log debug --log-format json --capacity 2GiB --block-size 4KiB --scheme ring --z 5 \
            --max-batch 8 --tree-top 25% --tree-top-on disk --allow-network-disk --objective bytes --eviction-slice 8MiB --pad-batches --journal store \
            --endpoint http://127.0.0.1:1 --etcd http://a:1/p --store-option region=r --key-env K --listen 127.0.0.1:1 \
            --cipher chacha20-poly1305 --store s3://b/p --admin 127.0.0.1:2 --swift 127.0.0.1:3 --swift-url http://s --region r_1 --padding power2 --pace 250ms --ship-after 90s --no-ship --prices /p.toml \
            --tls-cert /c.pem --tls-key /k.pem --requests 7 --transfer-memory 1GiB";
        let file = r#"
            data = "/d"
            log = { level = "debug", format = "json" }
            vault = { capacity = "2GiB", block_size = "4KiB", scheme = "ring", z = 5, max_batch = 8, tree_top = "25%", tree_top_on = "disk", allow_network_disk = true, objective = "bytes", eviction_slice = "8MiB", pad_batches = true, journal = "store", cipher = "chacha20-poly1305" }
            store = { url = "s3://b/p", endpoint = "http://127.0.0.1:1", etcd = "http://a:1/p", options = { region = "r" } }
            key = { source = "env", variable = "K" }
            serve = { listen = "127.0.0.1:1", admin = "127.0.0.1:2", swift = "127.0.0.1:3", swift_url = "http://s", region = "r_1", padding = "power2", pace = "250ms", ship_after = "90s", no_ship = true, tls = { cert = "/c.pem", key = "/k.pem" }, requests = 7, transfer_memory = "1GiB" }
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
    fn a_mistyped_option_gets_a_suggestion() {
        let error = settings("--capacty 1GiB", "").unwrap_err();
        assert!(error.contains("--capacity"), "{error}");
        let error = settings("--scheme rign", "").unwrap_err();
        assert!(error.contains("ring"), "{error}");
    }

    #[test]
    fn a_bad_size_in_a_flag_is_named() {
        let error = settings("--capacity lots", "").unwrap_err();
        assert!(error.contains("'--capacity <SIZE>'") && error.contains("`lots` is not a size"), "{error}");
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
