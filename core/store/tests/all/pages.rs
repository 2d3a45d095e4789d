//! Lists of an object store are read to their last page, and a page that is refused for now is requested again. The
//! provider is a small server in the test that implements just enough of S3's protocol.

use crate::common::{layout, version};
use ameles_core::store::BucketVersion;
use ameles_core::types::Bytes;
use ameles_store::{Blobs, Inventory, Objects, OpenOptions};
use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// The maximum number of names of a page, as in S3.
const PAGE: usize = 1000;
/// Bucket versions, and blobs.
const NAMES: u64 = 2500;

/// The requests that a provider got.
#[derive(Default)]
struct RequestCounts {
    further_pages: AtomicUsize,
    refused: AtomicUsize,
}

/// All names in the provider's bucket, sorted.
fn names() -> Vec<String> {
    let bucket =
        |nth| format!("p/buckets/0000000000/{:03x}/{:03x}-00000001-0000000000000001", nth >> 12, nth);
    let blob = |nth| format!("p/blobs/checkpoint/{nth:08x}");
    let mut names: Vec<String> = (0..NAMES).map(bucket).chain((0..NAMES).map(blob)).collect();
    names.sort();
    names
}

/// Starts a provider; returns its port. Every further page is refused once.
fn provider(counts: Arc<RequestCounts>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    // It ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let counts = counts.clone();
            std::thread::spawn(move || serve(stream.unwrap(), &counts));
        }
    });
    port
}

fn serve(mut stream: TcpStream, counts: &RequestCounts) {
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines().map_while(Result::ok);
    while let Some(request) = lines.next() {
        lines.by_ref().take_while(|line| !line.is_empty()).for_each(drop);
        let (status, body) = answer(&request, counts);
        let head =
            format!("HTTP/1.1 {status}\r\ncontent-type: application/xml\r\ncontent-length: {}", body.len());
        if stream.write_all(format!("{head}\r\n\r\n{body}").as_bytes()).is_err() {
            return;
        }
    }
}

fn answer(request: &str, counts: &RequestCounts) -> (&'static str, String) {
    let target = request.split(' ').nth(1).expect("a request names a target");
    let value = |key: &str| {
        let (_, query) = target.split_once('?')?;
        let pair = query.split('&').filter_map(|pair| pair.split_once('='));
        pair.filter(|(name, _)| *name == key).map(|(_, value)| value.replace("%2F", "/")).next()
    };
    let max = value("max-keys").map_or(PAGE, |max| max.parse().unwrap()).min(PAGE);
    let token = value("continuation-token");
    if token.is_some() && counts.further_pages.fetch_add(1, Ordering::Relaxed).is_multiple_of(2) {
        counts.refused.fetch_add(1, Ordering::Relaxed);
        return ("503 Slow Down", "<Error><Code>SlowDown</Code></Error>".into());
    }
    let from: usize = token.map_or(0, |token| token.parse().unwrap());
    let prefix = value("prefix").unwrap_or_default();
    let all: Vec<String> = names().into_iter().filter(|name| name.starts_with(&prefix)).collect();
    let page = all.iter().skip(from).take(max);
    let is_truncated = from + max < all.len();
    let mut body = format!("<ListBucketResult><Name>b</Name><IsTruncated>{is_truncated}</IsTruncated>");
    if is_truncated {
        write!(body, "<NextContinuationToken>{}</NextContinuationToken>", from + max).unwrap();
    }
    for name in page {
        let object = "<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>\"e\"</ETag><Size>32</Size>";
        write!(body, "<Contents><Key>{name}</Key>{object}</Contents>").unwrap();
    }
    ("200 OK", body + "</ListBucketResult>")
}

#[tokio::test]
async fn a_list_of_thousands_of_names_is_followed_to_its_last_page_though_pages_are_refused() {
    let counts = Arc::new(RequestCounts::default());
    let keys = [
        ("endpoint", format!("http://127.0.0.1:{}", provider(counts.clone()))),
        ("allow_http", "true".to_owned()),
        ("access_key_id", "a".to_owned()),
        ("secret_access_key", "s".to_owned()),
    ];
    let keys = keys.map(|(key, value)| (key.to_owned(), value)).into();
    let store = Objects::open("s3://b/p", &OpenOptions { keys, ..OpenOptions::default() }).await.unwrap();
    let store = store.with_layout(layout());
    let mut found: Vec<(BucketVersion, Bytes)> = Vec::new();
    let unknown = store.list_bucket_versions(&mut |of, bytes| found.push((of, bytes))).await.unwrap();
    found.sort_unstable();
    let expected: Vec<_> = (0..NAMES).map(|bucket| (version(bucket, 1), Bytes(32))).collect();
    assert!(unknown == 0 && found == expected, "{} of {NAMES} were found", found.len());
    assert_eq!(store.list("checkpoint/").await.unwrap().len() as u64, NAMES);
    let refused = counts.refused.load(Ordering::Relaxed);
    assert!(refused >= 4, "{refused} pages were refused");
}
