//! The address of blobs in etcd.

use std::fmt;
use std::str::FromStr;

/// The servers of a cluster, and the prefix of the keys: `https://a:2379,b:2379,c:2379/PREFIX`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdAddress {
    scheme: &'static str,
    servers: Vec<String>,
    prefix: String,
}

/// The text is not an address of blobs in etcd.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "`{0}` is not an address in etcd: write http://HOST:PORT/PREFIX, or https:// and several HOST:PORT with commas; the prefix \
     has a-z, A-Z, 0-9, '.', '_' and '-'"
)]
pub struct BadEtcdAddress(String);

impl EtcdAddress {
    /// Returns the URL of each server.
    pub fn endpoints(&self) -> Vec<String> {
        self.servers.iter().map(|server| format!("{}{server}", self.scheme)).collect()
    }

    /// Returns the prefix of the keys.
    pub fn prefix(&self) -> &str {
        &self.prefix
    }

    /// Returns whether the way is encrypted.
    pub fn uses_tls(&self) -> bool {
        self.scheme == HTTPS
    }
}

const HTTP: &str = "http://";
const HTTPS: &str = "https://";

impl FromStr for EtcdAddress {
    type Err = BadEtcdAddress;

    fn from_str(text: &str) -> Result<Self, BadEtcdAddress> {
        let bad = || BadEtcdAddress(text.to_owned());
        let (scheme, rest) = [HTTP, HTTPS]
            .into_iter()
            .find_map(|scheme| Some((scheme, text.strip_prefix(scheme)?)))
            .ok_or_else(bad)?;
        let (servers, prefix) = rest.split_once('/').ok_or_else(bad)?;
        let is_prefix_byte = |byte: u8| byte.is_ascii_alphanumeric() || b"._-".contains(&byte);
        let is_server = |server: &&str| {
            let (host, port) = server.rsplit_once(':').unwrap_or_default();
            !host.is_empty() && !host.contains('@') && port.parse::<u16>().is_ok()
        };
        if prefix.is_empty() || !prefix.bytes().all(is_prefix_byte) {
            return Err(bad());
        }
        let servers: Vec<&str> = servers.split(',').collect();
        if !servers.iter().all(is_server) {
            return Err(bad());
        }
        let servers = servers.into_iter().map(str::to_owned).collect();
        Ok(EtcdAddress { scheme, servers, prefix: prefix.to_owned() })
    }
}

impl fmt::Display for EtcdAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}/{}", self.scheme, self.servers.join(","), self.prefix)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_servers_and_a_prefix() {
        let text = "https://a:2379,[::1]:23790/my-vault";
        let address: EtcdAddress = text.parse().unwrap();
        assert_eq!(address.endpoints(), ["https://a:2379", "https://[::1]:23790"]);
        assert_eq!((address.prefix(), address.uses_tls()), ("my-vault", true));
        assert_eq!(address.to_string(), text);
        for bad in [
            "a:2379/p",
            "http://a:2379",
            "http://a:2379/",
            "http://a/p",
            "http://a:2379,/p",
            "http://:1/p",
            "http://a:x/p",
            "http://a:1/p/q",
            "http://u:w@a:1/p",
            "ftp://a:1/p",
        ] {
            assert!(bad.parse::<EtcdAddress>().is_err(), "{bad}");
        }
    }
}
