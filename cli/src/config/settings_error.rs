//! Errors of settings.

use crate::config::interval::Interval;
use crate::config::size::Size;
use std::net::SocketAddr;

/// Settings that contradict each other, or that no vault can have. Each error gives the value's origin: a flag, or a
/// key with its file.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The store of the vault does not exist.
    #[error("{}", no_store(name, path, *named))]
    NoStore {
        /// The origin of the store's location: a flag, or a key with its file.
        name: String,
        /// The path of the missing folder.
        path: String,
        /// True if the user named the store.
        named: bool,
    },
    /// The data folder is a file.
    #[error("{name} is {path}, which is not a folder: name a folder")]
    NotAFolder {
        /// The origin of the folder's path.
        name: String,
        /// The path.
        path: String,
    },
    /// A size that is out of range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Size {
        /// The setting.
        name: String,
        /// The given value.
        value: Size,
        /// The smallest valid value.
        min: Size,
        /// The largest valid value.
        max: Size,
    },
    /// A number that is out of range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Number {
        /// The setting.
        name: String,
        /// The given value.
        value: u64,
        /// The smallest valid value.
        min: u64,
        /// The largest valid value.
        max: u64,
    },
    /// A duration that is out of range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Interval {
        /// The setting.
        name: String,
        /// The given value.
        value: Interval,
        /// The shortest valid duration.
        min: Interval,
        /// The longest valid duration.
        max: Interval,
    },
    /// A capacity that no vault of this block size can have.
    #[error(
        "{name} is {capacity}: in blocks of {block_size} ({block_name}) choose at least one block and less than {limit}"
    )]
    Capacity {
        /// The capacity's name.
        name: String,
        /// The given capacity.
        capacity: Size,
        /// The block size's name.
        block_name: String,
        /// The size of a block.
        block_size: Size,
        /// The smallest capacity that is too large.
        limit: Size,
    },
    /// A parameter that the chosen scheme does not have.
    #[error("{name} is not a parameter of the scheme {scheme}: leave it out")]
    Parameter {
        /// The setting.
        name: String,
        /// The scheme.
        scheme: &'static str,
    },
    /// Parameters that are each in range but do not work together.
    #[error("{}: {why}", incompatible(names))]
    Incompatible {
        /// The settings.
        names: Vec<String>,
        /// The scheme's reason.
        why: String,
    },
    /// The vault needs more trusted memory than the machine has.
    #[error(
        "{name} is {capacity}: such a vault takes up to {needed} of trusted memory, and this machine has {total}; \
         {advice}lower the capacity, or raise {block_name}"
    )]
    Memory {
        /// The capacity's name.
        name: String,
        /// The given capacity.
        capacity: Size,
        /// The trusted memory that the vault would need.
        needed: Size,
        /// The memory of the machine.
        total: Size,
        /// A smaller tree top that would fit, if there is one.
        advice: String,
        /// The block size's name.
        block_name: String,
    },
    /// A tree top on a disk that others may watch.
    #[error(
        "{folder} is on a network or FUSE file system, whose server sees accesses to the tree top: put --data on a local disk, \
         or add --allow-network-disk"
    )]
    NetworkDisk {
        /// The trusted folder.
        folder: String,
    },
    /// An existing vault of another shape.
    #[error("{}", shape_mismatch(differing, *can_migrate))]
    ShapeMismatch {
        /// The values that differ.
        differing: String,
        /// True if a successor of the vault can have them.
        can_migrate: bool,
    },
    /// A key of `[key]` that the chosen source does not use.
    #[error("{name} is not used with the key source `{source_name}`: leave it out, or choose another source")]
    KeySource {
        /// The setting.
        name: String,
        /// The source.
        source_name: &'static str,
    },
    /// A setting is given without the other setting that it needs.
    #[error("{given} needs {missing} too: give both, or neither")]
    Alone {
        /// The given setting.
        given: String,
        /// The flag of the missing setting.
        missing: &'static str,
    },
    /// Two listeners on one address.
    #[error("{one} and {other} are both {address}: choose a different address for each")]
    SameAddress {
        /// The name of the first setting.
        one: String,
        /// The name of the second setting.
        other: String,
        /// The common address.
        address: SocketAddr,
    },
    /// A setting that a demonstration does not take.
    #[error(
        "{0} cannot be combined with --demonstration, which has its own small vault, store and key in a temporary folder: \
         leave out one of them"
    )]
    Demonstration(String),
    /// A demonstration whose page is not on loopback.
    #[error(
        "{name} is {address}: the page of a demonstration needs a loopback address, such as 127.0.0.1:9318"
    )]
    PageNotOnLoopback {
        /// The setting.
        name: String,
        /// The given address.
        address: SocketAddr,
    },
    /// An invalid URL for catalogues.
    #[error("{name} is `{url}`, which clients cannot use: write http://HOST:PORT or https://HOST")]
    SwiftUrl {
        /// The setting.
        name: String,
        /// The given text.
        url: String,
    },
    /// An invalid region.
    #[error("{name} is `{region}`, which is not a region: use up to 63 letters, digits, `-`, `_` or `.`")]
    Region {
        /// The setting.
        name: String,
        /// The given text.
        region: String,
    },
    /// A store that is not a URL.
    #[error(
        "{name} is `{url}`, which is not the URL of a store: write s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or \
         file:///FOLDER"
    )]
    Store {
        /// The setting.
        name: String,
        /// The given text.
        url: String,
    },
    /// An endpoint of a store that is not a server.
    #[error(
        "{name} is for servers, and {store_name} is `{url}`: leave {name} out, or name a store such as s3://BUCKET"
    )]
    EndpointOfFolder {
        /// The endpoint's name.
        name: String,
        /// The store's name.
        store_name: String,
        /// The store.
        url: String,
    },
    /// An endpoint without a store.
    #[error("{0} needs a store: add --store s3://BUCKET (`store.url`)")]
    EndpointWithoutStore(String),
    /// An address in etcd that cannot be read.
    #[error("{name}: {error}")]
    Etcd {
        /// The setting.
        name: String,
        /// The reason.
        error: ameles_store::BadEtcdAddress,
    },
    /// A journal in etcd, without the place.
    #[error("the journal is in etcd: give {0}, such as https://a:2379,b:2379,c:2379/PREFIX")]
    NoEtcd(String),
    /// The keys of another vault in etcd.
    #[error("{name}: there are keys of a vault under {address} already: use another prefix")]
    EtcdInUse {
        /// The setting.
        name: String,
        /// The address.
        address: ameles_store::EtcdAddress,
    },
    /// A missing or invalid table of prices.
    #[error("{name} is {requested}: {why}")]
    Prices {
        /// The setting.
        name: String,
        /// The given value.
        requested: String,
        /// The reason.
        why: String,
    },
    /// A key source without a key, or of another kind than the vault's key.
    #[error("{0}")]
    Key(String),
    /// An invalid successor.
    #[error("{0}")]
    Successor(String),
    /// The old store of a vault whose successor has taken over.
    #[error("the vault is no longer at {from}: its successor has taken over. To serve it: {line}")]
    Moved {
        /// The named store.
        from: String,
        /// The command that serves the vault.
        line: String,
    },
}

fn incompatible(names: &[String]) -> String {
    match names {
        [name] => format!("{name} does not fit the vault"),
        names => format!("{} do not fit together", names.join(", ")),
    }
}

fn shape_mismatch(differing: &str, can_migrate: bool) -> String {
    let migrate = if can_migrate { ", create a successor with them by `ameles migrate`," } else { "" };
    format!(
        "this vault has other parameters: {differing}; leave the flags out{migrate} or name another --data folder and \
         store for a new vault"
    )
}

fn no_store(name: &str, path: &str, named: bool) -> String {
    if named {
        format!("{name} is {path}, but there is no such folder: name the store of the vault (is it mounted?)")
    } else {
        format!(
            "{name} is not given, and {path} does not exist: name the vault's store, such as s3://my-bucket/ameles"
        )
    }
}
