//! Random histories of verbs against a plain model. The gateway answers as a map of names, or of lists of versions,
//! would answer, and a gateway loaded anew from the rows is the same gateway.

use bytes::Bytes;
use futures::StreamExt;
use lethe_gateway::catalogue::{ContainerSettings, Details, UploadId, VersionId, Versioning};
use lethe_gateway::objects::conditions::{TagMatch, WriteConditions};
use lethe_gateway::objects::listing::ListRequest;
use lethe_gateway::objects::multipart::{Expected, NamedPart};
use lethe_gateway::objects::versions::Removal;
use lethe_gateway::testing::MemoryDevice;
use lethe_gateway::{Account, Error, Gateway, Options, Padding, Written};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

const BLOCK: usize = 16;
const BLOCKS: u64 = 64;
const BATCH: usize = 3;

/// Containers.
type Model = BTreeMap<u8, Modelled>;

/// A container as it is expected to be.
#[derive(Debug, Default)]
struct Modelled {
    versioning: Option<Versioning>,
    /// The versions of each key, the newest first; no key without any.
    keys: BTreeMap<String, Vec<Kept>>,
    /// Every name that a version ever had.
    names: Vec<(String, VersionId)>,
}

/// A version: its name, and its body and ETag if it is no delete marker.
type Kept = (VersionId, Option<(Vec<u8>, String)>);

impl Modelled {
    fn current(&self, key: &str) -> Option<&(Vec<u8>, String)> {
        self.keys.get(key)?.first()?.1.as_ref()
    }

    /// The objects that keys stand for.
    fn all_current(&self) -> impl Iterator<Item = (&String, &(Vec<u8>, String))> {
        self.keys.iter().filter_map(|(key, versions)| Some((key, versions.first()?.1.as_ref()?)))
    }

    /// Puts a version on top, of whose name only the kind is foreseen.
    fn put(&mut self, key: &str, id: VersionId, content: Option<(Vec<u8>, String)>) {
        let versions = self.keys.entry(key.to_owned()).or_default();
        match (self.versioning, id) {
            (Some(Versioning::Enabled), VersionId::Number(_)) => {
                let name = (key.to_owned(), id);
                assert!(!self.names.contains(&name), "a name came again");
                self.names.push(name);
            }
            (None | Some(Versioning::Suspended), VersionId::Null) => {
                versions.retain(|(id, _)| *id != VersionId::Null);
            }
            other => panic!("unforeseen: {other:?}"),
        }
        versions.insert(0, (id, content));
    }

    /// Removes a version for good, or the object that a key stands for where no versions are kept.
    fn remove(&mut self, key: &str, id: VersionId) -> Option<Kept> {
        let versions = self.keys.get_mut(key)?;
        let nth = versions.iter().position(|(known, _)| *known == id)?;
        let removed = versions.remove(nth);
        if versions.is_empty() {
            self.keys.remove(key);
        }
        Some(removed)
    }
}

#[derive(Clone, Debug)]
enum Step {
    CreateContainer(u8),
    DeleteContainer(u8),
    Put {
        container: u8,
        key: u8,
        body: Vec<u8>,
        announce: bool,
    },
    PutIfAbsent {
        container: u8,
        key: u8,
        body: Vec<u8>,
    },
    Get {
        container: u8,
        key: u8,
    },
    GetRange {
        container: u8,
        key: u8,
        start: u64,
        length: u64,
    },
    Delete {
        container: u8,
        keys: Vec<u8>,
    },
    SetVersioning(u8, bool),
    /// Keys, and for each the place of a version among those of it: deletes without one, and of what is not there.
    Remove {
        container: u8,
        removals: Vec<(u8, Option<u8>)>,
    },
    ListVersions {
        container: u8,
        limit: usize,
        delimiter: bool,
    },
    Copy {
        from: (u8, u8),
        to: (u8, u8),
    },
    Multipart {
        container: u8,
        key: u8,
        parts: Vec<Vec<u8>>,
        skip: u8,
        complete: bool,
    },
    List {
        container: u8,
        limit: usize,
    },
    Reload,
}

