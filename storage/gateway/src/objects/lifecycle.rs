//! The work of lifecycle rules, which remove objects, old versions, delete markers and unfinished uploads when their
//! days are over.
//!
//! All rules act at a midnight, so one walk over a container a day is enough, and one after a change of its rules. A
//! walk first looks, and then removes by commits of rows. The commit checks again: it removes only items that the rules
//! still apply to, and nothing that was put since. Touches no block.

use crate::catalogue::{
    Catalogue, Change, Container, ContainerSettings, DAY_MILLIS, LifecycleRule, Object, ObjectName,
    UnixMillis, UploadId,
};
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::archive;
use crate::objects::gateway::Gateway;
use crate::objects::versions::{CommitStamp, Draft};
use std::collections::BTreeMap;
use std::ops::Bound;
use std::sync::Arc;

/// The number of keys that are checked before the catalogue is unlocked for others.
const KEYS_PER_STEP: usize = 2000;

/// Applies the rules of all containers, and knows the containers that are done for this day.
#[derive(Debug, Default)]
pub struct Lifecycle {
    /// The day and the rules of the last walk.
    done: BTreeMap<(String, String), (u64, Arc<ContainerSettings>)>,
}

impl Lifecycle {
    /// Removes the items that are due, in commits of at most `max` removals, and returns their number. Skips a
    /// container that was done this day (UTC) with the same rules.
    ///
    /// # Errors
    /// The first error, [`Error::Device`]. The other containers are still processed, and the failed one is tried again
    /// next time.
    pub async fn carry_out(&mut self, gateway: &Gateway, max: usize) -> Result<usize, Error> {
        let (mut count, mut outcome) = (0, Ok(()));
        for ((account, container), day, settings) in self.pending(gateway) {
            let walk = ContainerWalk { gateway, account: &account, container: &container, max: max.max(1) };
            match walk.run().await {
                Ok(removed) => {
                    count += removed;
                    self.done.insert((account, container), (day, settings));
                }
                Err(error) => outcome = outcome.and(Err(error)),
            }
        }
        outcome.map(|()| count)
    }

    fn pending(&mut self, gateway: &Gateway) -> Vec<((String, String), u64, Arc<ContainerSettings>)> {
        let day = gateway.inner.now().0 / DAY_MILLIS;
        let catalogue = gateway.inner.catalogue.read();
        self.done.retain(|(account, name), _| catalogue.container(account, name).is_ok());
        let mut pending = Vec::new();
        for (account, entry) in &catalogue.accounts {
            let containers_with_rules =
                entry.containers.iter().filter(|(_, stored)| !stored.settings.lifecycle.is_empty());
            for (name, stored) in containers_with_rules {
                let container_key = (account.clone(), name.clone());
                let is_done = self.done.get(&container_key).is_some_and(|(done, by)| {
                    *done == day
                        && by.created == stored.settings.created
                        && by.lifecycle == stored.settings.lifecycle
                });
                if !is_done {
                    pending.push((container_key, day, Arc::clone(&stored.settings)));
                }
            }
        }
        pending
    }
}

/// Versions of one key that are due.
type KeyVersions = (String, Vec<Arc<Object>>);

/// A walk over one container.
struct ContainerWalk<'a> {
    gateway: &'a Gateway,
    account: &'a str,
    container: &'a str,
    max: usize,
}

impl ContainerWalk<'_> {
    async fn run(&self) -> Result<usize, Error> {
        let mut count = self.abort_due_uploads().await?;
        let mut from = Some(Bound::Unbounded);
        while let Some(low) = from {
            let (found, is_cut, next) = self.find_due(low.clone());
            let removed = if found.is_empty() { 0 } else { self.remove(found).await? };
            count += removed;
            // A key with more due versions than one commit takes is checked again.
            from = if is_cut && removed > 0 { Some(low) } else { next };
            tokio::task::yield_now().await;
        }
        Ok(count)
    }

    /// Returns the due items among the next keys, whether one of the keys has more, and where to continue.
    fn find_due(&self, mut low: Bound<String>) -> (Vec<KeyVersions>, bool, Option<Bound<String>>) {
        let (catalogue, now) = (self.gateway.inner.catalogue.read(), self.gateway.inner.now());
        let Ok(stored) = catalogue.container(self.account, self.container) else {
            return (vec![], false, None);
        };
        let (mut found, mut room): (Vec<KeyVersions>, _) = (Vec::new(), self.max);
        for _ in 0..KEYS_PER_STEP {
            let Some(key) = next_key(stored, &low) else { return (found, false, None) };
            let mut due = due(stored, key, now);
            low = Bound::Excluded(key.clone());
            if due.len() > room {
                due.truncate(room);
                found.push((key.clone(), due));
                return (found, true, Some(low));
            }
            if !due.is_empty() {
                room -= due.len();
                found.push((key.clone(), due));
            }
        }
        (found, false, Some(low))
    }

    async fn remove(&self, found: Vec<KeyVersions>) -> Result<usize, Error> {
        let stamp = self.gateway.inner.stamp()?;
        let (account, container) = (self.account.to_owned(), self.container.to_owned());
        let plan = move |catalogue: &Catalogue| removals(catalogue, &account, &container, found, stamp);
        self.gateway.inner.change(plan).await
    }

    async fn abort_due_uploads(&self) -> Result<usize, Error> {
        let now = self.gateway.inner.now();
        let ids = due_uploads(&self.gateway.inner.catalogue.read(), self.account, self.container, now);
        for ids in ids.chunks(self.max) {
            let (account, container) = (self.account.to_owned(), self.container.to_owned());
            let ids = ids.to_vec();
            let plan = move |catalogue: &Catalogue| {
                let due = due_uploads(catalogue, &account, &container, now);
                let due = due.into_iter().filter(|id| ids.contains(id));
                Ok((due.map(|id| Change::SetUpload { id, upload: None }).collect(), ()))
            };
            self.gateway.inner.change(plan).await?;
        }
        Ok(ids.len())
    }
}

