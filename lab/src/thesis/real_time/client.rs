//! Clients of S3: of the server behind the link, and of the gateway.

use super::server::ACCESS;
use crate::thesis::error::ThesisError;
use ameles_core::tree::layout::Layout;
use ameles_store::{Objects, OpenOptions};
use bytes::Bytes;
use object_store::ObjectStoreExt;
use object_store::aws::AmazonS3;
use object_store::path::Path;

/// A client of whole objects at the server behind the link.
pub(super) fn object_client(endpoint: &str) -> Result<AmazonS3, ThesisError> {
    ACCESS.client(endpoint).map_err(ThesisError::RealTime)
}

/// The store of a vault at the same server.
pub(super) async fn vault_store(endpoint: &str, layout: Layout) -> Result<Objects, ThesisError> {
    let key = |(name, value): (&str, &str)| (name.to_owned(), value.to_owned());
    let keys = [
        ("endpoint", endpoint),
        ("allow_http", "true"),
        ("region", "us-east-1"),
        ("access_key_id", ACCESS.key),
        ("secret_access_key", ACCESS.secret),
    ];
    let options = OpenOptions { keys: keys.map(key).into(), ..OpenOptions::default() };
    let store = Objects::open(&format!("s3://{}/vault", ACCESS.bucket), &options)
        .await
        .map_err(ThesisError::real_time)?;
    Ok(store.with_layout(layout))
}

/// Puts an object.
pub(super) async fn put(client: &AmazonS3, name: &str, bytes: Vec<u8>) -> Result<(), ThesisError> {
    client.put(&Path::from(name), bytes.into()).await.map(drop).map_err(ThesisError::real_time)
}

/// Gets an object.
pub(super) async fn get(client: &AmazonS3, name: &str) -> Result<Bytes, ThesisError> {
    let found = client.get(&Path::from(name)).await.map_err(ThesisError::real_time)?;
    found.bytes().await.map_err(ThesisError::real_time)
}

/// Asks the server for an object's metadata, and transfers none of its bytes.
pub(super) async fn head(client: &AmazonS3, name: &str) -> Result<(), ThesisError> {
    client.head(&Path::from(name)).await.map(drop).map_err(ThesisError::real_time)
}
