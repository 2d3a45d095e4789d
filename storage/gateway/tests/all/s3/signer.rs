//! Signatures of versions 4 and 2, computed independently of the crate under test.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use hmac::{Hmac, KeyInit as _, Mac as _};
use sha2::{Digest as _, Sha256};

/// An access key with its secret, and the time and region for which it signs.
#[derive(Clone, Copy)]
pub(crate) struct Signer<'a> {
    pub(crate) access_key: &'a str,
    pub(crate) secret: &'a str,
    /// `20261122T080000Z`.
    pub(crate) date: &'a str,
    pub(crate) region: &'a str,
}

/// The region of signatures in tests for which it does not matter.
pub(crate) const REGION: &str = "us-east-1";

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn sha256(bytes: &[u8]) -> String {
    hex(&Sha256::digest(bytes))
}

fn mac(key: &[u8], text: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("any length");
    mac.update(text);
    mac.finalize().into_bytes().to_vec()
}

/// Encodes names and values of a query as version 4 requires: all bytes but letters, digits and `-_.~`.
pub(crate) fn encode(text: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte);
    text.bytes()
        .map(|byte| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}

impl Signer<'_> {
    pub(crate) fn scope(&self) -> String {
        format!("{}/{}/s3/aws4_request", &self.date[..8], self.region)
    }

    /// The signature of any text.
    pub(crate) fn sign(&self, text: &str) -> String {
        let first = format!("AWS4{}", self.secret).into_bytes();
        let key = [&self.date[..8], self.region, "s3", "aws4_request"]
            .iter()
            .fold(first, |key, part| mac(&key, part.as_bytes()));
        hex(&mac(&key, text.as_bytes()))
    }

    /// The signature of a request: of all its headers, which must be sorted, and of the digest of its body.
    fn request(&self, method: &str, target: &str, headers: &[(String, String)], digest: &str) -> String {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let mut pairs: Vec<String> = query
            .split('&')
            .filter(|pair| !pair.is_empty())
            .map(|pair| if pair.contains('=') { pair.to_owned() } else { format!("{pair}=") })
            .collect();
        pairs.sort();
        let lines: String = headers.iter().map(|(name, value)| format!("{name}:{value}\n")).collect();
        let canonical =
            format!("{method}\n{path}\n{}\n{lines}\n{}\n{digest}", pairs.join("&"), names(headers));
        self.sign(&format!(
            "AWS4-HMAC-SHA256\n{}\n{}\n{}",
            self.date,
            self.scope(),
            sha256(canonical.as_bytes())
        ))
    }

    /// The headers of a request, with a signature that covers them.
    pub(crate) fn headers(
        &self,
        method: &str,
        target: &str,
        host: &str,
        more: &[(&str, &str)],
        body: &[u8],
    ) -> Vec<(String, String)> {
        self.headers_over(method, target, host, more, &sha256(body))
    }

    /// Does the same as `headers` for a body with this digest, or for a word in its place.
    pub(crate) fn headers_over(
        &self,
        method: &str,
        target: &str,
        host: &str,
        more: &[(&str, &str)],
        digest: &str,
    ) -> Vec<(String, String)> {
        let mut headers: Vec<(String, String)> =
            [("host", host), ("x-amz-content-sha256", digest), ("x-amz-date", self.date)]
                .iter()
                .chain(more)
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
                .collect();
        headers.sort();
        let signature = self.request(method, target, &headers, digest);
        let authorization = format!(
            "AWS4-HMAC-SHA256 Credential={}/{}, SignedHeaders={}, Signature={signature}",
            self.access_key,
            self.scope(),
            names(&headers)
        );
        headers.push(("authorization".into(), authorization));
        headers
    }

    /// A target with a signature that is valid for this many seconds, for these headers.
    pub(crate) fn presign(
        &self,
        method: &str,
        target: &str,
        host: &str,
        more: &[(&str, &str)],
        seconds: u32,
    ) -> String {
        let mut headers: Vec<(String, String)> = [("host", host)]
            .iter()
            .chain(more)
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()))
            .collect();
        headers.sort();
        let separator = if target.contains('?') { '&' } else { '?' };
        let unsigned = format!(
            "{target}{separator}X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential={}&X-Amz-Date={}&X-Amz-Expires={seconds}&\
             X-Amz-SignedHeaders={}",
            encode(&format!("{}/{}", self.access_key, self.scope())),
            self.date,
            encode(&names(&headers))
        );
        let signature = self.request(method, &unsigned, &headers, "UNSIGNED-PAYLOAD");
        format!("{unsigned}&X-Amz-Signature={signature}")
    }
}

/// The parameters of a query that version 2 signs. Contains only those that tests use.
pub(crate) const SIGNED_BY_VERSION_2: [&str; 20] = [
    "accelerate",
    "acl",
    "cors",
    "delete",
    "lifecycle",
    "location",
    "logging",
    "notification",
    "object-lock",
    "partNumber",
    "policy",
    "replication",
    "requestPayment",
    "response-content-type",
    "tagging",
    "uploadId",
    "uploads",
    "versioning",
    "versions",
    "website",
];

/// The signature of version 2 of any text.
pub(crate) fn sign_with_version_2(secret: &str, text: &str) -> String {
    let mut mac = Hmac::<sha1::Sha1>::new_from_slice(secret.as_bytes()).expect("any length");
    mac.update(text.as_bytes());
    BASE64.encode(mac.finalize().into_bytes())
}

impl Signer<'_> {
    /// A target with a signature of version 2 that is valid until this second, for these headers.
    pub(crate) fn presign_with_version_2(
        &self,
        method: &str,
        target: &str,
        headers: &[(&str, &str)],
        expires: i64,
    ) -> String {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let header =
            |name: &str| headers.iter().find(|(known, _)| *known == name).map_or("", |(_, value)| *value);
        let mut own: Vec<String> = headers
            .iter()
            .filter(|(name, _)| name.starts_with("x-amz-"))
            .map(|(name, value)| format!("{name}:{value}\n"))
            .collect();
        own.sort();
        let mut signed: Vec<&str> = query
            .split('&')
            .filter(|pair| SIGNED_BY_VERSION_2.contains(&pair.split('=').next().unwrap_or_default()))
            .collect();
        signed.sort_unstable();
        let resource =
            if signed.is_empty() { path.to_owned() } else { format!("{path}?{}", signed.join("&")) };
        let text = format!(
            "{method}\n{}\n{}\n{expires}\n{}{resource}",
            header("content-md5"),
            header("content-type"),
            own.concat()
        );
        let separator = if target.contains('?') { '&' } else { '?' };
        let signature = encode(&sign_with_version_2(self.secret, &text));
        format!(
            "{target}{separator}AWSAccessKeyId={}&Expires={expires}&Signature={signature}",
            self.access_key
        )
    }
}

fn names(headers: &[(String, String)]) -> String {
    headers.iter().map(|(name, _)| &**name).collect::<Vec<_>>().join(";")
}
