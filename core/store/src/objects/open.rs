//! Opens a store from a location as users write it; errors say what to do.

use super::config_check::Checked;
use super::failure;
use super::folder::{Folder, blocking, sync_folder};
use super::open_error::OpenError;
use super::open_options::OpenOptions;
use super::shared::Shared;
use super::versioning::VersioningQuery;
use crate::tls::install_tls_provider;
use object_store::aws::{AmazonS3, AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::{AzureConfigKey, MicrosoftAzureBuilder};
use object_store::gcp::{GoogleCloudStorageBuilder, GoogleConfigKey};
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Semaphore;
use url::Url;

/// The meaning of a location.
#[derive(Debug, PartialEq, Eq)]
enum Location {
    Folder(PathBuf),
    Memory,
    Cloud(Cloud, Url),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Cloud {
    S3,
    Google,
    Azure,
}

impl Location {
    fn parse(location: &str) -> Result<Self, OpenError> {
        let bad = |why: String| OpenError::BadLocation { location: without_password(location), why };
        if location.is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        let has_scheme =
            location.contains("://") || location.starts_with("memory:") || location.starts_with("file:");
        if !has_scheme {
            return Ok(Location::Folder(location.into()));
        }
        let url = Url::parse(location).map_err(|error| bad(error.to_string()))?;
        let cloud = match url.scheme() {
            "file" => {
                let path = url.to_file_path();
                return Ok(Location::Folder(path.map_err(|()| {
                    bad("a file URL has three slashes before an absolute path".to_owned())
                })?));
            }
            "memory" => return Ok(Location::Memory),
            "s3" | "s3a" => Cloud::S3,
            "gs" => Cloud::Google,
            "az" | "azure" | "abfs" | "abfss" => Cloud::Azure,
            scheme => {
                return Err(OpenError::UnknownScheme { scheme: scheme.to_owned() });
            }
        };
        if url.host_str().is_none_or(str::is_empty) {
            return Err(bad("it names no bucket after the two slashes".to_owned()));
        }
        if url.password().is_some() || url.query().is_some() {
            return Err(bad("credentials and options do not belong into it".to_owned()));
        }
        Ok(Location::Cloud(cloud, url))
    }
}

/// Returns the folder that a location names, if it names one.
pub fn folder_of(location: &str) -> Option<PathBuf> {
    match Location::parse(location) {
        Ok(Location::Folder(folder)) => Some(folder),
        Ok(Location::Memory | Location::Cloud(..)) | Err(_) => None,
    }
}

/// The location without the parts that may be a secret.
fn without_password(location: &str) -> String {
    match Url::parse(location) {
        Ok(mut url) => {
            let _ = url.set_password(None);
            url.set_query(None);
            url.into()
        }
        Err(_) => location.to_owned(),
    }
}

pub(super) async fn open(location: &str, options: &OpenOptions) -> Result<Shared, OpenError> {
    let in_flight = Semaphore::new(options.in_flight.clamp(1, Semaphore::MAX_PERMITS));
    match Location::parse(location)? {
        Location::Folder(path) => {
            no_options(options, "folder")?;
            let store: Arc<dyn ObjectStore> = Arc::new(open_folder(&path, options.create).await?);
            let root = std::fs::canonicalize(&path).map_err(|error| folder_error(&path, error))?;
            Ok(Shared {
                once: store.clone(),
                store,
                prefix: Path::default(),
                folder: Some(Folder::new(root)),
                versioning: None,
                in_flight,
            })
        }
        Location::Memory => {
            no_options(options, "memory:")?;
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            let once = store.clone();
            Ok(Shared { once, store, prefix: Path::default(), folder: None, versioning: None, in_flight })
        }
        Location::Cloud(cloud, url) => {
            install_tls_provider();
            let prefix = Path::from_url_path(url.path()).map_err(|error| OpenError::BadLocation {
                location: without_password(location),
                why: error.to_string(),
            })?;
            let shared = Shared {
                store: connect(cloud, &url, options, RETRIES)?,
                once: connect(cloud, &url, options, 0)?,
                prefix,
                folder: None,
                versioning: versioning_query(cloud, &url, options),
                in_flight,
            };
            check_plain_http(cloud, options)?;
            check_reachable(&shared, &url, cloud == Cloud::S3 && lacks_access_key(options)).await?;
            Ok(shared)
        }
    }
}

fn no_options(options: &OpenOptions, kind: &'static str) -> Result<(), OpenError> {
    match options.keys.keys().next() {
        Some(key) => Err(OpenError::UnknownOption { key: key.clone(), kind }),
        None => Ok(()),
    }
}

fn folder_error(
    path: &std::path::Path,
    source: impl Into<Box<dyn std::error::Error + Send + Sync>>,
) -> OpenError {
    OpenError::Folder { path: path.to_owned(), source: source.into() }
}

async fn open_folder(path: &std::path::Path, create: bool) -> Result<LocalFileSystem, OpenError> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => {}
        Ok(_) => {
            return Err(OpenError::NotAFolder { path: path.to_owned() });
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            if !create {
                return Err(OpenError::NoFolder { path: path.to_owned() });
            }
            let made = path.to_owned();
            blocking(move || create_durably(&made)).await.map_err(|error| folder_error(path, error))?;
        }
        Err(error) => return Err(folder_error(path, error)),
    }
    let files = LocalFileSystem::new_with_prefix(path).map_err(|error| folder_error(path, error))?;
    Ok(files.with_fsync(true))
}

