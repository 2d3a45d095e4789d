//! Quotas: the most that a container or an account may hold. They are metadata of the names `quota-bytes` and
//! `quota-count`.

use crate::account::Account;
use crate::catalogue::{Catalogue, ObjectName, Totals};
use crate::device::Device;
use crate::error::Error;
use std::collections::BTreeMap;

impl<D: Device> Account<D> {
    /// Checks whether an object of this size would be within the quotas now: worth asking before the body is written.
    /// Without a size, whether there is room for anything at all.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::OverQuota`].
    pub fn check_room(&self, container: &str, key: &str, bytes: Option<u64>) -> Result<(), Error> {
        check(&self.gateway.inner.catalogue.read(), &self.at(container, key), bytes.unwrap_or(1))
    }
}

/// Checks the quotas of the container and of the account for an object of this size in place of the one there is.
pub(crate) fn check(catalogue: &Catalogue, at: &ObjectName, bytes: u64) -> Result<(), Error> {
    let container = catalogue.container(&at.account, &at.container)?;
    let mut before = Totals::default();
    if let Some(old) = container.objects.get(&at.key) {
        before.add(old);
    }
    let after = |held: Totals| Totals {
        objects: held.objects - before.objects + 1,
        bytes: (held.bytes - before.bytes).saturating_add(bytes),
    };
    within(&container.settings.metadata, after(container.totals))?;
    match catalogue.accounts.get(&at.account) {
        Some(account) => within(&account.settings.metadata, after(account.totals())),
        None => Ok(()),
    }
}

fn within(metadata: &BTreeMap<String, String>, after: Totals) -> Result<(), Error> {
    let quota = |name: &str| metadata.get(name).and_then(|text| text.parse::<u64>().ok());
    if quota("quota-bytes").is_some_and(|most| after.bytes > most) {
        return Err(Error::OverQuota("bytes"));
    }
    if quota("quota-count").is_some_and(|most| after.objects > most) {
        return Err(Error::OverQuota("objects"));
    }
    Ok(())
}
