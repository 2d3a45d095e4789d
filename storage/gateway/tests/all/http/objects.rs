//! Objects through a real client: the bytes that were put come back.

use super::{read, served, served_with, start};
use crate::test_server::{BLOCK, body};
use ameles_gateway::http::server::Limits;
use futures::TryStreamExt;
use object_store::aws::Checksum;
use object_store::path::Path;
use object_store::{
    Attribute, Attributes, Error, GetOptions, GetRange, ObjectStore, ObjectStoreExt, PutMode, PutOptions,
    PutPayload, UpdateVersion, WriteMultipart,
};

#[tokio::test]
async fn objects_come_back_as_they_were_put() {
    let server = start(Limits::default()).await;
    for client in [
        server.client(),
        server.builder().with_checksum_algorithm(Checksum::SHA256).build().expect("a client"),
    ] {
        for bytes in [0, 1, BLOCK - 1, BLOCK, BLOCK + 1, 300_000] {
            let path = Path::from(format!("some/dir with space/{bytes}+\u{e9}"));
            let body = body(bytes);
            let put = client.put(&path, body.clone().into()).await.expect("put");
            let got = client.get(&path).await.expect("got");
            assert_eq!(got.meta.e_tag, put.e_tag);
            assert_eq!(got.meta.size, bytes as u64);
            assert!(got.bytes().await.expect("read") == body);
            let head = client.head(&path).await.expect("head");
            assert_eq!((head.size, head.e_tag), (bytes as u64, put.e_tag));
        }
    }
    server.stop().await;
}

#[tokio::test]
async fn metadata_comes_back_and_a_copy_takes_it_along() {
    let (server, client) = served().await;
    let attributes: Attributes = [
        (Attribute::ContentType, "text/plain; charset=utf-8"),
        (Attribute::CacheControl, "max-age=60"),
        (Attribute::ContentDisposition, "attachment"),
        (Attribute::ContentEncoding, "gzip"),
        (Attribute::ContentLanguage, "la"),
        (Attribute::Metadata("mood".into()), "oblivious"),
    ]
    .into_iter()
    .collect();
    let (from, to) = (Path::from("from"), Path::from("deep/to"));
    let options = PutOptions { attributes: attributes.clone(), ..PutOptions::default() };
    client.put_opts(&from, body(10_000).into(), options).await.expect("put");
    client.copy(&from, &to).await.expect("copied");
    for path in [&from, &to] {
        let got = client.get(path).await.expect("got");
        assert_eq!(got.attributes, attributes);
        assert!(got.bytes().await.expect("read") == body(10_000));
    }
    server.stop().await;
}

#[tokio::test]
async fn ranges_are_exact_to_the_byte() {
    let whole = body(3 * BLOCK + 100);
    let (server, client, path) = served_with(whole.clone()).await;
    let end = whole.len();
    for (start, stop) in [(0, 1), (BLOCK - 1, BLOCK + 1), (5, end), (end - 1, end), (BLOCK, 2 * BLOCK)] {
        let got = client.get_range(&path, start as u64..stop as u64).await.expect("read");
        assert!(got == whole[start..stop], "{start}..{stop}");
    }
    let get = |range| client.get_opts(&path, GetOptions { range: Some(range), ..Default::default() });
    let suffix = get(GetRange::Suffix(7)).await.expect("got").bytes().await.expect("read");
    assert!(suffix == whole[end - 7..]);
    let rest = get(GetRange::Offset(BLOCK as u64)).await.expect("got").bytes().await.expect("read");
    assert!(rest == whole[BLOCK..]);
    let beyond = format!("range: bytes={end}-\r\n");
    let (status, answer) = server.signed(http::Method::GET, "key", &beyond).await;
    assert_eq!(status, 416);
    assert!(answer.to_ascii_lowercase().contains(&format!("content-range: bytes */{end}")), "{answer}");
    server.stop().await;
}