/// Returns the changes that remove those of the found versions that are unchanged and still due.
fn removals(
    catalogue: &Catalogue,
    account: &str,
    container: &str,
    found: Vec<KeyVersions>,
    stamp: CommitStamp,
) -> Result<(Vec<Change>, usize), Error> {
    let Ok(stored) = catalogue.container(account, container) else { return Ok((vec![], 0)) };
    let (mut changes, mut count) = (Vec::new(), 0);
    for (key, found) in found {
        let mut due = due(stored, &key, stamp.now);
        due.retain(|due| found.iter().any(|found| Arc::ptr_eq(found, due)));
        if due.is_empty() {
            continue;
        }
        let current = stored.objects.get(&key);
        let object_name = ObjectName::new(account, container, key.as_str());
        if stored.settings.archive.is_some() {
            // As with any delete: without its archive, an object stays.
            if let Ok(archived) = archive::delete(catalogue, object_name, stamp) {
                changes.extend(archived);
                count += 1;
            }
            continue;
        }
        count += due.len();
        let mut draft = Draft::new(catalogue, object_name)?;
        for object in due {
            match current {
                Some(current) if Arc::ptr_eq(current, &object) => drop(draft.delete(stamp)),
                _ => draft.remove(object.version.order),
            }
        }
        changes.extend(draft.changes());
    }
    Ok((changes, count))
}

/// Returns the versions of a key that rules remove by now, without the expired ones.
fn due(container: &Container, key: &str, now: UnixMillis) -> Vec<Arc<Object>> {
    let rules = &container.settings.lifecycle;
    let is_over = |end: &dyn Fn(&LifecycleRule) -> Option<UnixMillis>| {
        rules.iter().filter_map(end).any(|end| end <= now)
    };
    let mut versions = container.versions(key);
    let Some(newest) = versions.next() else { return vec![] };
    let is_alone = container.history.get(key).is_none_or(|old| old.len() <= 1);
    let newest_is_due = match newest.version.is_marker {
        true => is_alone && is_over(&|rule| rule.marker_expiry(key, newest)),
        false => is_over(&|rule| rule.object_expiry(key, newest)),
    };
    let mut due: Vec<&Arc<Object>> = newest_is_due.then_some(newest).into_iter().collect();
    let (mut since, mut newer) = (newest.modified, 0);
    for version in versions {
        if is_over(&|rule| rule.old_version_expiry(key, version, since, newer)) {
            due.push(version);
        }
        since = version.modified;
        newer += usize::from(!version.version.is_marker);
    }
    due.into_iter().filter(|object| !object.has_expired(now)).cloned().collect()
}

fn due_uploads(catalogue: &Catalogue, account: &str, container: &str, now: UnixMillis) -> Vec<UploadId> {
    let Ok(stored) = catalogue.container(account, container) else { return vec![] };
    let uploads = catalogue.uploads.iter();
    let own_uploads =
        uploads.filter(|(_, upload)| upload.account == account && upload.container == container);
    let due = own_uploads.filter(|(_, upload)| {
        let mut rules = stored.settings.lifecycle.iter();
        rules.any(|rule| rule.upload_expiry(&upload.key, upload.started).is_some_and(|end| end <= now))
    });
    due.map(|(&id, _)| id).collect()
}

/// Returns the first key after the bound that has a version.
fn next_key<'a>(container: &'a Container, low: &Bound<String>) -> Option<&'a String> {
    let range = (crate::objects::listing::as_str(low), Bound::Unbounded);
    let current = container.objects.range::<str, _>(range).next().map(|(key, _)| key);
    let old = container.history.range::<str, _>(range).next().map(|(key, _)| key);
    current.into_iter().chain(old).min()
}

impl Account {
    /// Returns the time at which rules remove the current object of a key, and the name of the first such rule.
    pub fn object_expiry(
        &self,
        container: &str,
        key: &str,
        object: &Arc<Object>,
    ) -> Option<(UnixMillis, String)> {
        let catalogue = self.gateway.inner.catalogue.read();
        let stored = catalogue.container(&self.name, container).ok()?;
        let rules = stored.settings.lifecycle.iter();
        let expiries = rules.filter_map(|rule| Some((rule.object_expiry(key, object)?, &rule.id)));
        let (end, id) = expiries.min_by_key(|(end, _)| *end)?;
        let is_current = stored.objects.get(key).is_some_and(|current| Arc::ptr_eq(current, object));
        is_current.then(|| (end, id.clone()))
    }

    /// Returns the time at which rules abort an unfinished upload, and the name of the first such rule.
    pub fn upload_expiry(
        &self,
        container: &str,
        key: &str,
        started: UnixMillis,
    ) -> Option<(UnixMillis, String)> {
        let view = self.container(container).ok()?;
        let rules = view.settings.lifecycle.iter();
        let expiries = rules.filter_map(|rule| Some((rule.upload_expiry(key, started)?, &rule.id)));
        expiries.min_by_key(|(end, _)| *end).map(|(end, id)| (end, id.clone()))
    }
}
