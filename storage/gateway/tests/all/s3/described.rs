//! Facts of a bucket, an object or an upload that the gateway stores and returns, and that change nothing else.

use super::regions::configuration;
use super::test_server::{PREFERRED, TestServer, keys};

#[tokio::test]
async fn a_storage_class_is_stored_and_returned_wherever_s3_returns_it() {
    let server = TestServer::with_bucket(&[PREFERRED]).await;
    let class = ("x-amz-storage-class", "STANDARD_IA");
    server.ask("PUT", "/bucket/key", &[class], b"body").await.expect("200");
    let server = server.restart().await;
    for method in ["HEAD", "GET"] {
        let got = server.ask(method, "/bucket/key", &[], b"").await;
        assert_eq!(got.header("x-amz-storage-class"), Some("STANDARD_IA"));
    }
    for list in ["/bucket", "/bucket?list-type=2", "/bucket?versions="] {
        let listed = server.get(list).await;
        assert_eq!(listed.element("StorageClass"), Some("STANDARD_IA"), "{list}");
    }
    let wanted = [("x-amz-object-attributes", "StorageClass")];
    let returned = server.ask("GET", "/bucket/key?attributes=", &wanted, b"").await;
    assert_eq!(returned.element("StorageClass"), Some("STANDARD_IA"));

    // A copy has the storage class of its request, and may change that of the object itself.
    let copy = async |target: &str, headers: &[(&str, &str)]| {
        let headers: Vec<_> = headers.iter().copied().chain([("x-amz-copy-source", "/bucket/key")]).collect();
        assert_eq!(server.ask("PUT", target, &headers, b"").await.verdict(), "200", "{target}");
        let head = server.head(target).await;
        head.header("x-amz-storage-class").map(str::to_owned)
    };
    assert_eq!(copy("/bucket/plain", &[]).await, None);
    assert_eq!(
        copy("/bucket/other", &[("x-amz-storage-class", "GLACIER_IR")]).await.as_deref(),
        Some("GLACIER_IR")
    );
    assert_eq!(copy("/bucket/key", &[("x-amz-storage-class", "STANDARD")]).await, None);

    let started = server.ask("POST", "/bucket/parts?uploads=", &[class], b"").await;
    let id = started.element("UploadId").expect("begun");
    for target in ["/bucket?uploads=", &format!("/bucket/parts?uploadId={id}")] {
        let listed = server.get(target).await;
        assert_eq!(listed.element("StorageClass"), Some("STANDARD_IA"), "{target}");
    }
    let unknown = [("x-amz-storage-class", "SNOW")];
    server.ask("PUT", "/bucket/key", &unknown, b"").await.expect("400 InvalidStorageClass");
    server.stop().await;
}

#[tokio::test]
async fn an_upload_names_who_began_it() {
    let server = TestServer::with_bucket(&[PREFERRED]).await;
    let acl = [("x-amz-acl", "public-read-write")];
    server.ask("PUT", "/bucket?acl=", &acl, b"").await.expect("200");
    for (key, id, name) in [
        (Some(keys::OWNER), "ameles", "ameles"),
        (Some(keys::MEMBER), "ameles/member", "member"),
        (Some(keys::OTHER_OWNER), "elsewhere", "elsewhere"),
        (None, "anonymous", "anonymous"),
    ] {
        let started = match key {
            Some(key) => server.send(key, "POST", "/bucket/key?uploads=", &[], b"").await,
            None => server.unsigned("POST", "/bucket/key?uploads=", &[], b"").await,
        };
        let upload = started.element("UploadId").expect("begun");
        let upload_target = format!("/bucket/key?uploadId={upload}");
        for target in [&*upload_target, "/bucket?uploads="] {
            let listed = server.get(target).await;
            let initiator = listed.element("Initiator").expect("named");
            assert!(initiator.contains(&format!("<DisplayName>{name}</DisplayName>")), "{initiator}");
            assert!(initiator.contains(&format!("<ID>{id}</ID>")), "{initiator}");
            assert!(listed.element("Owner").expect("named").contains("<ID>ameles</ID>"));
        }
        server.delete(&upload_target).await.expect("204");
    }
    server.stop().await;
}

#[tokio::test]
async fn a_bucket_is_in_the_region_that_it_was_made_in() {
    let server = TestServer::start().await;
    let make = async |bucket: &str, region: &str| {
        let body = if region.is_empty() { String::new() } else { configuration(region) };
        server.put(&format!("/{bucket}"), body.as_bytes()).await.verdict()
    };
    assert_eq!(make("far", "eu-west-3").await, "200");
    assert_eq!(make("near", "").await, "200");
    assert_eq!(make("nowhere", "No Place").await, "400 InvalidLocationConstraint");
    for (bucket, region) in [("cloud", "RegionOne"), ("old", "US"), ("center", "dc_2")] {
        assert_eq!(make(bucket, region).await, "200", "{region}");
    }
    let server = server.restart().await;
    for (bucket, region, returned) in [
        ("far", "eu-west-3", Some("eu-west-3")),
        ("near", "us-east-1", None),
        ("cloud", "RegionOne", Some("RegionOne")),
    ] {
        let head = server.head(&format!("/{bucket}")).await;
        assert_eq!(head.header("x-amz-bucket-region"), Some(region));
        let location = server.get(&format!("/{bucket}?location=")).await;
        let returned = returned.map(|returned| format!(">{returned}</LocationConstraint>"));
        assert!(
            location.text().contains(returned.as_deref().unwrap_or("></LocationConstraint>")),
            "{}",
            location.text()
        );
        let listed = server.get(&format!("/?bucket-region={region}")).await;
        assert_eq!(listed.text().matches("<Bucket>").count(), 1, "{}", listed.text());
        assert_eq!((listed.element("Name"), listed.element("BucketRegion")), (Some(bucket), Some(region)));
    }
    server.stop().await;
}