#[tokio::test]
async fn conditions_hold() {
    let (server, client) = served().await;
    let path = Path::from("key");
    let put = |mode| client.put_opts(&path, PutPayload::from_static(b"body"), PutOptions::from(mode));
    let first = put(PutMode::Create).await.expect("absent");
    let again = put(PutMode::Create).await;
    assert!(matches!(again, Err(Error::AlreadyExists { .. })), "{again:?}");
    let new = |e_tag| PutMode::Update(UpdateVersion { e_tag, version: None });
    put(new(first.e_tag.clone())).await.expect("it matches");
    let other = put(new(Some("\"0123456789abcdef0123456789abcdef\"".into()))).await;
    assert!(matches!(other, Err(Error::Precondition { .. })), "{other:?}");

    let get = |options| client.get_opts(&path, options);
    let tag = first.e_tag.expect("a tag");
    let options = GetOptions { if_none_match: Some(tag.clone()), ..Default::default() };
    let unmodified = get(options).await;
    assert!(matches!(unmodified, Err(Error::NotModified { .. })), "{unmodified:?}");
    let options = GetOptions { if_match: Some("\"other\"".into()), ..Default::default() };
    let failed = get(options).await;
    assert!(matches!(failed, Err(Error::Precondition { .. })), "{failed:?}");
    let options = GetOptions { if_match: Some(tag), ..Default::default() };
    get(options).await.expect("it matches");
    let missing = client.get(&Path::from("none")).await;
    assert!(matches!(missing, Err(Error::NotFound { .. })), "{missing:?}");
    server.stop().await;
}

#[tokio::test]
async fn an_upload_in_parts_is_one_object() {
    let (server, client) = served().await;
    let path = Path::from("large");
    let whole = body(12 << 20);
    let upload = client.put_multipart(&path).await.expect("begun");
    let mut writer = WriteMultipart::new_with_chunk_size(upload, 5 << 20);
    writer.write(&whole);
    let done = writer.finish().await.expect("completed");
    assert!(done.e_tag.expect("a tag").ends_with("-3\""));
    assert!(read(&client, &path).await == whole);
    let spanning = (5 << 20) - 10..(5 << 20) + 10;
    let got = client.get_range(&path, spanning.start as u64..spanning.end as u64).await.expect("read");
    assert!(got == whole[spanning]);

    let mut upload = client.put_multipart(&Path::from("given up")).await.expect("begun");
    upload.put_part(body(6 << 20).into()).await.expect("a part");
    let before = server.gateway.usage();
    upload.abort().await.expect("aborted");
    let after = server.gateway.usage();
    assert_eq!((before.uploads, after.uploads), (1, 0));
    assert_eq!(after.free_blocks - before.free_blocks, (6 << 20) / BLOCK as u64);
    server.stop().await;
}

#[tokio::test]
async fn a_listing_of_many_pages_is_complete() {
    let (server, client) = served().await;
    let mut expected = Vec::new();
    for number in 0..1234 {
        let path = Path::from(format!("dir {}/file&{number}", number % 7));
        client.put(&path, PutPayload::default()).await.expect("put");
        expected.push(path);
    }
    expected.sort();
    let listed: Vec<_> = client.list(None).try_collect().await.expect("listed");
    let listed: Vec<_> = listed.into_iter().map(|meta| meta.location).collect();
    assert!(listed == expected, "{} of {}", listed.len(), expected.len());
    let top_level = client.list_with_delimiter(None).await.expect("listed");
    assert_eq!((top_level.common_prefixes.len(), top_level.objects.len()), (7, 0));
    let prefix = Path::from("dir 3");
    let inner = client.list_with_delimiter(Some(&prefix)).await.expect("listed");
    assert_eq!(inner.objects.len(), expected.iter().filter(|path| path.prefix_matches(&prefix)).count());
    let paths = futures::stream::iter(expected.clone().into_iter().map(Ok));
    let deleted: Vec<_> = client.delete_stream(Box::pin(paths)).try_collect().await.expect("deleted");
    assert_eq!(deleted.len(), expected.len());
    assert_eq!(server.gateway.usage().objects, 0);
    server.stop().await;
}
