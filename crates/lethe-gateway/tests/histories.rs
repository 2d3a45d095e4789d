//! Random histories of verbs against a plain model: what the gateway answers is what a map of names would answer, and
//! a gateway loaded anew from the rows is the same gateway.

use bytes::Bytes;
use futures::StreamExt;
use lethe_gateway::catalogue::{Details, UploadId};
use lethe_gateway::conditions::{TagMatch, WriteConditions};
use lethe_gateway::listing::ListRequest;
use lethe_gateway::multipart::{Expected, NamedPart};
use lethe_gateway::testing::MemoryDevice;
use lethe_gateway::{Error, Gateway, Options, Padding, Written};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::sync::Arc;

const BLOCK: usize = 16;
const BLOCKS: u64 = 64;
const BATCH: usize = 3;

type Model = BTreeMap<String, BTreeMap<String, (Vec<u8>, String)>>;

#[derive(Clone, Debug)]
enum Step {
    CreateBucket(u8),
    DeleteBucket(u8),
    Put { bucket: u8, key: u8, body: Vec<u8>, announce: bool },
    PutIfAbsent { bucket: u8, key: u8, body: Vec<u8> },
    Get { bucket: u8, key: u8 },
    GetRange { bucket: u8, key: u8, start: u64, length: u64 },
    Delete { bucket: u8, keys: Vec<u8> },
    Copy { from: (u8, u8), to: (u8, u8) },
    Multipart { bucket: u8, key: u8, parts: Vec<Vec<u8>>, skip: u8, complete: bool },
    List { bucket: u8, limit: usize },
    Reload,
}

fn step() -> impl Strategy<Value = Step> {
    let bucket = 0u8..3;
    let key = 0u8..5;
    let body = prop::collection::vec(any::<u8>(), 0..150);
    prop_oneof![
        1 => bucket.clone().prop_map(Step::CreateBucket),
        1 => bucket.clone().prop_map(Step::DeleteBucket),
        6 => (bucket.clone(), key.clone(), body.clone(), any::<bool>())
            .prop_map(|(bucket, key, body, announce)| Step::Put { bucket, key, body, announce }),
        1 => (bucket.clone(), key.clone(), body.clone())
            .prop_map(|(bucket, key, body)| Step::PutIfAbsent { bucket, key, body }),
        3 => (bucket.clone(), key.clone()).prop_map(|(bucket, key)| Step::Get { bucket, key }),
        3 => (bucket.clone(), key.clone(), 0u64..160, 0u64..160)
            .prop_map(|(bucket, key, start, length)| Step::GetRange { bucket, key, start, length }),
        2 => (bucket.clone(), prop::collection::vec(key.clone(), 1..4))
            .prop_map(|(bucket, keys)| Step::Delete { bucket, keys }),
        2 => ((bucket.clone(), key.clone()), (bucket.clone(), key.clone()))
            .prop_map(|(from, to)| Step::Copy { from, to }),
        2 => (bucket.clone(), key, prop::collection::vec(body, 1..4), 0u8..4, any::<bool>())
            .prop_map(|(bucket, key, parts, skip, complete)| Step::Multipart { bucket, key, parts, skip, complete }),
        2 => (bucket, 1usize..4).prop_map(|(bucket, limit)| Step::List { bucket, limit }),
        1 => Just(Step::Reload),
    ]
}

