//! An account of a gateway: its settings and its containers.

use crate::catalogue::{
    AccountEntry, AccountSettings, AccountView, Catalogue, Change, ContainerSettings, ContainerView,
    ObjectName, Totals,
};
use crate::error::Error;
use crate::objects::gateway::Gateway;
use crate::objects::listing::{self, ListRequest, Listing};
use std::sync::Arc;

/// The account that every gateway has from the beginning.
pub const FIRST_ACCOUNT: &str = "ameles";

/// An account of a gateway: the verbs of every protocol call its methods. It reaches nothing of another account. Clones
/// are the same account.
#[derive(Clone)]
pub struct Account {
    pub(crate) gateway: Gateway,
    pub(crate) name: Arc<str>,
}

impl Gateway {
    /// Returns an account. It need not be created: an account that was never used is empty.
    pub fn account(&self, name: &str) -> Account {
        Account { gateway: self.clone(), name: name.into() }
    }
}

impl std::fmt::Debug for Account {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Account(..)")
    }
}

impl Account {
    /// Returns the name of the account.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the gateway, for operations that do not depend on the account, such as reading and writing blocks.
    pub fn gateway(&self) -> &Gateway {
        &self.gateway
    }

    /// Changes the catalogue, as [`Inner::change`](crate::objects::gateway::Inner::change) does.
    pub(crate) async fn change<T, F>(&self, plan: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error> + Send + 'static,
    {
        self.gateway.inner.change(plan).await
    }

    /// Returns the settings of the account and the totals of its contents. Touches no block.
    pub fn view(&self) -> AccountView {
        let catalogue = self.gateway.inner.catalogue.read();
        catalogue.accounts.get(&*self.name).map(AccountEntry::view).unwrap_or_default()
    }

    /// Changes the settings: `change` gets the present ones. Touches no block.
    ///
    /// # Errors
    /// The error of `change`; [`Error::Device`]. In this case nothing is changed.
    pub async fn update(
        &self,
        change: impl FnOnce(&mut AccountSettings) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let (name, now) = (self.name.to_string(), self.gateway.inner.now());
        self.change(move |catalogue| {
            let old = catalogue.accounts.get(&name).map(|account| (*account.settings).clone());
            let mut settings =
                old.unwrap_or_else(|| AccountSettings { created: now, ..AccountSettings::default() });
            change(&mut settings)?;
            Ok((vec![Change::SetAccount { name, settings: Some(Arc::new(settings)) }], ()))
        })
        .await
    }

    /// Creates a container.
    ///
    /// # Errors
    /// [`Error::ContainerExists`]; [`Error::Device`].
    pub async fn create_container(&self, name: &str, settings: ContainerSettings) -> Result<(), Error> {
        let (account, name) = (self.name.to_string(), name.to_owned());
        let created = self.gateway.inner.now();
        self.change(move |catalogue| {
            if catalogue.container(&account, &name).is_ok() {
                return Err(Error::ContainerExists);
            }
            let settings = Some(Arc::new(ContainerSettings { created, ..settings }));
            Ok((vec![Change::SetContainer { account, name, settings }], ()))
        })
        .await
    }

    /// Changes the settings of a container: `change` gets the present ones. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; the error of `change`; [`Error::Device`]. In this case nothing is changed.
    pub async fn update_container(
        &self,
        name: &str,
        change: impl FnOnce(&mut ContainerSettings) -> Result<(), Error> + Send + 'static,
    ) -> Result<(), Error> {
        let (account, name) = (self.name.to_string(), name.to_owned());
        self.change(move |catalogue| {
            let mut settings = (*catalogue.container(&account, &name)?.settings).clone();
            change(&mut settings)?;
            Ok((vec![Change::SetContainer { account, name, settings: Some(Arc::new(settings)) }], ()))
        })
        .await
    }

    /// Removes an empty container. Old versions and delete markers count, expired objects do not. Unfinished uploads
    /// are aborted.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::ContainerNotEmpty`]; [`Error::Device`].
    pub async fn delete_container(&self, name: &str) -> Result<(), Error> {
        let (account, name) = (self.name.to_string(), name.to_owned());
        let now = self.gateway.inner.now();
        self.change(move |catalogue| {
            let container = catalogue.container(&account, &name)?;
            let object_name = |key: &String| ObjectName::new(&account, &name, key.as_str());
            let old = container.history.iter().flat_map(|(key, versions)| {
                versions.values().map(move |object| {
                    let (object_name, order) = (object_name(key), object.version.order);
                    (object, Change::SetVersion { object_name, order, object: None })
                })
            });
            let objects = container.objects.iter();
            let objects = objects.map(|(key, object)| {
                (object, Change::SetObject { object_name: object_name(key), object: None })
            });
            let (expired, remaining): (Vec<_>, Vec<_>) =
                objects.chain(old).partition(|(object, _)| object.has_expired(now));
            if !remaining.is_empty() {
                return Err(Error::ContainerNotEmpty { objects: remaining.len() });
            }
            let uploads = catalogue.uploads.iter();
            let own_uploads =
                uploads.filter(|(_, upload)| upload.account == account && upload.container == name);
            let mut changes: Vec<Change> =
                own_uploads.map(|(&id, _)| Change::SetUpload { id, upload: None }).collect();
            changes.extend(expired.into_iter().map(|(_, drop)| drop));
            changes.push(Change::SetContainer { account, name, settings: None });
            Ok((changes, ()))
        })
        .await
    }

    /// Returns the settings of a container and the totals of its contents. Touches no block.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`].
    pub fn container(&self, name: &str) -> Result<ContainerView, Error> {
        let catalogue = self.gateway.inner.catalogue.read();
        Ok(catalogue.container(&self.name, name)?.view())
    }

    /// Lists the account's containers. Touches no block.
    pub fn containers(&self, request: &ListRequest) -> Listing<ContainerView> {
        let catalogue = self.gateway.inner.catalogue.read();
        match catalogue.accounts.get(&*self.name) {
            Some(account) => {
                listing::list_map(&account.containers, request, |_| true, |container| container.view())
            }
            None => Listing::default(),
        }
    }
}

impl AccountEntry {
    /// Returns the totals of all containers.
    pub(crate) fn totals(&self) -> Totals {
        self.containers.values().fold(Totals::default(), |sum, container| sum + container.totals)
    }

    /// Returns the totals that count against quotas.
    pub(crate) fn quota_usage(&self) -> Totals {
        self.containers
            .values()
            .map(|container| container.quota_usage())
            .fold(Totals::default(), |sum, quota_usage| sum + quota_usage)
    }

    fn view(&self) -> AccountView {
        AccountView {
            settings: Arc::clone(&self.settings),
            containers: self.containers.len() as u64,
            totals: self.totals(),
        }
    }
}
