//! A gateway and its model: each step is done to both, and both must give the same answer.

use super::model::{Model, ModelContainer};
use super::step::{Step, key_name, place};
use crate::vault::drain;
use ameles_gateway::catalogue::{ContainerSettings, Details, Object, UploadId, VersionId, Versioning};
use ameles_gateway::objects::conditions::{TagMatch, WriteConditions};
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::objects::multipart::{ExpectedObject, NamedPart};
use ameles_gateway::objects::versions::Removal;
use ameles_gateway::testing::MemoryDevice;
use ameles_gateway::{Account, Error, Gateway, Options, Written};
use bytes::Bytes;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::sync::Arc;

pub(super) async fn read_all(
    gateway: &Gateway,
    object: &Arc<Object>,
    range: Option<Range<u64>>,
) -> Result<Vec<u8>, Error> {
    drain(gateway.read(object, range).await?).await
}

/// Writes a body in pieces of uneven length.
pub(super) async fn write(gateway: &Gateway, body: &[u8], announce: bool) -> Result<Written, Error> {
    let mut writer = gateway.writer(announce.then_some(body.len() as u64), None)?;
    let mut rest = body;
    for length in [1, 40, 7, 16].into_iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, after) = rest.split_at(rest.len().min(length));
        writer.push(Bytes::copy_from_slice(piece)).await?;
        rest = after;
    }
    writer.finish().await
}

/// The errors that the model predicts; every other error fails the test.
pub(super) fn kind(error: &Error) -> &'static str {
    match error {
        Error::NoSuchContainer => "no container",
        Error::NoSuchKey => "no key",
        Error::ContainerExists => "exists",
        Error::ContainerNotEmpty { .. } => "not empty",
        Error::PreconditionFailed(_) => "condition",
        Error::RangeNotSatisfiable { .. } => "range",
        Error::Full { .. } => "full",
        other => panic!("unforeseen: {other}"),
    }
}

#[track_caller]
fn assert_refused<T>(outcome: Result<T, Error>, expected: &str) {
    assert_eq!(outcome.map(|_| ()).map_err(|error| kind(&error)), Err(expected));
}

pub(super) struct Harness {
    pub(super) device: Arc<MemoryDevice>,
    pub(super) options: Options,
    pub(super) gateway: Gateway,
    pub(super) model: Model,
}

impl Harness {
    pub(super) fn account(&self, container: u8) -> (Account, &'static str) {
        let (account, name) = place(container);
        (self.gateway.account(account), name)
    }