fn bucket_name(bucket: u8) -> String {
    format!("bucket-{bucket}")
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
        Error::NoSuchBucket => "no bucket",
        Error::NoSuchKey => "no key",
        Error::BucketExists => "exists",
        Error::BucketNotEmpty { .. } => "not empty",
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
    async fn step(&mut self, step: Step) {
        match step {
            Step::CreateBucket(bucket) => {
                let name = bucket_name(bucket);
                let outcome = self.gateway.create_bucket(&name).await;
                match self.model.entry(name) {
                    Entry::Occupied(_) => assert_eq!(outcome.map_err(|e| kind(&e)), Err("exists")),
                    Entry::Vacant(entry) => {
                        outcome.expect("made");
                        entry.insert(BTreeMap::new());
                    }
                }
            }
            Step::DeleteBucket(bucket) => {
                let name = bucket_name(bucket);
                let outcome = self.gateway.delete_bucket(&name).await.map_err(|e| kind(&e));
                let expected = match self.model.get(&name) {
                    None => Err("no bucket"),
                    Some(objects) if !objects.is_empty() => Err("not empty"),
                    Some(_) => Ok(()),
                };
                assert_eq!(outcome, expected);
                if expected.is_ok() {
                    self.model.remove(&name);
                }
            }
            Step::Put { bucket, key, body, announce } => {
                self.put(bucket, key, body, announce, WriteConditions::default()).await;
            }
            Step::PutIfAbsent { bucket, key, body } => {
                let absent = WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) };
                self.put(bucket, key, body, true, absent).await;
            }
            Step::Get { bucket, key } => match self.find(bucket, key) {
                Ok((object, body)) => {
                    assert_eq!(read_all(&self.gateway, &object, None).await.expect("read"), body);
                }
                Err(agreed) => assert!(["no key", "no bucket"].contains(&agreed)),
            },
            Step::GetRange { bucket, key, start, length } => {
                let Ok((object, body)) = self.find(bucket, key) else { return };
                let end = start + length;
                let outcome = read_all(&self.gateway, &object, Some(start..end)).await;
                if length == 0 || end > body.len() as u64 {
                    assert_eq!(outcome.map_err(|e| kind(&e)), Err("range"));
                } else {
                    assert_eq!(outcome.expect("read"), body[start as usize..end as usize]);
                }
            }
            Step::Delete { bucket, keys } => {
                let name = bucket_name(bucket);
                let wanted = keys.iter().map(|&key| (key_name(key), WriteConditions::default()));
                let outcome = self.gateway.delete(&name, wanted.collect()).await;
                match self.model.get_mut(&name) {
                    None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no bucket")),
                    Some(objects) => {
                        assert!(outcome.expect("deleted").iter().all(Result::is_ok));
                        for key in keys {
                            objects.remove(&key_name(key));
                        }
                    }
                }
            }
            Step::Copy { from, to } => self.copy(from, to).await,
            Step::Multipart { bucket, key, parts, skip, complete } => {
                self.multipart(bucket, key, parts, skip, complete).await;
            }
            Step::List { bucket, limit } => self.list(bucket, limit),
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
        bucket: u8,
        key: u8,
    ) -> Result<(Arc<lethe_gateway::catalogue::Object>, Vec<u8>), &'static str> {
        let found = self.gateway.object(&bucket_name(bucket), &key_name(key));
        let known = self.model.get(&bucket_name(bucket)).map(|objects| objects.get(&key_name(key)));
        match (found, known) {
            (Ok(object), Some(Some((body, etag)))) => {
                assert_eq!((object.bytes(), &object.etag), (body.len() as u64, etag));
                Ok((object, body.clone()))
            }
            (Err(Error::NoSuchKey), Some(None)) => Err("no key"),
            (Err(Error::NoSuchBucket), None) => Err("no bucket"),
            (found, known) => panic!("the gateway says {found:?}, the model says {known:?}"),
        }
    }

    async fn put(&mut self, bucket: u8, key: u8, body: Vec<u8>, announce: bool, conditions: WriteConditions) {
        let (bucket, key) = (bucket_name(bucket), key_name(key));
        let written = match write(&self.gateway, &body, announce).await {
            Ok(written) => written,
            Err(error) => return assert_eq!(kind(&error), "full"),
        };
        let absent = conditions.if_none_match.is_some();
        let outcome = self.gateway.link(&bucket, &key, written, Details::default(), conditions).await;
        match self.model.get_mut(&bucket) {
            None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no bucket")),
            Some(objects) if absent && objects.contains_key(&key) => {
                assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("condition"));
            }
            Some(objects) => {
                objects.insert(key, (body, outcome.expect("linked").etag.clone()));
            }
        }
    }

    async fn copy(&mut self, from: (u8, u8), to: (u8, u8)) {
        let Ok((source, body)) = self.find(from.0, from.1) else { return };
        let written = match self.gateway.copy_blocks(&source, None, None).await {
            Ok(written) => written,
            Err(error) => return assert_eq!(kind(&error), "full"),
        };
        let (bucket, key) = (bucket_name(to.0), key_name(to.1));
        let conditions = WriteConditions::default();
        let outcome = self.gateway.link(&bucket, &key, written, source.details.clone(), conditions).await;
        match self.model.get_mut(&bucket) {
            None => assert_eq!(outcome.map(|_| ()).map_err(|e| kind(&e)), Err("no bucket")),
            Some(objects) => {
                objects.insert(key, (body, outcome.expect("linked").etag.clone()));
            }
        }
    }

    async fn multipart(&mut self, bucket: u8, key: u8, parts: Vec<Vec<u8>>, skip: u8, complete: bool) {
        let (bucket, key) = (bucket_name(bucket), key_name(key));
        let begun = self.gateway.begin_upload(&bucket, &key, Details::default(), None).await;
        let Some(objects) = self.model.get_mut(&bucket) else {
            return assert_eq!(begun.map(|_| ()).map_err(|e| kind(&e)), Err("no bucket"));
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
            let linked = self.gateway.link_part(&bucket, &key, id, number, written).await.expect("linked");
            assert_eq!(linked.segment.bytes(), part.len() as u64);
            if number != u16::from(skip) {
                named.push(NamedPart { number, etag: None, checksum: None });
                whole.extend_from_slice(part);
            }
        }
        if complete && !named.is_empty() {
            let object = self
                .gateway
                .complete_upload(&bucket, &key, id, named, Expected::default(), WriteConditions::default())
                .await
                .expect("completed");
            objects.insert(key, (whole, object.etag.clone()));
        } else {
            self.gateway.abort_upload(&bucket, &key, id).await.expect("aborted");
        }
    }

    fn list(&self, bucket: u8, limit: usize) {
        let name = bucket_name(bucket);
        let mut request = ListRequest { limit, ..ListRequest::default() };
        let mut listed = Vec::new();
        loop {
            let page = match (self.gateway.list(&name, &request), self.model.contains_key(&name)) {
                (Ok(page), true) => page,
                (Err(Error::NoSuchBucket), false) => return,
                (outcome, known) => panic!("the gateway says {outcome:?}, known to the model: {known}"),
            };
            listed.extend(page.entries.into_iter().map(|(key, object)| (key, object.etag.clone())));
            match page.next {
                Some(next) => request.after = next,
                None => break,
            }
        }
        let known = self.model[&name].iter().map(|(key, (_, etag))| (key.clone(), etag.clone()));
        assert_eq!(listed, known.collect::<Vec<_>>());
    }

    /// Every object reads back, and no block is lost or held twice.
    async fn check(&self) {
        self.gateway.settle().await;
        let mut held = 0;
        for (bucket, objects) in &self.model {
            for (key, (body, _)) in objects {
                let object = self.gateway.object(bucket, key).expect("there");
                assert_eq!(&read_all(&self.gateway, &object, None).await.expect("read"), body);
                held += object.blocks();
            }
        }
        self.gateway.settle().await;
        assert_eq!(self.gateway.usage().free_blocks, BLOCKS - held);
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
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        runtime.block_on(async {
            let device = Arc::new(MemoryDevice::new(BLOCK, BLOCKS, BATCH));
            let options = Options { padding, window: 2 };
            let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
            let mut world = World { device, options, gateway, model: Model::new() };
            world.step(Step::CreateBucket(0)).await;
            for step in steps {
                world.step(step).await;
            }
            world.check().await;
            world.step(Step::Reload).await;
            world.check().await;
        });
    }
}