fn step() -> impl Strategy<Value = Step> {
    let container = 0u8..3;
    let key = 0u8..5;
    // Half of the bodies are small enough to share a block.
    let body =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..9), prop::collection::vec(any::<u8>(), 0..150),];
    prop_oneof![
        1 => container.clone().prop_map(Step::CreateContainer),
        1 => container.clone().prop_map(Step::DeleteContainer),
        6 => (container.clone(), key.clone(), body.clone(), any::<bool>())
            .prop_map(|(container, key, body, announce)| Step::Put { container, key, body, announce }),
        1 => (container.clone(), key.clone(), body.clone())
            .prop_map(|(container, key, body)| Step::PutIfAbsent { container, key, body }),
        3 => (container.clone(), key.clone()).prop_map(|(container, key)| Step::Get { container, key }),
        3 => (container.clone(), key.clone(), 0u64..160, 0u64..160)
            .prop_map(|(container, key, start, length)| Step::GetRange { container, key, start, length }),
        2 => (container.clone(), prop::collection::vec(key.clone(), 1..4))
            .prop_map(|(container, keys)| Step::Delete { container, keys }),
        1 => (container.clone(), any::<bool>()).prop_map(|(container, on)| Step::SetVersioning(container, on)),
        2 => (container.clone(), prop::collection::vec((key.clone(), prop::option::of(0u8..4)), 1..5))
            .prop_map(|(container, removals)| Step::Remove { container, removals }),
        2 => (container.clone(), 1usize..4, any::<bool>())
            .prop_map(|(container, limit, delimiter)| Step::ListVersions { container, limit, delimiter }),
        2 => ((container.clone(), key.clone()), (container.clone(), key.clone()))
            .prop_map(|(from, to)| Step::Copy { from, to }),
        2 => (container.clone(), key, prop::collection::vec(body, 1..4), 0u8..4, any::<bool>())
            .prop_map(|(container, key, parts, skip, complete)| Step::Multipart { container, key, parts, skip, complete }),
        2 => (container, 1usize..4).prop_map(|(container, limit)| Step::List { container, limit }),
        1 => Just(Step::Reload),
    ]
}

/// The place of a container: two accounts have one of the same name.
fn place(container: u8) -> (&'static str, &'static str) {
    [("a", "container"), ("a", "other"), ("b", "container")][usize::from(container)]
}

fn key_name(key: u8) -> String {
    ["a", "a/b", "a/c/d", "b\u{e9}", "z"][usize::from(key)].to_owned()
}

async fn read_all(
    gateway: &Gateway<Arc<MemoryDevice>>,
    object: &Arc<lethe_gateway::catalogue::Object>,
    range: Option<std::ops::Range<u64>>,
) -> Result<Vec<u8>, Error> {
    let mut reader = gateway.read(object, range).await?;
    let mut bytes = Vec::new();
    while let Some(piece) = reader.next().await {
        bytes.extend_from_slice(&piece?);
    }
    Ok(bytes)
}

