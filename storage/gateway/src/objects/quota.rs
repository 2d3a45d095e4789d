//! Quotas: the most that a container or an account may hold. They are metadata of the names `quota-bytes` and
//! `quota-count`.
//!
//! Old versions and delete markers count as objects.
//! An unfinished upload counts as an object more, and its parts with their bytes, until it is completed or aborted.

use crate::catalogue::{Catalogue, ObjectName, Totals, Upload, UploadId};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::versions;
use std::collections::BTreeMap;

impl Account {
    /// Checks whether an object of this size would be within the quotas now: worth asking before the body is written.
    /// Without a size, whether there is room for anything at all.
    ///
    /// # Errors
    /// [`Error::NoSuchContainer`]; [`Error::OverQuota`].
    pub fn check_room(&self, container: &str, key: &str, bytes: Option<u64>) -> Result<(), Error> {
        check(&self.gateway.inner.catalogue.read(), &self.at(container, key), bytes.unwrap_or(1))
    }

    /// Checks the same for a part of an upload.
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
        let at = self.at(container, key);
        let upload = catalogue.upload(&at.account, &at.container, &at.key, id)?;
        check_part(&catalogue, &at, upload, number, bytes)
    }
}

/// The totals that a change takes out of a container, and those that it brings in.
struct Exchange {
    /// The totals that leave the container.
    out: Totals,
    /// The totals that leave it and stay with the account, in the archive.
    kept: Totals,
    /// The totals that come in.
    new: Totals,
}

/// Checks the quotas of the container and of the account for an object of this size in place of the one there is.
pub(crate) fn check(catalogue: &Catalogue, at: &ObjectName, bytes: u64) -> Result<(), Error> {
    let new = Totals { objects: 1, bytes };
    let (out, kept) = replaced(catalogue, at)?;
    within_both(catalogue, at, &Exchange { out, kept, new })
}

/// Checks them for an upload that begins.
pub(crate) fn check_begun(catalogue: &Catalogue, at: &ObjectName) -> Result<(), Error> {
    let new = Totals { objects: 1, bytes: 0 };
    within_both(catalogue, at, &Exchange { out: Totals::default(), kept: Totals::default(), new })
}

/// Checks them for a part of this size in place of the one there is.
pub(crate) fn check_part(
    catalogue: &Catalogue,
    at: &ObjectName,
    upload: &Upload,
    number: u16,
    bytes: u64,
) -> Result<(), Error> {
    let before = upload.parts.get(&number).map_or(0, |part| part.segment.bytes());
    let out = Totals { objects: 0, bytes: before };
    within_both(catalogue, at, &Exchange { out, kept: Totals::default(), new: Totals { objects: 0, bytes } })
}

/// Checks them for an object of this size in place of the one there is and of the upload that it comes from.
pub(crate) fn check_completed(
    catalogue: &Catalogue,
    at: &ObjectName,
    upload: &Upload,
    bytes: u64,
) -> Result<(), Error> {
    let (old, kept) = replaced(catalogue, at)?;
    let exchange = Exchange { out: old + upload.totals(), kept, new: Totals { objects: 1, bytes } };
    within_both(catalogue, at, &exchange)
}

/// The totals that a put takes out of the container, and the share of them that goes to the archive.
fn replaced(catalogue: &Catalogue, at: &ObjectName) -> Result<(Totals, Totals), Error> {
    let container = catalogue.container(&at.account, &at.container)?;
    let mut out = Totals::default();
    if let Some(old) = versions::replaced(container, &at.key) {
        out.add(old);
    }
    let kept = if container.settings.archive.is_some() { out } else { Totals::default() };
    Ok((out, kept))
}

fn within_both(catalogue: &Catalogue, at: &ObjectName, exchange: &Exchange) -> Result<(), Error> {
    let Exchange { out, kept, new } = exchange;
    let after = |held: Totals| Totals {
        objects: (held.objects + new.objects).saturating_sub(out.objects),
        bytes: held.bytes.saturating_add(new.bytes).saturating_sub(out.bytes),
    };
    let container = catalogue.container(&at.account, &at.container)?;
    within(&container.settings.metadata, after(container.held()))?;
    match catalogue.accounts.get(&at.account) {
        Some(account) => {
            let mut whole = after(account.held());
            whole.objects += kept.objects;
            whole.bytes = whole.bytes.saturating_add(kept.bytes);
            within(&account.settings.metadata, whole)
        }
        None => Ok(()),
    }
}

fn within(metadata: &BTreeMap<String, String>, after: Totals) -> Result<(), Error> {
    let quota = |name: &str| metadata.get(name).and_then(|text| text.parse::<u64>().ok());
    if quota("quota-bytes").is_some_and(|max| after.bytes > max) {
        return Err(Error::OverQuota("bytes"));
    }
    if quota("quota-count").is_some_and(|max| after.objects > max) {
        return Err(Error::OverQuota("objects"));
    }
    Ok(())
}
