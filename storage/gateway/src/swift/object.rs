//! The verbs of objects, and those of them that touch no block.

use super::answer::empty;
use super::describe::details;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::{Swift, VerbContext, conditions, form_post, manifest};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Manifest};
use crate::error::Error;
use crate::objects::conditions::WriteConditions;
use axum::body::Body;
use http::{Response, StatusCode};

impl Swift {
    pub(super) async fn on_object(&self, context: &VerbContext<'_>, body: Body) -> Outcome<Response<Body>> {
        let verb = context.verb;
        if context.claim.temp_url().is_some() {
            refuse_other_objects(context.head)?;
        }
        match context.head.method.as_str() {
            method @ ("GET" | "HEAD") => {
                verb.name(if method == "GET" { "GetObject" } else { "HeadObject" });
                self.read(context).await
            }
            "PUT" => {
                verb.name("PutObject");
                self.put(context, body).await
            }
            "COPY" => {
                verb.name("CopyObject");
                self.copy(context).await
            }
            "POST" if form_post::is_form(&context.head.headers) => self.form_post(context, body).await,
            "POST" => {
                verb.name("ChangeObject");
                self.change(context).await
            }
            "DELETE" => {
                verb.name("DeleteObject");
                self.delete(context).await
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    fn check_write(&self, context: &VerbContext<'_>) -> Outcome<()> {
        self.check(context.claim, &context.target.account, Some(context.container()), Action::Write)
    }

    /// Serves `POST`: replaces the metadata of an object. Keeps its tags, its grants, a static manifest, and its type
    /// if none is given.
    async fn change(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        self.check_write(context)?;
        conditions::refuse_all(&context.head.headers)?;
        let new = details(context.head)?;
        self.check_manifest(context.claim, context.account.name(), &new)?;
        let change = move |old: &mut Details| {
            let is_static = matches!(old.manifest, Some(Manifest::Static { .. }));
            *old = Details {
                content_type: new.content_type.or(old.content_type.take()),
                manifest: if is_static { old.manifest.take() } else { new.manifest },
                tags: std::mem::take(&mut old.tags),
                grants: std::mem::take(&mut old.grants),
                ..new
            };
            Ok::<(), Error>(())
        };
        context.account.update_object(context.container(), context.object(), true, change).await?;
        Ok(empty(StatusCode::ACCEPTED))
    }

    async fn delete(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        self.check_write(context)?;
        conditions::refuse_all(&context.head.headers)?;
        if context.head.query.get("multipart-manifest") == Some("delete") {
            let object = context.account.object(context.container(), context.object())?;
            if manifest::is_static(&object) {
                return self.delete_large(context, &object).await;
            }
        }
        let key = (context.object().to_owned(), WriteConditions::default());
        let outcomes = context.account.delete(context.container(), vec![key]).await?;
        match outcomes.into_iter().next() {
            Some(Ok(true)) => Ok(empty(StatusCode::NO_CONTENT)),
            Some(Err(error)) => Err(error.into()),
            _ => Err(Refusal::not_found()),
        }
    }
}

/// Refuses requests by temporary URL that reach other objects. A manifest, a copy or the delete of a large object would
/// reach other objects of the account.
fn refuse_other_objects(head: &RequestHead) -> Outcome<()> {
    let names_others =
        ["x-object-manifest", "x-copy-from"].iter().any(|name| head.headers.contains_key(*name));
    if names_others || head.query.has("multipart-manifest") {
        return Err(Refusal::bad_request(
            "A temporary URL is good for one object: it can neither copy nor name others.",
        ));
    }
    Ok(())
}
