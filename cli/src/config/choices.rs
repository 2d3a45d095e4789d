//! The choices of options that have named values.

use ameles_vault::JournalPlace;
use clap::ValueEnum;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::net::SocketAddr;
use std::str::FromStr;

/// An ORAM algorithm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Scheme {
    /// Ring ORAM (Ren et al. 2015): reads one slot per bucket
    Ring,
    /// Path ORAM (Stefanov et al. 2013): reads whole paths
    Path,
    /// Reads everything at every access: for very small vaults
    Trivial,
}

/// The cost of an access that the planned parameters minimise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The bytes moved to and from the store
    Bytes,
    /// The requests to the store
    Requests,
    /// The price of requests and bytes (`--prices`, or S3's list prices)
    Dollars,
    /// The bytes that a request may wait for: those of an access, and of a slice of an eviction
    Latency,
}

/// A cipher that seals the slots.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
pub enum Cipher {
    /// AES-256 in Galois/counter mode
    #[serde(rename = "aes-256-gcm")]
    #[value(name = "aes-256-gcm")]
    Aes256Gcm,
    /// AEGIS-128L: the fastest one, with a 128-bit key
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

/// The place of the journal in which a write must be before it is acknowledged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Journal {
    /// The trusted folder: if the machine is lost, writes after the last shipped checkpoint are lost
    Disk,
    /// Also the store, with an object for each batch: if the machine is lost, no acknowledged write is lost
    Store,
    /// The store before the requests that it announces: a restore repeats what the lost machine did, in seconds. Each
    /// answer takes a round trip more
    StoreFirst,
    /// Like `store-first`, with an object at least every 5 seconds: `ameles serve --standby` on another machine takes over
    /// when none has come for 15 seconds
    Standby,
    /// Like `standby`, and announcements are in etcd, whose answers take milliseconds; payloads are sent to the store beside
    /// the requests. Needs `--etcd`
    Etcd,
}

impl From<JournalPlace> for Journal {
    fn from(place: JournalPlace) -> Self {
        match place {
            JournalPlace::Disk => Journal::Disk,
            JournalPlace::Store => Journal::Store,
            JournalPlace::StoreFirst => Journal::StoreFirst,
            JournalPlace::Standby => Journal::Standby,
            JournalPlace::Etcd => Journal::Etcd,
        }
    }
}

impl From<Journal> for JournalPlace {
    fn from(journal: Journal) -> Self {
        match journal {
            Journal::Disk => JournalPlace::Disk,
            Journal::Store => JournalPlace::Store,
            Journal::StoreFirst => JournalPlace::StoreFirst,
            Journal::Standby => JournalPlace::Standby,
            Journal::Etcd => JournalPlace::Etcd,
        }
    }
}

/// The place of the stash and the tree top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum TreeTopOn {
    /// Memory
    Memory,
    /// The trusted folder: memory holds only blocks that were accessed since the last checkpoint
    Disk,
}

/// A kind of source of the master key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum KeySource {
    /// A file, created with a new key together with the vault
    File,
    /// An environment variable that holds the key
    Env,
    /// A passphrase, from an environment variable or from the terminal
    Passphrase,
}

/// The padding of object sizes, so that accesses reveal less about a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// To whole blocks only
    None,
    /// To powers of two
    Power2,
}

/// The format of a log line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// Readable text
    Text,
    /// A JSON object for each line
    Json,
}

/// Parses an address to listen on. Host names are refused: they may stand for several addresses, or change.
///
/// # Errors
/// The text is not an address; the error gives an example.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!(
            "`{text}` is not an address: write an IP address and a port, such as 127.0.0.1:9317 or [::1]:9317"
        )
    })
}

/// Reads an address from the file.
pub(super) fn deserialize_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

/// The address for clients of Swift, if Swift is served.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub enum SwiftListen {
    /// Swift is not served.
    Off,
    /// Swift is served at this address.
    At(SocketAddr),
}

impl FromStr for SwiftListen {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text {
            "off" => Ok(SwiftListen::Off),
            text => address(text).map(SwiftListen::At).map_err(|why| format!("{why}; or write off")),
        }
    }
}

impl TryFrom<String> for SwiftListen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
