//! The settings of the untrusted side, and of a journal in etcd.

use super::names::{ENDPOINT, ETCD, ETCD_CA, ETCD_CERT, ETCD_KEY, Name, STORE};
use super::options::StoreConfig;
use super::origins::Origins;
use super::settings_error::SettingsError;
use super::store_options::StoreOptions;
use ameles_store::EtcdAddress;
use std::path::PathBuf;

/// The untrusted side.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StoreSettings {
    /// The URL of the store; `None` for the folder [`DataFolder::untrusted`](super::folders::DataFolder::untrusted).
    pub url: Option<String>,
    /// The address of a server with the provider's protocol.
    pub endpoint: Option<String>,
    /// Further options of the provider's client.
    pub options: StoreOptions,
    /// The place of the journal in etcd, if it is given.
    pub etcd: Option<EtcdSettings>,
}

/// The place of the journal in etcd.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdSettings {
    /// The servers, and the prefix of the keys.
    pub address: EtcdAddress,
    /// The certificate of the authority of its servers.
    pub ca: Option<PathBuf>,
    /// The certificate of this machine, and its key.
    pub identity: Option<TlsSettings>,
}

/// The files of a certificate and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TlsSettings {
    /// The certificate with its chain.
    pub cert: PathBuf,
    /// The key.
    pub key: PathBuf,
}

/// Returns the files of a certificate and its key, if both are given.
///
/// # Errors
/// [`SettingsError::Alone`].
pub(super) fn pair(
    (cert_name, cert): (Name, Option<PathBuf>),
    (key_name, key): (Name, Option<PathBuf>),
    origins: &Origins,
) -> Result<Option<TlsSettings>, SettingsError> {
    let (given, missing) = match (cert, key) {
        (Some(cert), Some(key)) => return Ok(Some(TlsSettings { cert, key })),
        (None, None) => return Ok(None),
        (Some(_), None) => (cert_name, key_name),
        (None, Some(_)) => (key_name, cert_name),
    };
    Err(SettingsError::Alone { given: origins.name(given), missing: missing.flag })
}

/// Returns the settings of the untrusted side.
///
/// # Errors
/// A value is not valid, or lacks another one.
pub(super) fn store(store: StoreConfig, origins: &Origins) -> Result<StoreSettings, SettingsError> {
    let StoreConfig { url, endpoint, options, .. } = store.clone();
    match &url {
        Some(url) if !url.contains("://") => {
            return Err(SettingsError::Store { name: origins.name(STORE), url: url.clone() });
        }
        Some(url) if endpoint.is_some() && ["file:", "memory:"].iter().any(|kind| url.starts_with(kind)) => {
            let (name, store_name) = (origins.name(ENDPOINT), origins.name(STORE));
            return Err(SettingsError::EndpointOfFolder { name, store_name, url: url.clone() });
        }
        None if endpoint.is_some() => {
            return Err(SettingsError::EndpointWithoutStore(origins.name(ENDPOINT)));
        }
        _ => {}
    }
    Ok(StoreSettings { url, endpoint, options, etcd: etcd(store, origins)? })
}

fn etcd(store: StoreConfig, origins: &Origins) -> Result<Option<EtcdSettings>, SettingsError> {
    let StoreConfig { etcd, etcd_ca: ca, etcd_cert, etcd_key, .. } = store;
    let identity = pair((ETCD_CERT, etcd_cert), (ETCD_KEY, etcd_key), origins)?;
    let Some(text) = etcd else {
        let given =
            [(ETCD_CA, ca.is_some()), (ETCD_CERT, identity.is_some())].into_iter().find(|(_, is)| *is);
        return match given {
            Some((name, _)) => Err(SettingsError::Alone { given: origins.name(name), missing: ETCD.flag }),
            None => Ok(None),
        };
    };
    let bad = |error| SettingsError::Etcd { name: origins.name(ETCD), error };
    let address: EtcdAddress = text.parse().map_err(bad)?;
    Ok(Some(EtcdSettings { address, ca, identity }))
}
