//! Checks of a provider's configuration: `object_store` panics on addresses and header values that no request can have.

use super::open_error::OpenError;
use super::open_options::OpenOptions;
use http::{HeaderValue, Uri};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use std::str::FromStr;
use url::Url;

/// A provider's builder, of which some values become addresses, and others parts of header lines.
pub(super) trait Checked: Sized {
    /// The names of values.
    type Key: FromStr + PartialEq + AsRef<str> + 'static;
    /// The values that are addresses of servers.
    const ADDRESSES: &'static [Self::Key];
    /// The values that become parts of header lines.
    const HEADERS: &'static [Self::Key];

    /// Returns a value.
    fn value(&self, key: &Self::Key) -> Option<String>;

    /// Returns the builder if all its values can be sent. `options` and the environment have given them.
    ///
    /// # Errors
    /// [`OpenError::BadEndpoint`], [`OpenError::BadValue`].
    fn checked(self, options: &OpenOptions) -> Result<Self, OpenError> {
        for key in Self::ADDRESSES {
            if let Some(endpoint) = self.value(key).filter(|text| !is_address(text)) {
                let endpoint = without_user(&endpoint).escape_debug().to_string();
                return Err(OpenError::BadEndpoint { given_by: given_by(key, options), endpoint });
            }
        }
        for key in Self::HEADERS {
            if self.value(key).is_some_and(|text| HeaderValue::from_str(&text).is_err()) {
                return Err(OpenError::BadValue { given_by: given_by(key, options) });
            }
        }
        Ok(self)
    }
}

impl Checked for AmazonS3Builder {
    type Key = AmazonS3ConfigKey;
    const ADDRESSES: &'static [Self::Key] = &[
        AmazonS3ConfigKey::Endpoint,
        AmazonS3ConfigKey::S3Endpoint,
        AmazonS3ConfigKey::MetadataEndpoint,
        AmazonS3ConfigKey::StsEndpoint,
    ];
    const HEADERS: &'static [Self::Key] =
        &[AmazonS3ConfigKey::AccessKeyId, AmazonS3ConfigKey::Token, AmazonS3ConfigKey::Region];

    fn value(&self, key: &Self::Key) -> Option<String> {
        self.get_config_value(key)
    }
}

impl Checked for GoogleCloudStorageBuilder {
    type Key = GoogleConfigKey;
    const ADDRESSES: &'static [Self::Key] = &[GoogleConfigKey::BaseUrl];
    const HEADERS: &'static [Self::Key] = &[];

    fn value(&self, key: &Self::Key) -> Option<String> {
        self.get_config_value(key)
    }
}

impl Checked for MicrosoftAzureBuilder {
    type Key = AzureConfigKey;
    const ADDRESSES: &'static [Self::Key] = &[AzureConfigKey::Endpoint];
    const HEADERS: &'static [Self::Key] = &[AzureConfigKey::Token];

    fn value(&self, key: &Self::Key) -> Option<String> {
        self.get_config_value(key)
    }
}

/// Returns true if requests can go to this address.
fn is_address(text: &str) -> bool {
    let Some((scheme, rest)) = text.split_once("://") else { return false };
    let is_http = ["http", "https"].iter().any(|http| scheme.eq_ignore_ascii_case(http));
    // `Url` skips further slashes before a host; `Uri`, which a request has, does not.
    let has_host = !rest.is_empty() && !rest.starts_with('/') && !text.contains(['?', '#', '@']);
    is_http && has_host && Url::parse(text).is_ok() && Uri::from_str(text).is_ok()
}

/// The address without a user and a password.
fn without_user(text: &str) -> String {
    text.rsplit_once('@').map_or_else(|| text.to_owned(), |(_, host)| format!("…@{host}"))
}

/// The option that has given a value, or else the variable of the environment.
fn given_by<K: FromStr + PartialEq + AsRef<str>>(key: &K, options: &OpenOptions) -> String {
    let is_key = |name: &str| name.to_ascii_lowercase().parse().is_ok_and(|named: K| named == *key);
    // Of several names of one value, the last one counts.
    if let Some(option) = options.keys.keys().rev().find(|name| is_key(name)) {
        return option.clone();
    }
    let variable = key.as_ref().to_ascii_uppercase();
    let provider = variable.split_inclusive('_').next().unwrap_or_default();
    let mut set = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok());
    set.find(|name| name.starts_with(provider) && is_key(name)).unwrap_or(variable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_a_scheme_and_a_host_that_requests_can_have() {
        for good in ["http://127.0.0.1:7070", "https://s3.example.org/", "http://[::1]:9000", "HTTP://h/path"]
        {
            assert!(is_address(good), "{good}");
        }
        for bad in [
            "",
            "127.0.0.1:7070",
            "localhost:9000",
            "http://",
            "http:///x",
            "://",
            "http://a b",
            "http://[::1",
            "http://127.0.0.1:99999",
            "ftp://x.y",
            "http://ü.example",
            "http://user:hunter2@host",
            "http://host/?query",
            "http://host\n",
        ] {
            assert!(!is_address(bad), "{bad}");
        }
    }

    fn with(key: &str, value: &str) -> OpenOptions {
        OpenOptions { keys: [(key.to_owned(), value.to_owned())].into(), ..OpenOptions::default() }
    }

    #[test]
    fn the_option_of_a_bad_value_is_named_and_no_secret_is_shown() {
        let builder = AmazonS3Builder::new();
        let endpoint = "http://user:hunter2@h:99999";
        let bad =
            builder.clone().with_endpoint(endpoint).checked(&with("endpoint_url", endpoint)).unwrap_err();
        assert!(matches!(&bad, OpenError::BadEndpoint { given_by, .. } if given_by == "endpoint_url"));
        assert!(!bad.to_string().contains("hunter2"), "{bad}");
        let key = "AKIA\nhunter2";
        let bad = builder.clone().with_access_key_id(key).checked(&with("access_key_id", key)).unwrap_err();
        assert!(matches!(&bad, OpenError::BadValue { given_by } if given_by == "access_key_id"));
        assert!(!bad.to_string().contains("hunter2"), "{bad}");
        let unnamed = builder.with_endpoint("x").checked(&OpenOptions::default()).unwrap_err();
        assert!(matches!(&unnamed, OpenError::BadEndpoint { given_by, .. } if given_by.starts_with("AWS_")));
        assert!(AmazonS3Builder::new().checked(&OpenOptions::default()).is_ok());
    }
}