/// Writes a body in pieces of uneven length.
async fn write(gateway: &Gateway<Arc<MemoryDevice>>, body: &[u8], announce: bool) -> Result<Written, Error> {
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

/// The errors that the model foresees; every other one fails the test.
fn kind(error: &Error) -> &'static str {
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

struct World {
    device: Arc<MemoryDevice>,
    options: Options,
    gateway: Gateway<Arc<MemoryDevice>>,
    model: Model,
}

impl World {
    fn account(&self, container: u8) -> (Account<Arc<MemoryDevice>>, &'static str) {
        let (account, name) = place(container);
        (self.gateway.account(account), name)
    }

    async fn step(&mut self, step: Step) {
        match step {
            Step::CreateContainer(container) => {
                let (account, name) = self.account(container);
                let outcome = account.create_container(name, ContainerSettings::default()).await;
                match self.model.entry(container) {
                    Entry::Occupied(_) => assert_eq!(outcome.map_err(|e| kind(&e)), Err("exists")),
                    Entry::Vacant(entry) => {
                        outcome.expect("made");
                        entry.insert(Modelled::default());
                    }
                }
            }
            Step::DeleteContainer(container) => {
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
            Step::Put { container, key, body, announce } => {
                self.put(container, key, body, announce, WriteConditions::default()).await;
            }
            Step::PutIfAbsent { container, key, body } => {
                let absent = WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) };
                self.put(container, key, body, true, absent).await;
            }
            Step::Get { container, key } => match self.find(container, key) {
                Ok((object, body)) => {
                    assert_eq!(read_all(&self.gateway, &object, None).await.expect("read"), body);
                }
                Err(agreed) => assert!(["no key", "no container"].contains(&agreed)),
            },
            Step::GetRange { container, key, start, length } => {
                let Ok((object, body)) = self.find(container, key) else { return };
                let end = start + length;
                let outcome = read_all(&self.gateway, &object, Some(start..end)).await;
                if length == 0 || end > body.len() as u64 {
                    assert_eq!(outcome.map_err(|e| kind(&e)), Err("range"));
                } else {
                    assert_eq!(outcome.expect("read"), body[start as usize..end as usize]);
                }
            }
            Step::Delete { container, keys } => {
                let (account, name) = self.account(container);
                let wanted = keys.iter().map(|&key| (key_name(key), WriteConditions::default()));
                let outcome = account.delete(name, wanted.collect()).await;
                match self.model.get_mut(&container) {
                    None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no container")),
                    Some(model) => {
                        let outcomes = outcome.expect("deleted");
                        for (key, outcome) in keys.into_iter().map(key_name).zip(outcomes) {
                            assert_eq!(outcome.expect("deleted"), model.current(&key).is_some());
                            match model.versioning {
                                _ if model.current(&key).is_none() => {}
                                None => drop(model.remove(&key, VersionId::Null)),
                                // Its name is known from a list only.
                                Some(_) => {
                                    let all = ListRequest {
                                        prefix: key.clone(),
                                        limit: 1,
                                        ..ListRequest::default()
                                    };
                                    let page = account.list_versions(name, &all, None).expect("listed");
                                    let marker = &page.entries[0];
                                    assert!(
                                        marker.key == key
                                            && marker.is_latest
                                            && marker.object.version.is_marker()
                                    );
                                    model.put(&key, marker.object.version.id(), None);
                                }
                            }
                        }
                    }
                }
            }
            Step::SetVersioning(container, on) => {
                let (account, name) = self.account(container);
                let versioning = if on { Versioning::Enabled } else { Versioning::Suspended };
                let outcome = account.set_versioning(name, versioning).await;
                match self.model.get_mut(&container) {
                    None => assert_eq!(outcome.map_err(|e| kind(&e)), Err("no container")),
                    Some(model) => {
                        outcome.expect("set");
                        model.versioning = Some(versioning);
                    }
                }
            }
            Step::Remove { container, removals } => self.remove(container, removals).await,
            Step::ListVersions { container, limit, delimiter } => {
                self.list_versions(container, limit, delimiter);
            }
            Step::Copy { from, to } => self.copy(from, to).await,
            Step::Multipart { container, key, parts, skip, complete } => {
                self.multipart(container, key, parts, skip, complete).await;
            }
            Step::List { container, limit } => self.list(container, limit),
            Step::Reload => {
                self.gateway.settle().await;
                let before = self.gateway.usage();
                self.gateway =
                    Gateway::open(Arc::clone(&self.device), self.options.clone()).await.expect("reopened");
                assert_eq!(self.gateway.usage(), before);
            }
        }
    }

    fn find(
        &self,
        container: u8,
        key: u8,
    ) -> Result<(Arc<lethe_gateway::catalogue::Object>, Vec<u8>), &'static str> {
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
            None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no container")),
            Some(model) if absent && model.current(&key).is_some() => {
                assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("condition"));
            }
            Some(model) => {
                let object = outcome.expect("linked");
                model.put(&key, object.version.id(), Some((body, object.etag.clone())));
            }
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
            None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no container")),
            Some(model) => {
                let object = outcome.expect("linked");
                model.put(&key, object.version.id(), Some((body, object.etag.clone())));
            }
        }
    }

    async fn multipart(&mut self, container: u8, key: u8, parts: Vec<Vec<u8>>, skip: u8, complete: bool) {
        let ((account, name), key) = (self.account(container), key_name(key));
        let begun = account.begin_upload(name, &key, Details::default(), None).await;
        let Some(model) = self.model.get_mut(&container) else {
            return assert_eq!(begun.map(|_| ()).map_err(|e| kind(&e)), Err("no container"));
        };
        let id: UploadId = begun.expect("begun");
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
                .complete_upload(name, &key, id, named, Expected::default(), WriteConditions::default())
                .await
                .expect("completed");
            model.put(&key, object.version.id(), Some((whole, object.etag.clone())));
        } else {
            account.abort_upload(name, &key, id).await.expect("aborted");
        }
    }

    fn list(&self, container: u8, limit: usize) {
        let (account, name) = self.account(container);
        let mut request = ListRequest { limit, ..ListRequest::default() };
        let mut listed = Vec::new();
        loop {
            let page = match (account.list(name, &request), self.model.contains_key(&container)) {
                (Ok(page), true) => page,
                (Err(Error::NoSuchContainer), false) => return,
                (outcome, known) => panic!("the gateway says {outcome:?}, known to the model: {known}"),
            };
            listed.extend(page.entries.into_iter().map(|(key, object)| (key, object.etag.clone())));
            match page.next {
                Some(next) => request.after = next,
                None => break,
            }
        }
        let known = self.model[&container].all_current().map(|(key, (_, etag))| (key.clone(), etag.clone()));
        assert_eq!(listed, known.collect::<Vec<_>>());
    }

    async fn remove(&mut self, container: u8, wanted: Vec<(u8, Option<u8>)>) {
        let (account, name) = self.account(container);
        let name_of = |key: &str, nth: u8| {
            let versions = self.model.get(&container).and_then(|model| model.keys.get(key));
            let version = versions.and_then(|versions| versions.get(usize::from(nth)));
            version.map_or(VersionId::Number(7), |(id, _)| *id)
        };
        let removals: Vec<Removal> = wanted
            .into_iter()
            .map(|(key, nth)| (key_name(key), nth))
            .map(|(key, nth)| Removal {
                version: nth.map(|nth| name_of(&key, nth)),
                key,
                conditions: WriteConditions::default(),
                marks_absent: true,
            })
            .collect();
        let outcome = account.remove(name, removals.clone()).await;
        let Some(model) = self.model.get_mut(&container) else {
            return assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no container"));
        };
        for (Removal { key, version, .. }, deleted) in removals.into_iter().zip(outcome.expect("removed")) {
            let deleted = deleted.expect("removed");
            let meant = deleted.meant.map(|object| object.version.id());
            let marker = deleted.marker.map(|marker| marker.version.id());
            let stood = model.current(&key).and_then(|_| Some(model.keys.get(&key)?.first()?.0));
            match (version, model.versioning) {
                (Some(id), _) => assert_eq!(meant, model.remove(&key, id).map(|(id, _)| id)),
                (None, None) => {
                    assert_eq!((meant, marker), (stood, None));
                    model.remove(&key, VersionId::Null);
                }
                (None, Some(_)) => {
                    assert_eq!(meant, stood);
                    model.put(&key, marker.expect("a marker"), None);
                }
            }
        }
    }

    fn list_versions(&self, container: u8, limit: usize, delimiter: bool) {
        let (account, name) = self.account(container);
        let delimiter = if delimiter { "/" } else { "" };
        let mut request = ListRequest { limit, delimiter: delimiter.into(), ..ListRequest::default() };
        let mut after = None;
        let (mut listed, mut prefixes) = (Vec::new(), Vec::new());
        loop {
            let page = match (account.list_versions(name, &request, after), self.model.get(&container)) {
                (Ok(page), Some(_)) => page,
                (Err(Error::NoSuchContainer), None) => return,
                (outcome, known) => panic!("the gateway says {outcome:?}, the model knows {known:?}"),
            };
            assert!(page.entries.len() + page.prefixes.len() <= limit);
            listed.extend(page.entries.into_iter().map(|listed| {
                let etag = (!listed.object.version.is_marker()).then(|| listed.object.etag.clone());
                (listed.key, listed.is_latest, listed.object.version.id(), etag)
            }));
            prefixes.extend(page.prefixes);
            match page.next {
                Some((key, version)) => (request.after, after) = (key, version),
                None => break,
            }
        }
        let grouped = |key: &str| !delimiter.is_empty() && key.contains('/');
        let keys = &self.model[&container].keys;
        let known = keys.iter().filter(|(key, _)| !grouped(key)).flat_map(|(key, versions)| {
            versions.iter().enumerate().map(move |(nth, (id, content))| {
                (key.clone(), nth == 0, *id, content.as_ref().map(|(_, etag)| etag.clone()))
            })
        });
        assert_eq!(listed, known.collect::<Vec<_>>());
        let groups = if keys.keys().any(|key| grouped(key)) { vec!["a/"] } else { vec![] };
        assert_eq!(prefixes, groups);
    }

    fn list_all(&self) {
        for container in 0..3 {
            self.list_versions(container, 2, false);
            self.list_versions(container, 1, true);
        }
    }

    /// Every version reads back, and no block is lost or held twice.
    async fn check(&self) {
        self.gateway.settle().await;
        let mut held = 0;
        for (&container, model) in &self.model {
            let (account, name) = self.account(container);
            for key in (0..5).map(key_name) {
                match (account.object(name, &key), model.current(&key)) {
                    (Ok(object), Some((_, etag))) => assert_eq!(&object.etag, etag),
                    (Err(Error::NoSuchKey), None) => {}
                    (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
                }
                for (id, content) in model.keys.get(&key).into_iter().flatten() {
                    match (account.version(name, &key, Some(*id)), content) {
                        (Ok(object), Some((body, _))) => {
                            assert_eq!(&read_all(&self.gateway, &object, None).await.expect("read"), body);
                            held += object.blocks();
                        }
                        (Err(Error::DeleteMarker { version, .. }), None) => assert_eq!(version, *id),
                        (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
                    }
                }
            }
        }
        self.gateway.settle().await;
        let usage = self.gateway.usage();
        assert_eq!(usage.free_blocks, BLOCKS - held - usage.packed.blocks);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]

    #[test]
    fn a_history_of_verbs_is_a_history_of_a_map(
        steps in prop::collection::vec(step(), 1..60),
        padding in prop_oneof![
            Just(Padding::None),
            Just(Padding::PowersOfTwo),
            Just(Padding::Classes(vec![20, 64, 100])),
        ],
        pack in any::<bool>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, BATCH));
            let options = Options { padding, pack, ..Options::default() };
            let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
            let mut world = World { device, options, gateway, model: Model::new() };
            world.step(Step::CreateContainer(0)).await;
            world.step(Step::CreateContainer(1)).await;
            world.step(Step::SetVersioning(1, true)).await;
            for step in steps {
                world.step(step).await;
            }
            world.check().await;
            world.list_all();
            world.step(Step::Reload).await;
            world.check().await;
            world.list_all();
        });
    }
}
