//! The untrusted side of a vault.

use super::Home;
use super::serve_line::quoted;
use crate::config::names::{DATA, ENDPOINT, ETCD, STORE, STORE_OPTION};
use crate::config::{EtcdSettings, SettingsError, TlsSettings};
use ameles_store::{
    AccessCounts, Blobs, CountedStore, Etcd, EtcdTls, Meter, MeterReader, Objects, OpenError, OpenOptions,
    Retry, RetryPolicy, Routed,
};
use ameles_vault::{JournalPlace, LOG_PREFIX, VaultError, VaultParameters};
use anyhow::{Context, Result};
use rand_core::{OsRng, RngCore, TryRngCore};
use std::fs;
use std::path::PathBuf;

/// The store of a running vault: every attempt is metered, and temporary errors are retried.
pub type Store = Retry<Routed<Meter<CountedStore<Objects>>, Etcd>>;

impl Home<'_> {
    /// Returns the name of the store for messages.
    pub fn store_name(&self) -> String {
        let folder = || self.settings.data.untrusted().display().to_string();
        self.settings.store.url.clone().unwrap_or_else(folder)
    }

    /// Opens the store without a layout, for blobs only.
    ///
    /// # Errors
    /// The reason why it cannot be reached, with advice.
    pub async fn open_objects(&self, create: bool) -> Result<Objects> {
        let (store, origins) = (&self.settings.store, &self.settings.origins);
        let mut keys = store.options.0.clone();
        if let Some(endpoint) = &store.endpoint {
            keys.insert("endpoint".into(), endpoint.clone());
            if endpoint.starts_with("http://") {
                keys.insert("allow_http".into(), "true".into());
            }
        }
        // Only the default folder is created. A named folder must exist.
        let create = create && store.url.is_none();
        let options = OpenOptions { keys, create, ..OpenOptions::default() };
        Objects::open(&self.store_name(), &options).await.map_err(|error| {
            if let OpenError::NoFolder { path } = &error {
                let (name, path) = (origins.name(STORE), path.display().to_string());
                let advice =
                    format!("{name}: there is no folder {path}; create it with `mkdir -p {}`", quoted(&path));
                return anyhow::Error::new(error).context(advice);
            }
            if let Some(advice) = self.environment_endpoint(&error) {
                return anyhow::Error::new(error).context(origins.name(STORE)).context(advice);
            }
            if let OpenError::BadEndpoint { given_by, .. } | OpenError::BadValue { given_by } = &error {
                let name = match given_by.as_str() {
                    "endpoint" if store.endpoint.is_some() => origins.name(ENDPOINT),
                    option if store.options.0.contains_key(option) => origins.name(STORE_OPTION),
                    variable => variable.to_owned(),
                };
                return anyhow::Error::new(error).context(name);
            }
            let name = match &error {
                OpenError::UnknownOption { key, .. } if !store.options.0.contains_key(key) => ENDPOINT,
                OpenError::UnknownOption { .. } | OpenError::PlainHttp => STORE_OPTION,
                _ if store.url.is_none() => DATA,
                _ => STORE,
            };
            anyhow::Error::new(error).context(origins.name(name))
        })
    }

    /// Returns advice if the address of a failed request came from the environment. The variables that `serve` prints
    /// for its clients set one.
    fn environment_endpoint(&self, error: &OpenError) -> Option<String> {
        let store = &self.settings.store;
        let is_possible_cause = matches!(
            error,
            OpenError::PlainHttp
                | OpenError::Unreachable { .. }
                | OpenError::Denied { .. }
                | OpenError::NoBucket { .. }
        );
        let is_s3 = store.url.as_deref().is_some_and(|url| url.starts_with("s3"));
        let is_given = store.endpoint.is_some() || store.options.0.keys().any(|key| key.contains("endpoint"));
        if !is_possible_cause || !is_s3 || is_given {
            return None;
        }
        let variables = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"];
        let set = variables.into_iter().find(|name| std::env::var_os(name).is_some())?;
        Some(format!(
            "{set} is set and names the provider's address; the variables that `serve` prints for its clients include it: \
             unset it with AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the provider's values with {} and {}",
            self.settings.origins.name(ENDPOINT),
            self.settings.origins.name(STORE_OPTION),
        ))
    }

    /// Opens the untrusted side of an existing vault, without creating it.
    ///
    /// # Errors
    /// [`SettingsError::NoStore`] if its folder does not exist; the errors of [`open_objects`](Self::open_objects).
    pub async fn existing_objects(&self) -> Result<Objects> {
        let no_folder =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OpenError::NoFolder { .. }));
        match self.open_objects(false).await {
            Err(error) if no_folder(&error) => Err(SettingsError::NoStore {
                name: self.settings.origins.name(STORE),
                path: self.store_name(),
                named: self.settings.store.url.is_some(),
            }
            .into()),
            objects => objects,
        }
    }

    /// Returns the store of a vault with its meter and the record of accesses.
    ///
    /// # Errors
    /// The journal is in etcd, and etcd cannot be used.
    pub async fn instrumented(
        &self,
        objects: &Objects,
        parameters: &VaultParameters,
    ) -> Result<(Store, MeterReader, AccessCounts)> {
        let etcd = match parameters.journal {
            JournalPlace::Etcd => Some(self.etcd().await?),
            _ => None,
        };
        let counted = CountedStore::new(objects.with_layout(parameters.layout()));
        let access_counts = counted.access_counts();
        let meter = Meter::new(counted);
        let reader = meter.reader();
        let routed = Routed::new(meter, LOG_PREFIX, etcd);
        let store = Retry::new(routed, RetryPolicy::default(), OsRng.unwrap_err().next_u64());
        Ok((store, reader, access_counts))
    }

    /// Opens the place of the journal in etcd.
    async fn etcd(&self) -> Result<Etcd> {
        let name = self.settings.origins.name(ETCD);
        let Some(EtcdSettings { address, ca, identity }) = &self.settings.store.etcd else {
            return Err(SettingsError::NoEtcd(name).into());
        };
        let read = |file: &PathBuf| fs::read(file).with_context(|| file.display().to_string());
        let ca = ca.as_ref().map(read).transpose()?;
        let identity = match identity {
            Some(TlsSettings { cert, key }) => Some((read(cert)?, read(key)?)),
            None => None,
        };
        Etcd::open(address, EtcdTls { ca, identity }).await.context(name)
    }

    /// Refuses a place in etcd that has keys, before a vault's journal begins there.
    ///
    /// # Errors
    /// [`SettingsError::EtcdInUse`]; etcd cannot be used.
    pub async fn refuse_used_etcd(&self, parameters: &VaultParameters) -> Result<()> {
        if parameters.journal != JournalPlace::Etcd {
            return Ok(());
        }
        let (etcd, name) = (self.etcd().await?, self.settings.origins.name(ETCD));
        let listed = etcd.list("").await.map_err(VaultError::from).with_context(|| name.clone())?;
        match &self.settings.store.etcd {
            Some(settings) if !listed.is_empty() => {
                Err(SettingsError::EtcdInUse { name, address: settings.address.clone() }.into())
            }
            _ => Ok(()),
        }
    }
}