/// Makes the folder and those above it that are missing, each durable.
fn create_durably(path: &std::path::Path) -> std::io::Result<()> {
    let path = std::path::absolute(path)?;
    let missing: Vec<_> = path.ancestors().take_while(|folder| !folder.exists()).collect();
    std::fs::create_dir_all(&path)?;
    missing.iter().filter_map(|folder| folder.parent()).try_for_each(sync_folder)
}

/// The number of times that an HTTP request is repeated before its call fails.
const RETRIES: usize = 3;

fn retries(max: usize) -> RetryConfig {
    RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(2),
            base: 2.0,
        },
        max_retries: max,
        retry_timeout: Duration::from_secs(30),
    }
}

/// Sets all options on a provider's builder; the first one that is unknown is an error.
fn set_keys<B, K: std::str::FromStr>(
    builder: B,
    options: &OpenOptions,
    kind: &'static str,
    set: impl Fn(B, K, &str) -> B,
) -> Result<B, OpenError> {
    options.keys.iter().try_fold(builder, |builder, (key, value)| {
        let unknown = |_| OpenError::UnknownOption { key: key.clone(), kind };
        let parsed = key.to_ascii_lowercase().parse().map_err(unknown)?;
        Ok(set(builder, parsed, value))
    })
}

/// The query for the bucket's versioning, if it is one of S3.
fn versioning_query(cloud: Cloud, url: &Url, options: &OpenOptions) -> Option<VersioningQuery> {
    if cloud != Cloud::S3 {
        return None;
    }
    let s3 = s3(url, options, 0).ok()?;
    // The choice of plain HTTP was made when the store itself was opened.
    let mut client = ClientOptions::new().with_allow_http(true);
    for (key, value) in &options.keys {
        if let Ok(AmazonS3ConfigKey::Client(key)) = key.to_ascii_lowercase().parse() {
            client = client.with_config(key, value);
        }
    }
    VersioningQuery::new(s3, &client.with_allow_http(true)).ok()
}

/// Builds a provider's store: its builder, the type of its keys, the URL's scheme, and the parameters.
macro_rules! build {
    ($builder:ident, $key:ident, $scheme:literal, $url:expr, $options:expr, $again:expr) => {{
        let set = |builder: $builder, key: $key, value: &str| builder.with_config(key, value);
        let builder = set_keys($builder::from_env(), $options, $scheme, set)?.checked($options)?;
        builder.with_url($url.as_str()).with_retry(retries($again)).build().map_err(OpenError::Options)
    }};
}

/// The options, where an endpoint is also that of S3. Otherwise the variable `AWS_ENDPOINT_URL_S3` would replace it.
fn with_s3_endpoint(options: &OpenOptions) -> OpenOptions {
    let value_of = |wanted: AmazonS3ConfigKey| {
        let is_wanted =
            |name: &str| name.to_ascii_lowercase().parse().is_ok_and(|key: AmazonS3ConfigKey| key == wanted);
        // Of several names of one value, the last one counts.
        options.keys.iter().rev().find(|(name, _)| is_wanted(name)).map(|(_, value)| value.clone())
    };
    let mut options = options.clone();
    if let (Some(endpoint), None) =
        (value_of(AmazonS3ConfigKey::Endpoint), value_of(AmazonS3ConfigKey::S3Endpoint))
    {
        options.keys.insert(AmazonS3ConfigKey::S3Endpoint.as_ref().to_owned(), endpoint);
    }
    options
}

fn s3(url: &Url, options: &OpenOptions, again: usize) -> Result<AmazonS3, OpenError> {
    let options = with_s3_endpoint(options);
    build!(AmazonS3Builder, AmazonS3ConfigKey, "s3://", url, &options, again)
}

