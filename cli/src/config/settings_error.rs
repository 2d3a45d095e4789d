//! Settings that cannot be.

use crate::config::interval::Interval;
use crate::config::size::Size;
use std::net::SocketAddr;

/// Settings that contradict one another, or that no vault can have. Each names the flag, or the key and its file, that
/// the value came from.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum SettingsError {
    /// The store that a vault is to be brought back from is not there.
    #[error("{}", no_store(name, path, *named))]
    NoStore {
        /// The flag, or the key and its file, that it came from or should.
        name: String,
        /// The place where it was looked for.
        path: String,
        /// Tells whether it was named.
        named: bool,
    },
    /// A size outside of its range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Size {
        /// The setting.
        name: String,
        /// The value that was given.
        value: Size,
        /// The least that works.
        min: Size,
        /// The most that works.
        max: Size,
    },
    /// A number outside of its range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Number {
        /// The setting.
        name: String,
        /// The value that was given.
        value: u64,
        /// The least that works.
        min: u64,
        /// The most that works.
        max: u64,
    },
    /// A length of time outside of its range.
    #[error("{name} is {value}: choose from {min} to {max}")]
    Interval {
        /// The setting.
        name: String,
        /// The value that was given.
        value: Interval,
        /// The shortest that works.
        min: Interval,
        /// The longest that works.
        max: Interval,
    },
    /// A capacity that no vault of this block size can have.
    #[error(
        "{name} is {capacity}: in blocks of {block_size} ({block_name}) choose at least one block and less than {limit}"
    )]
    Capacity {
        /// The capacity's name.
        name: String,
        /// The capacity that was given.
        capacity: Size,
        /// The block size's name.
        block_name: String,
        /// Bytes of a block.
        block_size: Size,
        /// The least that is too much.
        limit: Size,
    },
    /// A parameter that the chosen scheme does not have.
    #[error("{name} is given, and the {scheme} scheme has no such parameter: leave it out")]
    Parameter {
        /// The setting.
        name: String,
        /// The scheme.
        scheme: &'static str,
    },
    /// Parameters that each are in range and do not work together.
    #[error("{names} do not fit together: {why}")]
    Together {
        /// The settings.
        names: String,
        /// The scheme's reason.
        why: String,
    },
    /// More trusted memory than the machine has.
    #[error(
        "{name} is {capacity}: such a vault takes up to {needed} of trusted memory and this machine has {total}; \
         {advice}lower the capacity, or raise {block_name}"
    )]
    Memory {
        /// The capacity's name.
        name: String,
        /// The capacity that was given.
        capacity: Size,
        /// Trusted memory of such a vault.
        needed: Size,
        /// Memory of the machine.
        total: Size,
        /// A smaller tree top that would fit, if there is one.
        advice: String,
        /// The block size's name.
        block_name: String,
    },
    /// A tree top on a disk that somebody else may watch.
    #[error(
        "{folder} lies on a file system that another machine or program hands out (NFS, SMB, FUSE or the like), which sees \
         which blocks of the tree top are asked for: name a --data folder on a disk of this machine, or say \
         --allow-network-disk"
    )]
    WatchedDisk {
        /// The trusted folder.
        folder: String,
    },
    /// An existing vault of another shape.
    #[error(
        "this vault was made with other parameters: {0}; leave them out, have `ameles migrate` make a successor that has \
         them, or name another --data folder and store for a new vault"
    )]
    OtherShape(String),
    /// A key of `[key]` that the chosen source does not use.
    #[error("{name} is not used by the key source `{source_name}`: leave it out or choose another source")]
    KeySource {
        /// The setting.
        name: String,
        /// The source.
        source_name: &'static str,
    },
    /// A setting without the other one that it needs.
    #[error("{given} is given without {missing}: give both, or neither")]
    Alone {
        /// The one.
        given: String,
        /// The flag of the other.
        missing: &'static str,
    },
    /// Two listeners on one address.
    #[error("{one} and {other} are both {address}: clients of each kind and metrics need an address each")]
    SameAddress {
        /// The name of one.
        one: String,
        /// The name of the other.
        other: String,
        /// Both.
        address: SocketAddr,
    },
    /// A setting that a demonstration does not take.
    #[error(
        "{0} is given, and --demonstration has a small vault, a store and a key of its own, in a temporary folder: leave \
         out the one or the other"
    )]
    Demonstration(String),
    /// A page that no browser would reach.
    #[error("{name} is {address}: a demonstration is its page, which is served on loopback only")]
    PageBeyondLoopback {
        /// The setting.
        name: String,
        /// The address that was given.
        address: SocketAddr,
    },
    /// An address for catalogues that is not valid.
    #[error("{name} is `{url}`, which clients cannot use: write http://HOST:PORT or https://HOST")]
    SwiftUrl {
        /// The setting.
        name: String,
        /// The text that was given.
        url: String,
    },
    /// A region that no client could sign for.
    #[error(
        "{name} is `{region}`, which is no name of a region: take up to 63 letters, digits, `-`, `_` or `.`"
    )]
    Region {
        /// The setting.
        name: String,
        /// The text that was given.
        region: String,
    },
    /// A store that is no URL.
    #[error(
        "{name} is `{url}`, which is no address of a store: write s3://BUCKET/PREFIX, gs://BUCKET, az://CONTAINER or \
         file:///FOLDER"
    )]
    Store {
        /// The setting.
        name: String,
        /// The text that was given.
        url: String,
    },
    /// An endpoint without a store to reach there.
    #[error("{0} needs a store to reach there: add --store s3://BUCKET (`store.url`)")]
    EndpointAlone(String),
    /// A table of prices that is not there or is none.
    #[error("{name} is {asked}: {why}")]
    Prices {
        /// The setting.
        name: String,
        /// The value that was given.
        asked: String,
        /// The mistake in it.
        why: String,
    },
    /// A key source that gives no key, or one of another kind than the vault's.
    #[error("{0}")]
    Key(String),
    /// A successor that this vault cannot have.
    #[error("{0}")]
    Successor(String),
    /// The earlier store of a vault that has moved.
    #[error("the vault is not at {from} any more: its successor has taken over. To serve it: {line}")]
    Moved {
        /// The store that was named.
        from: String,
        /// The command that serves the vault.
        line: String,
    },
}

fn no_store(name: &str, path: &str, named: bool) -> String {
    if named {
        format!("{name} is {path}, and no folder is there: name the store of the vault (is it mounted?)")
    } else {
        format!(
            "{name} is not given, and {path} is not there: say where the vault's store is, such as s3://my-bucket/ameles"
        )
    }
}
