//! The choices: values of options that have names.

use clap::ValueEnum;
use serde::Deserialize;
use serde::de::{Deserializer, Error};
use std::net::SocketAddr;
use std::str::FromStr;

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

/// A cost of an access that the planned parameters make small.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Objective {
    /// The bytes moved, to the store and from it
    Bytes,
    /// The requests to the store
    Requests,
    /// The price of requests and bytes (`--prices`; S3's list prices if none are given)
    Dollars,
}

/// A cipher that seals the slots.
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

/// The place of the journal that an acknowledged write waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Journal {
    /// The trusted folder: a lost machine loses what came after the last shipped checkpoint
    Disk,
    /// The store as well, an object for each batch: a lost machine loses nothing that was acknowledged
    Store,
}

/// The place of stash and tree top.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum TreeTopOn {
    /// Memory
    Memory,
    /// The trusted folder: memory holds what came or was asked for since the last checkpoint alone
    Disk,
}

/// A kind of source of the master key.
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

/// Classes that the sizes of objects are padded to, so that an access shows less of a size.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Padding {
    /// Whole blocks and nothing more
    None,
    /// Powers of two
    Power2,
}

/// The look of a line of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum LogFormat {
    /// For people
    Text,
    /// A JSON object for each line
    Json,
}

/// Reads an address to listen on. Names are refused: a name stands for several addresses, or for another one tomorrow.
///
/// # Errors
/// The text is no address; an example says what it should look like.
pub(super) fn address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| {
        format!("`{text}` is no address: write numbers and a port, such as 127.0.0.1:9317 or [::1]:9317")
    })
}

/// Reads an address of the file.
pub(super) fn deserialize_address<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<SocketAddr>, D::Error> {
    address(&String::deserialize(from)?).map(Some).map_err(D::Error::custom)
}

/// The place where clients of Swift connect, if they may.
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
            text => address(text).map(SwiftListen::At).map_err(|why| format!("{why}, or off")),
        }
    }
}

impl TryFrom<String> for SwiftListen {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        text.parse()
    }
}
