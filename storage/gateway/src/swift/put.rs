//! The verb that puts an object.

use super::answer::empty;
use super::conditions;
use super::dates::http_date;
use super::describe::{details, guess_type};
use super::manifest;
use super::metadata::put as put_header;
use super::refusal::{Outcome, Refusal};
use super::{Swift, VerbContext};
use crate::auth::rights::Action;
use crate::catalogue::Object;
use crate::error::Error;
use crate::objects::account::Account;
use crate::objects::writer::Written;
use axum::body::Body;
use base16ct::lower::encode_string as hex;
use futures::StreamExt;
use http::header::{ETAG, LAST_MODIFIED};
use http::{Response, StatusCode};

impl Swift {
    pub(super) async fn put(&self, context: &VerbContext<'_>, body: Body) -> Outcome<Response<Body>> {
        self.check(context.claim, &context.target.account, Some(context.container()), Action::Write)?;
        context.target.check_lengths()?;
        if context.head.headers.contains_key("x-copy-from") {
            return self.copy_from(context).await;
        }
        if context.head.query.get("multipart-manifest") == Some("put") {
            return self.put_large(context, body).await;
        }
        let length = context.head.length();
        if length.is_none() && !context.head.is_chunked() {
            return Err(Refusal::new(
                StatusCode::LENGTH_REQUIRED,
                "The length of the body must be announced.",
            ));
        }
        // A put that is refused because of its head moves no block.
        let conditions = conditions::of_put(&context.head.headers)?;
        let mut details = details(context.head)?;
        details.content_type.get_or_insert_with(|| guess_type(context.object()));
        self.check_manifest(context.claim, context.account.name(), &details)?;
        context.account.check_put(context.container(), context.object(), &conditions)?;
        context.account.check_room(context.container(), context.object(), length)?;
        let written = receive(context.account, body, length).await?;
        if let Some(etag) = context.head.header("etag")
            && !conditions::bare(etag).eq_ignore_ascii_case(&hex(written.md5()))
        {
            return Err(Error::BadDigest("ETag").into());
        }
        let object =
            context.account.link(context.container(), context.object(), written, details, conditions).await?;
        Ok(created(&object))
    }
}

/// Writes a body into blocks.
pub(super) async fn receive(account: &Account, body: Body, length: Option<u64>) -> Outcome<Written> {
    let mut writer = account.gateway().writer(length, None)?;
    let mut pieces = body.into_data_stream();
    while let Some(piece) = pieces.next().await {
        writer.push(piece.map_err(|error| Error::Body(error.into()))?).await?;
    }
    Ok(writer.finish().await?)
}

/// Returns the answer to a put of an object.
pub(super) fn created(object: &Object) -> Response<Body> {
    let mut answer = empty(StatusCode::CREATED);
    let etag = match manifest::known_size(object) {
        Some((_, etag)) => etag,
        None => object.etag.clone(),
    };
    put_header(answer.headers_mut(), ETAG.as_str(), &etag);
    put_header(answer.headers_mut(), LAST_MODIFIED.as_str(), &http_date(object.modified));
    answer
}
