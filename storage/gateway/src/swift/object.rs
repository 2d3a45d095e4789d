//! The verbs of objects: which there are, and those that touch no block.

use super::answer::empty;
use super::describe::details;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::{At, Swift, conditions, form_post, manifest};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Manifest};
use crate::error::Error;
use crate::http::door::Verb;
use crate::objects::conditions::WriteConditions;
use axum::body::Body;
use http::{Response, StatusCode};

impl Swift {
    pub(super) async fn on_object(
        &self,
        head: &RequestHead,
        at: &At<'_>,
        body: Body,
        verb: &Verb,
    ) -> Outcome<Response<Body>> {
        if at.claim.temp_url().is_some() {
            refuse_detours(head)?;
        }
        match head.method.as_str() {
            "GET" => {
                verb.name("GetObject");
                self.read(head, at).await
            }
            "HEAD" => {
                verb.name("HeadObject");
                self.read(head, at).await
            }
            "PUT" => {
                verb.name("PutObject");
                self.put(head, at, body).await
            }
            "COPY" => {
                verb.name("CopyObject");
                self.copy(head, at).await
            }
            "POST" if form_post::is_one(&head.headers) => {
                verb.name("FormPost");
                self.form_post(head, at, body).await
            }
            "POST" => {
                verb.name("ChangeObject");
                self.change(head, at).await
            }
            "DELETE" => {
                verb.name("DeleteObject");
                self.delete(head, at).await
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    fn check_write(&self, at: &At<'_>) -> Outcome<()> {
        self.check(at.claim, &at.target.account, Some(at.container()), Action::Write)
    }

    /// `POST`: replaces the details of an object, but for its type if none is given.
    async fn change(&self, head: &RequestHead, at: &At<'_>) -> Outcome<Response<Body>> {
        self.check_write(at)?;
        conditions::refuse_all(&head.headers)?;
        let new = details(head)?;
        self.check_manifest(at.claim, at.account.name(), &new)?;
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
        at.account.update_object(at.container(), at.object(), true, change).await?;
        Ok(empty(StatusCode::ACCEPTED))
    }

    async fn delete(&self, head: &RequestHead, at: &At<'_>) -> Outcome<Response<Body>> {
        self.check_write(at)?;
        conditions::refuse_all(&head.headers)?;
        if head.query.get("multipart-manifest") == Some("delete") {
            let object = at.account.object(at.container(), at.object())?;
            if manifest::is_static(&object) {
                return self.delete_large(head, at, &object).await;
            }
        }
        let key = (at.object().to_owned(), WriteConditions::default());
        let outcomes = at.account.delete(at.container(), vec![key]).await?;
        match outcomes.into_iter().next() {
            Some(Ok(true)) => Ok(empty(StatusCode::NO_CONTENT)),
            Some(Err(error)) => Err(error.into()),
            _ => Err(Refusal::not_found()),
        }
    }
}

/// A temporary URL is for the object that it names: it must not become a way to other objects of the account, which
/// a manifest, a copy or the delete of a large object would reach.
fn refuse_detours(head: &RequestHead) -> Outcome<()> {
    let reaches_out =
        ["x-object-manifest", "x-copy-from"].iter().any(|name| head.headers.contains_key(*name));
    if reaches_out || head.query.has("multipart-manifest") {
        return Err(Refusal::bad_request(
            "A temporary URL is good for one object: it can neither copy nor name others.",
        ));
    }
    Ok(())
}