fn connect(
    cloud: Cloud,
    url: &Url,
    options: &OpenOptions,
    again: usize,
) -> Result<Arc<dyn ObjectStore>, OpenError> {
    Ok(match cloud {
        Cloud::S3 => Arc::new(s3(url, options, again)?),
        Cloud::Google => {
            Arc::new(build!(GoogleCloudStorageBuilder, GoogleConfigKey, "gs://", url, options, again)?)
        }
        Cloud::Azure => {
            Arc::new(build!(MicrosoftAzureBuilder, AzureConfigKey, "az://", url, options, again)?)
        }
    })
}

/// Reports a mistake early that would otherwise show as a connection error.
fn check_plain_http(cloud: Cloud, options: &OpenOptions) -> Result<(), OpenError> {
    let plain = |value: &String| value.trim_start().to_ascii_lowercase().starts_with("http://");
    let named = |wanted: &[&str]| {
        let found = options.keys.iter().find(|(key, _)| wanted.contains(&key.to_ascii_lowercase().as_str()));
        found.map(|(_, value)| value.clone())
    };
    let endpoint = named(&["endpoint", "endpoint_url", "aws_endpoint", "aws_endpoint_url"]);
    let allowed = named(&["allow_http", "aws_allow_http"]).or_else(|| std::env::var("AWS_ALLOW_HTTP").ok());
    match (cloud, endpoint, allowed) {
        (Cloud::S3, Some(endpoint), None) if plain(&endpoint) => Err(OpenError::PlainHttp),
        _ => Ok(()),
    }
}

/// Returns true if neither the options nor the environment have an access key of S3, and requests are signed. Then only
/// a role of this machine can give one.
fn lacks_access_key(options: &OpenOptions) -> bool {
    let set = |builder: AmazonS3Builder, key, value: &str| builder.with_config(key, value);
    set_keys(AmazonS3Builder::from_env(), options, "s3://", set).is_ok_and(|builder| {
        let is = |key, wanted: Option<&str>| builder.get_config_value(&key).as_deref() == wanted;
        is(AmazonS3ConfigKey::AccessKeyId, None) && !is(AmazonS3ConfigKey::SkipSignature, Some("true"))
    })
}

