//! The requests that go over the wire, seen by a log in place of the object store.

use super::shared::take;
use super::*;
use crate::blobs::{Blobs, Inventory};
use ameles_core::tree::layout::Extent;
use ameles_core::types::{Bucket, Slot, Version};
use async_trait::async_trait;
use futures::stream::{self, BoxStream};
use object_store::memory::InMemory;
use object_store::{
    CopyOptions, GetOptions, GetRange, GetResult, GetResultPayload, ListResult, MultipartUpload, ObjectMeta,
    PutMultipartOptions, PutOptions, PutPayload, PutResult,
};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::sync::Semaphore;

/// Records each request, keeps it open for a second of virtual time, and can fail some.
#[derive(Debug, Default)]
struct RequestLog {
    inner: InMemory,
    gets: Mutex<Vec<(String, Option<GetRange>)>>,
    puts: Mutex<Vec<String>>,
    lists: Mutex<Vec<String>>,
    open: AtomicUsize,
    max_open: AtomicUsize,
    fail_gets_of: Mutex<Option<String>>,
}

impl fmt::Display for RequestLog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("RequestLog")
    }
}

impl RequestLog {
    async fn stay_open(&self) {
        let open = self.open.fetch_add(1, Ordering::SeqCst) + 1;
        self.max_open.fetch_max(open, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.open.fetch_sub(1, Ordering::SeqCst);
    }
}

type Answer<T> = Result<T, object_store::Error>;

#[async_trait]
impl ObjectStore for RequestLog {
    async fn put_opts(&self, path: &Path, payload: PutPayload, options: PutOptions) -> Answer<PutResult> {
        self.puts.lock().unwrap().push(path.to_string());
        self.stay_open().await;
        self.inner.put_opts(path, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Answer<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Answer<GetResult> {
        if !options.head {
            self.gets.lock().unwrap().push((path.to_string(), options.range.clone()));
            self.stay_open().await;
        }
        let fails = self.fail_gets_of.lock().unwrap().clone();
        if fails.is_some_and(|part| path.as_ref().contains(&part)) {
            return Err(object_store::Error::Generic { store: "log", source: "the line is down".into() });
        }
        self.inner.get_opts(path, options).await
    }

    fn delete_stream(&self, paths: BoxStream<'static, Answer<Path>>) -> BoxStream<'static, Answer<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Answer<ObjectMeta>> {
        self.lists.lock().unwrap().push(prefix.map(Path::to_string).unwrap_or_default());
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Answer<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Answer<()> {
        self.inner.copy_opts(from, to, options).await
    }
}

const SLOT: usize = 10;
const SLOTS: u32 = 6;

fn store(in_flight: usize) -> (Arc<RequestLog>, Objects) {
    store_of(8, in_flight)
}

fn store_of(buckets: u64, in_flight: usize) -> (Arc<RequestLog>, Objects) {
    let log = Arc::new(RequestLog::default());
    let layout = Layout::new(vec![Extent { buckets, slots: SLOTS, slot_bytes: SLOT as u32 }]);
    let objects = Objects {
        layout: Arc::new(layout),
        shared: Arc::new(Shared {
            store: log.clone(),
            once: log.clone(),
            prefix: Path::from("vault"),
            folder: None,
            versioning: None,
            in_flight: Semaphore::new(in_flight),
        }),
    };
    (log, objects)
}

fn version(bucket: u64) -> BucketVersion {
    BucketVersion { bucket: Bucket(bucket), version: Version { epoch: 1, counter: 7 } }
}

fn place(bucket: u64, index: u32) -> Place {
    Place { slot: Slot { bucket: Bucket(bucket), index }, version: version(bucket).version }
}

/// A byte that tells its bucket and slot.
fn mark(bucket: u64, slot: u32) -> u8 {
    (bucket * 16 + u64::from(slot)) as u8
}

async fn fill(objects: &Objects) {
    let buckets: Vec<_> = (0..8).map(version).collect();
    let bytes: Vec<u8> =
        (0..8).flat_map(|bucket| (0..SLOTS).flat_map(move |slot| [mark(bucket, slot); SLOT])).collect();
    objects.write(&buckets, &bytes).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn adjacent_slots_are_one_range_request_of_exactly_their_bytes() {
    let (log, objects) = store(64);
    fill(&objects).await;
    let places = [place(2, 1), place(5, 4), place(2, 0), place(2, 3), place(5, 3)];
    let mut into = [0; 5 * SLOT];
    objects.read(&places, &mut into).await.unwrap();
    for (place, slot) in places.iter().zip(into.chunks(SLOT)) {
        assert_eq!(slot, [mark(place.slot.bucket.0, place.slot.index); SLOT]);
    }
    let name = |bucket| format!("vault/{}", names::bucket_version(version(bucket)));
    let range = |range: Range<u64>| Some(GetRange::Bounded(range));
    assert_eq!(
        *log.gets.lock().unwrap(),
        [(name(2), range(0..20)), (name(2), range(30..40)), (name(5), range(30..50)),]
    );
}

#[tokio::test(start_paused = true)]
async fn a_whole_bucket_is_one_request() {
    let (log, objects) = store(64);
    fill(&objects).await;
    let places: Vec<_> = (0..SLOTS).map(|slot| place(3, slot)).collect();
    let mut into = [0; SLOTS as usize * SLOT];
    objects.read(&places, &mut into).await.unwrap();
    assert_eq!(log.gets.lock().unwrap().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_requests_of_a_call_are_in_flight_together_up_to_the_limit() {
    for (limit, seconds) in [(64, 1), (3, 3)] {
        let (log, objects) = store(limit);
        let start = tokio::time::Instant::now();
        fill(&objects).await;
        assert_eq!(log.max_open.load(Ordering::SeqCst), limit.min(8));
        assert_eq!(start.elapsed().as_secs(), seconds);
        let start = tokio::time::Instant::now();
        let places: Vec<_> = (0..8).map(|bucket| place(bucket, 1)).collect();
        objects.read(&places, &mut [0; 8 * SLOT]).await.unwrap();
        assert_eq!(log.max_open.load(Ordering::SeqCst), limit.min(8));
        assert_eq!(start.elapsed().as_secs(), seconds);
    }
}

#[tokio::test(start_paused = true)]
async fn a_call_that_fails_has_nevertheless_made_all_its_requests() {
    let (log, objects) = store(2);
    fill(&objects).await;
    *log.fail_gets_of.lock().unwrap() = Some(names::bucket_version(version(0)));
    let places: Vec<_> = (0..8).map(|bucket| place(bucket, 1)).collect();
    let failure = objects.read(&places, &mut [0; 8 * SLOT]).await.unwrap_err();
    assert!(matches!(failure, UntrustedError::Unavailable(_)), "{failure}");
    assert_eq!(log.gets.lock().unwrap().len(), 8);
}

#[tokio::test(start_paused = true)]
async fn everything_lies_below_the_prefix() {
    let (log, objects) = store(64);
    fill(&objects).await;
    Blobs::put(&objects, "header", b"x").await.unwrap();
    let puts = log.puts.lock().unwrap().clone();
    assert_eq!(puts.len(), 9);
    assert!(puts.iter().all(|name| name.starts_with("vault/")), "{puts:?}");
    let mut found = Vec::new();
    objects.list_bucket_versions(&mut |version, _| found.push(version)).await.unwrap();
    assert_eq!(found.len(), 8);
}

#[tokio::test]
async fn an_answer_is_taken_no_further_than_it_was_asked_for() {
    let chunks = |sizes: &[usize]| {
        let chunks: Vec<_> = sizes.iter().map(|size| Ok(Chunk::from(vec![7; *size]))).collect();
        GetResultPayload::Stream(stream::iter(chunks).boxed())
    };
    for sizes in [&[10][..], &[4, 6], &[4, 60], &[400], &[0, 3, 0, 3, 3, 3]] {
        assert_eq!(take(chunks(sizes), 10).await.unwrap(), vec![7; 10], "{sizes:?}");
    }
    assert_eq!(take(chunks(&[3, 4]), 10).await.unwrap().len(), 7);
    assert_eq!(take(chunks(&[]), 10).await.unwrap().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn the_inventory_has_every_object_below_the_folder_of_buckets_in_one_list_or_in_many() {
    for (buckets, lists) in [(8, 1), (20_000, 4)] {
        let (log, objects) = store_of(buckets, 64);
        // One is of no bucket of a small layout.
        let versions: Vec<_> = [0, 7, 5000, 5001, 19_999].map(version).into();
        let named = versions.iter().map(|of| names::bucket_version(*of));
        let others = ["0000000000/001/x", "0000000000/y", "z", "0000000001/002/000-1"];
        for name in named.chain(others.map(|name| format!("{}/{name}", names::BUCKETS))) {
            let path = Path::from(format!("vault/{name}"));
            log.inner.put_opts(&path, PutPayload::from_static(b"abc"), PutOptions::default()).await.unwrap();
        }
        let mut found = Vec::new();
        let unknown = objects.list_bucket_versions(&mut |of, bytes| found.push((of, bytes.0))).await.unwrap();
        found.sort_unstable();
        assert_eq!(found, versions.iter().map(|of| (*of, 3)).collect::<Vec<_>>(), "{buckets} buckets");
        assert_eq!(unknown, 4, "{buckets} buckets");
        assert_eq!(log.lists.lock().unwrap().len(), lists, "{buckets} buckets");
    }
}
