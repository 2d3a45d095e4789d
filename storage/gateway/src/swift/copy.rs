//! Copies of an object, by `COPY` with a destination or by `PUT` with a source.

use super::conditions;
use super::content::{self, Content, MemoryWait};
use super::dates::http_date;
use super::describe::details;
use super::manifest;
use super::metadata::{self, ResourceKind, put as put_header};
use super::put::created;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::target::{PREFIX, Target, decode};
use super::{Swift, VerbContext};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Manifest, Object};
use crate::http::percent::encode_path;
use crate::objects::writer::Written;
use axum::body::Body;
use futures::StreamExt;
use http::Response;

impl Swift {
    /// Serves `COPY`: copies the object of the URL to `Destination`.
    pub(super) async fn copy(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        let account = other_account(context.head, "destination-account", context)?;
        let to = destination(context.head, &account)?;
        self.copy_between(context, context.target, &to).await
    }

    /// Serves `PUT` with `X-Copy-From`: copies that object to the URL.
    pub(super) async fn copy_from(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        if context.head.length().is_some_and(|length| length > 0) {
            return Err(Refusal::bad_request("Copy requests require a zero byte body"));
        }
        let account = other_account(context.head, "x-copy-from-account", context)?;
        let path = metadata::header(&context.head.headers, "x-copy-from")?.unwrap_or_default();
        let path = path.split('?').next().unwrap_or_default();
        let from = complete(Target::read_within(&account, path)?, "X-Copy-From")?;
        self.copy_between(context, &from, context.target).await
    }

    async fn copy_between(
        &self,
        context: &VerbContext<'_>,
        from: &Target,
        to: &Target,
    ) -> Outcome<Response<Body>> {
        self.check(context.claim, &from.account, from.container.as_deref(), Action::Read)?;
        self.check(context.claim, &to.account, to.container.as_deref(), Action::Write)?;
        to.check_lengths()?;
        let source_account = self.account_of(from).ok_or_else(Refusal::not_found)?;
        let account = self.account_of(to).ok_or_else(Refusal::not_found)?;
        let source = VerbContext { account: &source_account, target: from, ..*context };
        let target = VerbContext { account: &account, target: to, ..*context };
        let object = source_account.object(source.container(), source.object())?;
        let conditions = conditions::of_put(&context.head.headers)?;
        let details = copied_details(context.head, &object)?;
        self.check_manifest(context.claim, account.name(), &details)?;
        account.check_put(target.container(), target.object(), &conditions)?;
        let as_manifest = details.manifest.is_some();
        let content = match as_manifest {
            true => Content::plain(&object),
            false => self.content(&source, &object).await?,
        };
        account.check_room(target.container(), target.object(), Some(content.bytes()))?;
        let written = self.copy_content(content).await?;
        let copy = account.link(target.container(), target.object(), written, details, conditions).await?;
        let mut answer = created(&copy);
        let headers = answer.headers_mut();
        put_header(
            headers,
            "x-copied-from",
            &encode_path(&format!("{}/{}", source.container(), source.object())),
        );
        put_header(headers, "x-copied-from-account", &format!("{PREFIX}{}", from.account));
        put_header(headers, "x-copied-from-last-modified", &http_date(object.modified));
        metadata::show(headers, ResourceKind::Object, &copy.details.metadata, |_| false);
        Ok(answer)
    }

    /// Reads everything and writes it again, like a get and a put.
    async fn copy_content(&self, content: Content) -> Outcome<Written> {
        let mut writer = self.gateway.writer(Some(content.bytes()), None)?;
        let mut pieces = content::read(&self.gateway, content.pieces, MemoryWait::Never);
        while let Some(piece) = pieces.next().await {
            writer.push(piece?).await?;
        }
        Ok(writer.finish().await?)
    }
}

/// Returns the details of the copy: those of the source, overridden by those of the request.
fn copied_details(head: &RequestHead, source: &Object) -> Outcome<Details> {
    let given = details(head)?;
    let keeps_manifest = head.query.get("multipart-manifest") == Some("get") && manifest::is_large(source);
    if head.is_true_header("x-fresh-metadata") {
        let manifest = given.manifest.or_else(|| kept_manifest(source, keeps_manifest));
        let content_type = given.content_type.or_else(|| source.details.content_type.clone());
        return Ok(Details { manifest, content_type, ..given });
    }
    let mut copied = Details {
        manifest: given.manifest.or_else(|| kept_manifest(source, keeps_manifest)),
        // The grants of the source are for the source only.
        grants: Vec::new(),
        ..source.details.clone()
    };
    copied.metadata.extend(given.metadata);
    metadata::check(copied.metadata.iter())?;
    macro_rules! over {
        ($($field:ident),*) => { $(if given.$field.is_some() { copied.$field = given.$field; })* };
    }
    over!(
        content_type,
        cache_control,
        content_disposition,
        content_encoding,
        content_language,
        expires,
        delete_at
    );
    Ok(copied)
}

fn kept_manifest(source: &Object, keeps: bool) -> Option<Manifest> {
    if keeps { source.details.manifest.clone() } else { None }
}

/// Returns the account in a header, or the URL's.
fn other_account(head: &RequestHead, header: &str, context: &VerbContext<'_>) -> Outcome<String> {
    match head.header(header) {
        None => Ok(context.target.account.clone()),
        Some(name) => {
            let name = decode(name)?;
            let name = name
                .strip_prefix(PREFIX)
                .ok_or_else(|| Refusal::precondition_failed("The account's name begins with AUTH_."))?;
            Ok(name.to_owned())
        }
    }
}

fn destination(head: &RequestHead, account: &str) -> Outcome<Target> {
    let path = metadata::header(&head.headers, "destination")?;
    let path =
        path.ok_or_else(|| Refusal::precondition_failed("Destination header required: container/object"))?;
    complete(Target::read_within(account, &path)?, "Destination")
}

fn complete(target: Target, header: &str) -> Outcome<Target> {
    if target.object.is_none() {
        let text = format!("{header} header must be of the form <container name>/<object name>");
        return Err(Refusal::precondition_failed(text));
    }
    Ok(target)
}