/// Sends a list request of at most one page, which fails if the bucket, the credentials or the network are wrong.
async fn check_reachable(shared: &Shared, url: &Url, lacks_key: bool) -> Result<(), OpenError> {
    let Err(source) = shared.store.list_with_delimiter(Some(&shared.prefix)).await else {
        return Ok(());
    };
    let bucket = match url.username() {
        "" => url.host_str().unwrap_or_default(),
        container => container,
    };
    let bucket = bucket.to_owned();
    let status = failure::http_status(&source);
    Err(match (&source, status) {
        (object_store::Error::NotFound { .. }, _) | (_, Some(404)) => OpenError::NoBucket { bucket },
        _ if lacks_key => OpenError::NoAccessKey { bucket, why: failure::root(&source) },
        (object_store::Error::PermissionDenied { .. } | object_store::Error::Unauthenticated { .. }, _)
        | (_, Some(401 | 403)) => OpenError::Denied {
            bucket,
            answer: failure::provider_code(&source)
                .unwrap_or_else(|| format!("HTTP {}", status.unwrap_or(403))),
        },
        _ => OpenError::Unreachable { why: failure::root(&source), error: Box::new(source) },
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    #[test]
    fn a_location_is_read_as_people_write_it() {
        let folder = |path: &str| Location::Folder(path.into());
        assert_eq!(Location::parse("./data/store").unwrap(), folder("./data/store"));
        assert_eq!(Location::parse("file:///a/b%20c").unwrap(), folder("/a/b c"));
        assert_eq!(Location::parse("memory:").unwrap(), Location::Memory);
        for (location, cloud) in [
            ("s3://bucket/some/prefix", Cloud::S3),
            ("gs://bucket", Cloud::Google),
            ("az://container/x", Cloud::Azure),
        ] {
            let url = Url::parse(location).unwrap();
            assert_eq!(Location::parse(location).unwrap(), Location::Cloud(cloud, url));
        }
    }

    #[test]
    fn an_endpoint_that_is_given_replaces_every_one_of_the_environment() {
        let endpoint_of = |given: &[(&str, &str)]| {
            let keys = given.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
            let options = with_s3_endpoint(&OpenOptions { keys, ..OpenOptions::default() });
            // As the variables AWS_ENDPOINT_URL and AWS_ENDPOINT_URL_S3 set it.
            let environment = AmazonS3Builder::new()
                .with_endpoint("http://any")
                .with_config(AmazonS3ConfigKey::S3Endpoint, "http://s3");
            let set = |builder: AmazonS3Builder, key, value: &str| builder.with_config(key, value);
            let builder = set_keys(environment, &options, "s3://", set).unwrap();
            // `object_store` prefers this one.
            builder.get_config_value(&AmazonS3ConfigKey::S3Endpoint).unwrap()
        };
        for name in ["endpoint", "AWS_ENDPOINT", "endpoint_url", "aws_endpoint_url", "aws_endpoint_url_s3"] {
            assert_eq!(endpoint_of(&[(name, "http://given")]), "http://given", "{name}");
        }
        let both = [("endpoint", "http://given"), ("aws_endpoint_url_s3", "http://given.s3")];
        assert_eq!(endpoint_of(&both), "http://given.s3");
        assert_eq!(endpoint_of(&[]), "http://s3");
    }

    #[test]
    fn only_a_folder_has_a_path() {
        assert_eq!(folder_of("file:///a/b%20c"), Some("/a/b c".into()));
        for other in ["s3://bucket/prefix", "memory:", "ftp://host/x"] {
            assert_eq!(folder_of(other), None, "{other}");
        }
    }

    #[test]
    fn a_location_that_means_nothing_is_refused_by_name() {
        assert!(matches!(Location::parse(""), Err(OpenError::BadLocation { .. })));
        assert!(matches!(Location::parse("s3:///prefix"), Err(OpenError::BadLocation { .. })));
        let unknown = Location::parse("ftp://host/x").unwrap_err();
        assert!(matches!(unknown, OpenError::UnknownScheme { scheme } if scheme == "ftp"));
    }

    #[test]
    fn a_password_in_a_location_is_refused_and_not_shown() {
        let error = Location::parse("s3://user:hunter2@bucket/x?secret=hunter2").unwrap_err();
        assert!(!error.to_string().contains("hunter2"), "{error}");
    }

    #[test]
    fn options_show_their_names_and_not_their_values() {
        let mut options = OpenOptions::default();
        options.keys.insert("secret_access_key".to_owned(), "hunter2".to_owned());
        let shown = format!("{options:?}");
        assert!(shown.contains("secret_access_key") && !shown.contains("hunter2"), "{shown}");
    }

    #[tokio::test]
    async fn an_unknown_option_and_plain_http_are_told_before_anything_is_sent() {
        let with = |key: &str, value: &str| OpenOptions {
            keys: BTreeMap::from([(key.to_owned(), value.to_owned())]),
            ..OpenOptions::default()
        };
        let unknown = open("s3://bucket", &with("endpiont", "x")).await.err().unwrap();
        assert!(matches!(unknown, OpenError::UnknownOption { key, .. } if key == "endpiont"));
        let unknown = open("memory:", &with("region", "x")).await.err().unwrap();
        assert!(matches!(unknown, OpenError::UnknownOption { .. }));
        let plain = open("s3://bucket", &with("endpoint", "http://127.0.0.1:1")).await.err().unwrap();
        assert!(matches!(plain, OpenError::PlainHttp));
    }

    #[tokio::test]
    async fn a_missing_folder_is_told_and_made_only_when_asked_for() {
        let home = tempfile::tempdir().unwrap();
        let path = home.path().join("a/b");
        let location = path.to_str().unwrap();
        let mut options = OpenOptions::default();
        let missing = open(location, &options).await.err().unwrap();
        assert!(matches!(missing, OpenError::NoFolder { .. }));
        assert!(!path.exists());
        options.create = true;
        assert!(open(location, &options).await.is_ok());
        assert!(path.is_dir());
        let file = home.path().join("file");
        std::fs::write(&file, "x").unwrap();
        let not = open(file.to_str().unwrap(), &options).await.err().unwrap();
        assert!(matches!(not, OpenError::NotAFolder { .. }));
    }

    #[tokio::test]
    async fn an_endpoint_where_nobody_listens_is_told_as_such() {
        // Bound and closed again, so that nothing listens there.
        let port = std::net::TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let keys = [
            ("endpoint", format!("http://127.0.0.1:{port}")),
            ("allow_http", "true".to_owned()),
            ("access_key_id", "a".to_owned()),
            ("secret_access_key", "hunter2".to_owned()),
        ];
        let options = OpenOptions {
            keys: keys.map(|(key, value)| (key.to_owned(), value)).into(),
            ..OpenOptions::default()
        };
        let error = open("s3://bucket/prefix", &options).await.err().unwrap();
        assert!(matches!(error, OpenError::Unreachable { .. }), "{error:?}");
        assert!(error.to_string().contains("refused"), "{error}");
        assert!(!format!("{error:?}").contains("hunter2"), "{error:?}");
    }

    #[tokio::test]
    async fn files_are_opened_with_sync_on() {
        let home = tempfile::tempdir().unwrap();
        let files = open_folder(home.path(), false).await.unwrap();
        assert!(format!("{files:?}").contains("fsync: true"), "{files:?}");
    }
}
