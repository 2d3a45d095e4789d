//! Regions: any name, or only the one that the gateway is set to.

use super::signer::{REGION, Signer};
use super::test_server::{TestServer, keys, now};
use crate::raw::Answer;

/// The body of a request for a bucket in this region.
pub(super) fn configuration(place: &str) -> String {
    format!(
        "<CreateBucketConfiguration><LocationConstraint>{place}</LocationConstraint></CreateBucketConfiguration>"
    )
}

async fn ask(server: &TestServer, region: &str, method: &str, target: &str, body: &str) -> Answer {
    let date = now();
    let signer = Signer { access_key: keys::OWNER, secret: "owner-secret", date: &date, region };
    let headers = signer.headers(method, target, &server.host(), &[], body.as_bytes());
    server.raw(method, target, &headers, body.as_bytes()).await
}

#[tokio::test]
async fn a_refusal_of_another_region_names_the_right_one() {
    let server = TestServer::start_in("eu-west-3").await;
    ask(&server, "eu-west-3", "PUT", "/bucket", "").await.expect("200");
    let wrong =
        ask(&server, "us-east-1", "GET", "/bucket", "").await.expect("400 AuthorizationHeaderMalformed");
    assert_eq!(
        (wrong.element("Region"), wrong.header("x-amz-bucket-region")),
        (Some("eu-west-3"), Some("eu-west-3"))
    );
    let message = "The authorization header is malformed; the region &apos;us-east-1&apos; is wrong; expecting &apos;eu-west-3&apos;";
    assert_eq!(wrong.element("Message"), Some(message));
    // An answer to HEAD has no body: clients read the header.
    let head = ask(&server, "us-east-1", "HEAD", "/bucket", "").await;
    assert_eq!((head.status, head.header("x-amz-bucket-region")), (400, Some("eu-west-3")));
    let date = now();
    let signer = Signer { access_key: keys::OWNER, secret: "owner-secret", date: &date, region: REGION };
    let target = signer.presign("GET", "/bucket", &server.host(), &[], 60);
    let url = server.unsigned("GET", &target, &[], b"").await.expect("400 AuthorizationQueryParametersError");
    assert_eq!(url.element("Region"), Some("eu-west-3"));
    // An answer to another error names no region.
    let missing = ask(&server, "eu-west-3", "GET", "/none", "").await;
    assert_eq!((missing.verdict().as_str(), missing.element("Region")), ("404 NoSuchBucket", None));
    server.stop().await;
}

#[tokio::test]
async fn all_buckets_are_in_the_region_that_the_gateway_is_set_to() {
    let server = TestServer::start_in("RegionOne").await;
    let here = async |method, target: &str, body: &str| ask(&server, "RegionOne", method, target, body).await;
    here("PUT", "/named", &configuration("RegionOne")).await.expect("200");
    here("PUT", "/unnamed", "").await.expect("200");
    here("PUT", "/elsewhere", &configuration("eu-west-3")).await.expect("400 InvalidLocationConstraint");
    for bucket in ["/named", "/unnamed"] {
        assert_eq!(here("HEAD", bucket, "").await.header("x-amz-bucket-region"), Some("RegionOne"));
        let location = here("GET", &format!("{bucket}?location="), "").await;
        assert!(location.text().contains(">RegionOne</LocationConstraint>"), "{}", location.text());
    }
    server.stop().await;
}