    pub(super) async fn step(&mut self, step: Step) {
        match step {
            Step::CreateContainer(container) => self.create_container(container).await,
            Step::DeleteContainer(container) => self.delete_container(container).await,
            Step::Put { container, key, body, announce } => {
                self.put(container, key, body, announce, WriteConditions::default()).await;
            }
            Step::PutIfAbsent { container, key, body } => {
                let absent = WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) };
                self.put(container, key, body, true, absent).await;
            }
            Step::Get { container, key } => self.get(container, key).await,
            Step::GetRange { container, key, start, length } => {
                self.get_range(container, key, start, length).await;
            }
            Step::Delete { container, keys } => self.delete(container, keys).await,
            Step::SetVersioning(container, on) => self.set_versioning(container, on).await,
            Step::Remove { container, removals } => self.remove(container, removals).await,
            Step::ListVersions { container, limit, delimiter } => {
                self.list_versions(container, limit, delimiter);
            }
            Step::Copy { from, to } => self.copy(from, to).await,
            Step::Multipart { container, key, parts, skip, complete } => {
                self.multipart(container, key, parts, skip, complete).await;
            }
            Step::List { container, limit } => self.list(container, limit),
            Step::Reload => self.reload().await,
        }
    }

    async fn create_container(&mut self, container: u8) {
        let (account, name) = self.account(container);
        let outcome = account.create_container(name, ContainerSettings::default()).await;
        match self.model.entry(container) {
            Entry::Occupied(_) => assert_refused(outcome, "exists"),
            Entry::Vacant(entry) => {
                outcome.expect("made");
                entry.insert(ModelContainer::default());
            }
        }
    }

    async fn delete_container(&mut self, container: u8) {
        let (account, name) = self.account(container);
        let outcome = account.delete_container(name).await.map_err(|e| kind(&e));
        let expected = match self.model.get(&container) {
            None => Err("no container"),
            Some(model) if !model.keys.is_empty() => Err("not empty"),
            Some(_) => Ok(()),
        };
        assert_eq!(outcome, expected);
        if expected.is_ok() {
            self.model.remove(&container);
        }
    }

    async fn get(&self, container: u8, key: u8) {
        match self.find(container, key) {
            Ok((object, body)) => {
                assert_eq!(read_all(&self.gateway, &object, None).await.expect("read"), body);
            }
            Err(agreed) => assert!(["no key", "no container"].contains(&agreed)),
        }
    }

    async fn get_range(&self, container: u8, key: u8, start: u64, length: u64) {
        let Ok((object, body)) = self.find(container, key) else { return };
        let end = start + length;
        let outcome = read_all(&self.gateway, &object, Some(start..end)).await;
        if length == 0 || end > body.len() as u64 {
            assert_refused(outcome, "range");
        } else {
            assert_eq!(outcome.expect("read"), body[start as usize..end as usize]);
        }
    }

    async fn delete(&mut self, container: u8, keys: Vec<u8>) {
        let (account, name) = self.account(container);
        let requested = keys.iter().map(|&key| (key_name(key), WriteConditions::default()));
        let outcome = account.delete(name, requested.collect()).await;
        let Some(model) = self.model.get_mut(&container) else {
            return assert_refused(outcome, "no container");
        };
        for (key, outcome) in keys.into_iter().map(key_name).zip(outcome.expect("deleted")) {
            assert_eq!(outcome.expect("deleted"), model.current(&key).is_some());
            match model.versioning {
                _ if model.current(&key).is_none() => {}
                None => drop(model.remove(&key, VersionId::Null)),
                // Only lists show the name of its version.
                Some(_) => {
                    let all = ListRequest { prefix: key.clone(), limit: 1, ..ListRequest::default() };
                    let page = account.list_versions(name, &all, None).expect("listed");
                    let marker = &page.entries[0];
                    assert!(marker.key == key && marker.is_latest && marker.object.version.is_marker());
                    model.put(&key, marker.object.version.id(), None);
                }
            }
        }
    }

    async fn set_versioning(&mut self, container: u8, on: bool) {
        let (account, name) = self.account(container);
        let versioning = if on { Versioning::Enabled } else { Versioning::Suspended };
        let outcome = account.set_versioning(name, versioning).await;
        match self.model.get_mut(&container) {
            None => assert_refused(outcome, "no container"),
            Some(model) => {
                outcome.expect("set");
                model.versioning = Some(versioning);
            }
        }
    }

    async fn reload(&mut self) {
        self.gateway.settle().await;
        let before = self.gateway.usage();
        self.gateway = Gateway::open(Arc::clone(&self.device), self.options.clone()).await.expect("reopened");
        assert_eq!(self.gateway.usage(), before);
    }

    pub(super) fn find(&self, container: u8, key: u8) -> Result<(Arc<Object>, Vec<u8>), &'static str> {
        let (account, name) = self.account(container);
        let found = account.object(name, &key_name(key));
        let known = self.model.get(&container).map(|model| model.current(&key_name(key)));
        match (found, known) {
            (Ok(object), Some(Some((body, etag)))) => {
                assert_eq!((object.bytes(), &object.etag), (body.len() as u64, etag));
                Ok((object, body.clone()))
            }
            (Err(Error::NoSuchKey), Some(None)) => Err("no key"),
            (Err(Error::NoSuchContainer), None) => Err("no container"),
            (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
        }
    }

    async fn put(
        &mut self,
        container: u8,
        key: u8,
        body: Vec<u8>,
        announce: bool,
        conditions: WriteConditions,
    ) {
        let ((account, name), key) = (self.account(container), key_name(key));
        let written = match write(&self.gateway, &body, announce).await {
            Ok(written) => written,
            Err(error) => return assert_eq!(kind(&error), "full"),
        };
        let absent = conditions.if_none_match.is_some();
        let outcome = account.link(name, &key, written, Details::default(), conditions).await;
        match self.model.get_mut(&container) {
            None => assert_refused(outcome, "no container"),
            Some(model) if absent && model.current(&key).is_some() => assert_refused(outcome, "condition"),
            Some(model) => model.link(&key, &outcome.expect("linked"), body),
        }
    }

    async fn copy(&mut self, from: (u8, u8), to: (u8, u8)) {
        let Ok((source, body)) = self.find(from.0, from.1) else { return };
        let written = match self.gateway.copy_blocks(&source, None, None).await {
            Ok(written) => written,
            Err(error) => return assert_eq!(kind(&error), "full"),
        };
        let ((account, name), key) = (self.account(to.0), key_name(to.1));
        let conditions = WriteConditions::default();
        let outcome = account.link(name, &key, written, source.details.clone(), conditions).await;
        match self.model.get_mut(&to.0) {
            None => assert_refused(outcome, "no container"),
            Some(model) => model.link(&key, &outcome.expect("linked"), body),
        }
    }

    async fn multipart(&mut self, container: u8, key: u8, parts: Vec<Vec<u8>>, skip: u8, complete: bool) {
        let ((account, name), key) = (self.account(container), key_name(key));
        let started = account.begin_upload(name, &key, Details::default(), None, None).await;
        let Some(model) = self.model.get_mut(&container) else {
            return assert_refused(started, "no container");
        };
        let id: UploadId = started.expect("begun");
        let mut named = Vec::new();
        let mut whole = Vec::new();
        for (number, part) in (1u16..).zip(&parts) {
            let written = match write(&self.gateway, part, true).await {
                Ok(written) => written,
                Err(error) => {
                    assert_eq!(kind(&error), "full");
                    break;
                }
            };
            let linked = account.link_part(name, &key, id, number, written).await.expect("linked");
            assert_eq!(linked.segment.bytes(), part.len() as u64);
            if number != u16::from(skip) {
                named.push(NamedPart { number, etag: None, checksum: None });
                whole.extend_from_slice(part);
            }
        }
        if complete && !named.is_empty() {
            let object = account
                .complete_upload(name, &key, id, named, ExpectedObject::default(), WriteConditions::default())
                .await
                .expect("completed");
            model.link(&key, &object, whole);
        } else {
            account.abort_upload(name, &key, id).await.expect("aborted");
        }
    }

    async fn remove(&mut self, container: u8, requested: Vec<(u8, Option<u8>)>) {
        let (account, name) = self.account(container);
        let name_of = |key: &str, nth: u8| {
            let versions = self.model.get(&container).and_then(|model| model.keys.get(key));
            let version = versions.and_then(|versions| versions.get(usize::from(nth)));
            version.map_or(VersionId::Number(7), |(id, _)| *id)
        };
        let removals: Vec<Removal> = requested
            .into_iter()
            .map(|(key, nth)| (key_name(key), nth))
            .map(|(key, nth)| Removal {
                version: nth.map(|nth| name_of(&key, nth)),
                key,
                conditions: WriteConditions::default(),
                marks_missing: true,
            })
            .collect();
        let outcome = account.remove(name, removals.clone()).await;
        let Some(model) = self.model.get_mut(&container) else {
            return assert_refused(outcome, "no container");
        };
        for (Removal { key, version, .. }, deleted) in removals.into_iter().zip(outcome.expect("removed")) {
            let deleted = deleted.expect("removed");
            let target = deleted.target.map(|object| object.version.id());
            let marker = deleted.marker.map(|marker| marker.version.id());
            let current_id = model.current(&key).and_then(|_| Some(model.keys.get(&key)?.first()?.0));
            match (version, model.versioning) {
                (Some(id), _) => assert_eq!(target, model.remove(&key, id).map(|(id, _)| id)),
                (None, None) => {
                    assert_eq!((target, marker), (current_id, None));
                    model.remove(&key, VersionId::Null);
                }
                (None, Some(_)) => {
                    assert_eq!(target, current_id);
                    model.put(&key, marker.expect("a marker"), None);
                }
            }
        }
    }
}
