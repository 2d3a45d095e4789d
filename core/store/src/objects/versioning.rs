//! Queries whether the provider keeps deleted and overwritten objects.

use futures::StreamExt;
use object_store::ClientOptions;
use object_store::aws::AmazonS3;
use object_store::client::{HttpClient, HttpConnector, HttpRequestBody, ReqwestConnector};
use object_store::path::Path;
use object_store::signer::{SignedUrlOptions, Signer};
use serde::Deserialize;
use std::time::Duration;

/// An answer is a few hundred bytes.
const MAX_BYTES: usize = 64 << 10;
/// The time after which the answer counts as unknown.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The treatment of deleted and overwritten objects by a provider's bucket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Versioning {
    /// Deleted and overwritten objects are gone.
    Off,
    /// Deleted and overwritten objects are kept, and charged for.
    On,
    /// The store kept versions once, and those that are left are still there.
    Suspended,
    /// The provider does not say.
    Unknown,
}

/// Asks an S3 bucket for its versioning, which `object_store` has no call for.
pub(super) struct VersioningQuery {
    s3: AmazonS3,
    client: HttpClient,
}

#[derive(Deserialize)]
#[serde(rename = "VersioningConfiguration")]
struct Answer {
    #[serde(rename = "Status")]
    status: Option<String>,
}

impl VersioningQuery {
    /// A query for this bucket, over a client with these options.
    pub(super) fn new(s3: AmazonS3, options: &ClientOptions) -> Result<Self, object_store::Error> {
        Ok(VersioningQuery { s3, client: ReqwestConnector::default().connect(options)? })
    }

    /// Sends the query once. After any failure the answer is unknown.
    pub(super) async fn send(&self) -> Versioning {
        match tokio::time::timeout(TIMEOUT, self.answer()).await {
            Ok(Some(answer)) => parse_status(&answer),
            _ => Versioning::Unknown,
        }
    }

    async fn answer(&self) -> Option<Vec<u8>> {
        let query = SignedUrlOptions::default().with_query([("versioning", "")]);
        let url =
            self.s3.signed_url_opts(http::Method::GET, &Path::default(), TIMEOUT * 6, &query).await.ok()?;
        let request = http::Request::get(url.as_str()).body(HttpRequestBody::empty()).ok()?;
        let answer = self.client.execute(request).await.ok()?;
        if answer.status() != http::StatusCode::OK {
            return None;
        }
        let mut body = answer.into_body().bytes_stream();
        let mut bytes = Vec::new();
        while let Some(chunk) = body.next().await {
            bytes.extend_from_slice(&chunk.ok()?);
            if bytes.len() > MAX_BYTES {
                return None;
            }
        }
        Some(bytes)
    }
}

/// Parses an answer. The answer for a bucket that never had versions has no status.
fn parse_status(answer: &[u8]) -> Versioning {
    let text = String::from_utf8_lossy(answer);
    match quick_xml::de::from_str::<Answer>(&text).map(|answer| answer.status) {
        Ok(None) if text.contains("VersioningConfiguration") => Versioning::Off,
        Ok(Some(status)) if status == "Enabled" => Versioning::On,
        Ok(Some(status)) if status == "Suspended" => Versioning::Suspended,
        _ => Versioning::Unknown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_provider_says_is_understood() {
        const S3: &str = "xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"";
        for (answer, expected) in [
            (format!("<VersioningConfiguration {S3}/>"), Versioning::Off),
            (format!("<VersioningConfiguration {S3}></VersioningConfiguration>"), Versioning::Off),
            (
                format!(
                    "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<VersioningConfiguration {S3}>\
                     <Status>Enabled</Status><MfaDelete>Disabled</MfaDelete></VersioningConfiguration>"
                ),
                Versioning::On,
            ),
            (
                "<VersioningConfiguration><Status>Suspended</Status></VersioningConfiguration>".into(),
                Versioning::Suspended,
            ),
            (
                "<VersioningConfiguration><Status>Maybe</Status></VersioningConfiguration>".into(),
                Versioning::Unknown,
            ),
            ("<Error><Code>AccessDenied</Code></Error>".into(), Versioning::Unknown),
            ("".into(), Versioning::Unknown),
            ("<VersioningConfiguration".into(), Versioning::Unknown),
        ] {
            assert_eq!(parse_status(answer.as_bytes()), expected, "{answer}");
        }
    }
}
