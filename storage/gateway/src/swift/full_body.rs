//! Bodies that are read as a whole before they are used.

use super::refusal::{Outcome, Refusal};
use crate::objects::gateway::Gateway;
use axum::body::Body;
use bytes::Bytes;
use futures::StreamExt;
use http::StatusCode;
use http_body::Body as _;
use std::time::Duration;

/// The maximum time to read a body into memory. The request holds a permit meanwhile, and its sender may not be
/// authenticated yet.
const TIMEOUT: Duration = Duration::from_secs(60);

/// Reads a body of at most this many bytes, with a share of the memory, which the bytes keep.
///
/// # Errors
/// 503 if too little memory is free; the errors of [`whole`].
pub(super) async fn read_in_memory_share(gateway: &Gateway, body: Body, max: usize) -> Outcome<Bytes> {
    let bytes = body.size_hint().exact().unwrap_or(u64::MAX).min(max as u64);
    let share = gateway.inner.memory.take_bytes(bytes)?;
    Ok(share.holding(whole(body, max).await?))
}

/// Reads a body of at most this many bytes.
///
/// # Errors
/// 413 for a longer body; 408 for a body that takes too long; the errors of reading the body.
pub(super) async fn whole(body: Body, max: usize) -> Outcome<Bytes> {
    let too_slow = |_| Refusal::new(StatusCode::REQUEST_TIMEOUT, "The request body did not arrive in time.");
    tokio::time::timeout(TIMEOUT, read_without_timeout(body, max)).await.map_err(too_slow)?
}

async fn read_without_timeout(body: Body, max: usize) -> Outcome<Bytes> {
    let mut pieces = body.into_data_stream();
    let mut bytes = Vec::new();
    while let Some(piece) = pieces.next().await {
        let piece = piece.map_err(|error| crate::Error::Body(error.into()))?;
        if bytes.len() + piece.len() > max {
            return Err(Refusal::too_large(format!("The body may have at most {max} bytes.")));
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes.into())
}
