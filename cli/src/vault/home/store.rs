//! The untrusted side of a vault.

use super::Home;
use super::serve_line::quoted;
use crate::config::SettingsError;
use crate::config::names::{DATA, ENDPOINT, STORE, STORE_OPTION};
use ameles_core::tree::layout::Layout;
use ameles_store::{
    Meter, MeterReader, Objects, OpenError, OpenOptions, Retry, RetryPolicy, Touched, Touches,
};
use anyhow::Result;
use rand_core::{OsRng, RngCore, TryRngCore};

/// The store of a vault in service: every attempt is metered, and one that fails for now is made again.
pub type Store = Retry<Meter<Touched<Objects>>>;

impl Home<'_> {
    /// The name of the store for people.
    pub fn store_name(&self) -> String {
        let folder = || self.settings.data.untrusted().display().to_string();
        self.settings.store.url.clone().unwrap_or_else(folder)
    }

    /// Opens the store, without a layout: only blobs can be reached.
    ///
    /// # Errors
    /// Why it cannot be reached, and what to do.
    pub async fn objects(&self, create: bool) -> Result<Objects> {
        let (store, origins) = (&self.settings.store, &self.settings.origins);
        let mut keys = store.options.0.clone();
        if let Some(endpoint) = &store.endpoint {
            keys.insert("endpoint".into(), endpoint.clone());
            if endpoint.starts_with("http://") {
                keys.insert("allow_http".into(), "true".into());
            }
        }
        // Only the folder that we chose ourselves is made; a folder that was named must be there.
        let create = create && store.url.is_none();
        let options = OpenOptions { keys, create, ..OpenOptions::default() };
        Objects::open(&self.store_name(), &options).await.map_err(|error| {
            if let OpenError::NoFolder { path } = &error {
                let (name, path) = (origins.name(STORE), path.display().to_string());
                let advice =
                    format!("{name}: there is no folder {path}; `mkdir -p {}` makes it", quoted(&path));
                return anyhow::Error::new(error).context(advice);
            }
            if let Some(advice) = self.environment_endpoint(&error) {
                return anyhow::Error::new(error).context(origins.name(STORE)).context(advice);
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

    /// Tells whether the address that did not answer as it should came from the environment, and what to do then: the
    /// lines that `serve` prints for its clients set one.
    fn environment_endpoint(&self, error: &OpenError) -> Option<String> {
        let store = &self.settings.store;
        let may_be_why = matches!(
            error,
            OpenError::PlainHttp
                | OpenError::Unreachable { .. }
                | OpenError::Denied { .. }
                | OpenError::NoBucket { .. }
        );
        let is_s3 = store.url.as_deref().is_some_and(|url| url.starts_with("s3"));
        let is_given = store.endpoint.is_some() || store.options.0.keys().any(|key| key.contains("endpoint"));
        if !may_be_why || !is_s3 || is_given {
            return None;
        }
        let variables = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"];
        let set = variables.into_iter().find(|name| std::env::var_os(name).is_some())?;
        Some(format!(
            "{set} is set, and so says where the provider is; the lines that `serve` prints for its clients set it: \
             unset it and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the provider's with {} and {}",
            self.settings.origins.name(ENDPOINT),
            self.settings.origins.name(STORE_OPTION),
        ))
    }

    /// The untrusted side that holds a vault; it is not made here.
    ///
    /// # Errors
    /// [`SettingsError::NoStore`] if none was named and the usual one is not there; those of [`objects`](Self::objects).
    pub async fn existing_objects(&self) -> Result<Objects> {
        let no_folder =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OpenError::NoFolder { .. }));
        match self.objects(false).await {
            Err(error) if no_folder(&error) => Err(SettingsError::NoStore {
                name: self.settings.origins.name(STORE),
                path: self.store_name(),
                named: self.settings.store.url.is_some(),
            }
            .into()),
            objects => objects,
        }
    }

    /// The store in service, its meter, and where it is touched.
    pub fn instrumented(&self, objects: &Objects, layout: Layout) -> (Store, MeterReader, Touches) {
        let touched = Touched::new(objects.with_layout(layout));
        let touches = touched.touches();
        let meter = Meter::new(touched);
        let reader = meter.reader();
        (Retry::new(meter, RetryPolicy::default(), OsRng.unwrap_err().next_u64()), reader, touches)
    }
}
