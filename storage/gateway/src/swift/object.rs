//! The verbs of objects: which there are, and those that touch no block.

use super::answer::empty;
use super::describe::details;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::{Swift, VerbContext, conditions, form_post, manifest};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Manifest};
use crate::error::Error;
use crate::http::protocol::Verb;
use crate::objects::conditions::WriteConditions;
use axum::body::Body;
use http::{Response, StatusCode};

impl Swift {
    pub(super) async fn on_object(
        &self,
        head: &RequestHead,
        context: &VerbContext<'_>,
        body: Body,
        verb: &Verb,
    ) -> Outcome<Response<Body>> {
        if context.claim.temp_url().is_some() {
            refuse_other_objects(head)?;
        }
        match head.method.as_str() {
            "GET" => {
                verb.name("GetObject");
                self.read(head, context).await
            }
            "HEAD" => {
                verb.name("HeadObject");
                self.read(head, context).await
            }
            "PUT" => {
                verb.name("PutObject");
                self.put(head, context, body).await
            }
            "COPY" => {
                verb.name("CopyObject");
                self.copy(head, context).await
            }
            "POST" if form_post::is_form(&head.headers) => {
                verb.name("FormPost");
                self.form_post(head, context, body).await
            }
            "POST" => {
                verb.name("ChangeObject");
                self.change(head, context).await
            }
            "DELETE" => {
                verb.name("DeleteObject");
                self.delete(head, context).await
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    fn check_write(&self, context: &VerbContext<'_>) -> Outcome<()> {
        self.check(context.claim, &context.target.account, Some(context.container()), Action::Write)
    }

    /// `POST`: replaces the details of an object, but for its type if none is given.
    async fn change(&self, head: &RequestHead, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        self.check_write(context)?;
        conditions::refuse_all(&head.headers)?;
        let new = details(head)?;
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

    async fn delete(&self, head: &RequestHead, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        self.check_write(context)?;
        conditions::refuse_all(&head.headers)?;
        if head.query.get("multipart-manifest") == Some("delete") {
            let object = context.account.object(context.container(), context.object())?;
            if manifest::is_static(&object) {
                return self.delete_large(head, context, &object).await;
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

/// A temporary URL is for the object that it names: it must not become a way to other objects of the account, which
/// a manifest, a copy or the delete of a large object would reach.
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
