//! Quotas of containers and accounts: the metadata `quota-bytes` and `quota-count`.
//!
//! Old versions and delete markers count as objects. An unfinished upload counts as one object, and its parts count
//! with their bytes, until it is completed or aborted.

use crate::catalogue::{Catalogue, ObjectName, Totals, Upload, UploadId};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::versions;
use std::collections::BTreeMap;

impl Account {
    /// Checks whether an object of this size would be within the quotas now, before its body is written. Without a
    /// size, checks whether there is room for anything.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::OverQuota`].
    pub fn check_room(&self, container: &str, key: &str, bytes: Option<u64>) -> Result<(), Error> {
        check(&self.gateway.inner.catalogue.read(), &self.object_name(container, key), bytes.unwrap_or(1))
    }

    /// Does the same check for a part of an upload.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::NoSuchUpload`]; [`Error::OverQuota`].
    pub fn check_part_room(
        &self,
        container: &str,
        key: &str,
        id: UploadId,
        number: u16,
        bytes: u64,
    ) -> Result<(), Error> {
        let catalogue = self.gateway.inner.catalogue.read();
        let object_name = self.object_name(container, key);
        let upload = catalogue.upload(&object_name.account, &object_name.container, &object_name.key, id)?;
        check_part(&catalogue, &object_name, upload, number, bytes)
    }
}

/// The totals that a change removes from a container, and those that it adds.
struct TotalsChange {
    /// The totals that leave the container.
    removed: Totals,
    /// The totals that leave the container and stay in the account, in the archive.
    archived: Totals,
    /// The totals that enter the container.
    added: Totals,
}

/// Checks the quotas of the container and the account for an object of this size that replaces the present one.
pub(crate) fn check(catalogue: &Catalogue, object_name: &ObjectName, bytes: u64) -> Result<(), Error> {
    let added = Totals { objects: 1, bytes };
    let (removed, archived) = replaced(catalogue, object_name)?;
    check_both_limits(catalogue, object_name, &TotalsChange { removed, archived, added })
}

/// Checks the quotas for a new upload.
pub(crate) fn check_begun(catalogue: &Catalogue, object_name: &ObjectName) -> Result<(), Error> {
    let added = Totals { objects: 1, bytes: 0 };
    check_both_limits(
        catalogue,
        object_name,
        &TotalsChange { removed: Totals::default(), archived: Totals::default(), added },
    )
}

/// Checks the quotas for a part of this size that replaces the present one.
pub(crate) fn check_part(
    catalogue: &Catalogue,
    object_name: &ObjectName,
    upload: &Upload,
    number: u16,
    bytes: u64,
) -> Result<(), Error> {
    let before = upload.parts.get(&number).map_or(0, |part| part.segment.bytes());
    let removed = Totals { objects: 0, bytes: before };
    check_both_limits(
        catalogue,
        object_name,
        &TotalsChange { removed, archived: Totals::default(), added: Totals { objects: 0, bytes } },
    )
}

/// Checks the quotas for an object of this size that replaces the present one and its upload.
pub(crate) fn check_completed(
    catalogue: &Catalogue,
    object_name: &ObjectName,
    upload: &Upload,
    bytes: u64,
) -> Result<(), Error> {
    let (old, archived) = replaced(catalogue, object_name)?;
    let change =
        TotalsChange { removed: old + upload.totals(), archived, added: Totals { objects: 1, bytes } };
    check_both_limits(catalogue, object_name, &change)
}

/// Returns the totals that a put removes from the container, and the share of them that goes to the archive.
fn replaced(catalogue: &Catalogue, object_name: &ObjectName) -> Result<(Totals, Totals), Error> {
    let container = catalogue.container(&object_name.account, &object_name.container)?;
    let mut removed = Totals::default();
    if let Some(old) = versions::replaced(container, &object_name.key) {
        removed.add(old);
    }
    let archived = if container.settings.archive.is_some() { removed } else { Totals::default() };
    Ok((removed, archived))
}

fn check_both_limits(
    catalogue: &Catalogue,
    object_name: &ObjectName,
    change: &TotalsChange,
) -> Result<(), Error> {
    let TotalsChange { removed, archived, added } = change;
    let usage_after = |quota_usage: Totals| Totals {
        objects: (quota_usage.objects + added.objects).saturating_sub(removed.objects),
        bytes: quota_usage.bytes.saturating_add(added.bytes).saturating_sub(removed.bytes),
    };
    let container = catalogue.container(&object_name.account, &object_name.container)?;
    check_limits(&container.settings.metadata, usage_after(container.quota_usage()))?;
    match catalogue.accounts.get(&object_name.account) {
        Some(account) => {
            let mut account_usage = usage_after(account.quota_usage());
            account_usage.objects += archived.objects;
            account_usage.bytes = account_usage.bytes.saturating_add(archived.bytes);
            check_limits(&account.settings.metadata, account_usage)
        }
        None => Ok(()),
    }
}

fn check_limits(metadata: &BTreeMap<String, String>, usage_after: Totals) -> Result<(), Error> {
    let quota = |name: &str| metadata.get(name).and_then(|text| text.parse::<u64>().ok());
    if quota("quota-bytes").is_some_and(|max| usage_after.bytes > max) {
        return Err(Error::OverQuota("byte"));
    }
    if quota("quota-count").is_some_and(|max| usage_after.objects > max) {
        return Err(Error::OverQuota("object"));
    }
    Ok(())
}
