//! The verbs of objects: which there are, and those that touch no block.

use super::answer::empty;
use super::asked::Asked;
use super::describe::details;
use super::refusal::{Outcome, Refusal};
use super::rights::Right;
use super::{At, Swift, form_post, manifest};
use crate::catalogue::{Details, Manifest};
use crate::device::Device;
use crate::error::Error;
use crate::http::door::Verb;
use crate::objects::conditions::WriteConditions;
use axum::body::Body;
use http::{Response, StatusCode};

impl<D: Device> Swift<D> {
    pub(super) async fn on_object(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        body: Body,
        verb: &Verb,
    ) -> Outcome<Response<Body>> {
        if at.visitor.link().is_some() {
            refuse_detours(asked)?;
        }
        match asked.method.as_str() {
            "GET" => {
                verb.name("GetObject");
                self.read(asked, at).await
            }
            "HEAD" => {
                verb.name("HeadObject");
                self.read(asked, at).await
            }
            "PUT" => {
                verb.name("PutObject");
                self.put(asked, at, body).await
            }
            "COPY" => {
                verb.name("CopyObject");
                self.copy(asked, at).await
            }
            "POST" if form_post::is_one(&asked.headers) => {
                verb.name("FormPost");
                self.form_post(asked, at, body).await
            }
            "POST" => {
                verb.name("ChangeObject");
                self.change(asked, at).await
            }
            "DELETE" => {
                verb.name("DeleteObject");
                self.delete(asked, at).await
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    fn check_write(&self, asked: &Asked, at: &At<'_, D>) -> Outcome<()> {
        self.check(asked, at.visitor, &at.target.account, Some(at.container()), Right::Write)
    }

    /// `POST`: replaces the details of an object, but for its type if none is given.
    async fn change(&self, asked: &Asked, at: &At<'_, D>) -> Outcome<Response<Body>> {
        self.check_write(asked, at)?;
        let new = details(asked)?;
        self.check_manifest(asked, at.visitor, at.account.name(), &new)?;
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

    async fn delete(&self, asked: &Asked, at: &At<'_, D>) -> Outcome<Response<Body>> {
        self.check_write(asked, at)?;
        if asked.query.get("multipart-manifest") == Some("delete") {
            let object = at.account.object(at.container(), at.object())?;
            if manifest::is_static(&object) {
                return self.delete_large(asked, at, &object).await;
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
fn refuse_detours(asked: &Asked) -> Outcome<()> {
    let reaches_out =
        ["x-object-manifest", "x-copy-from"].iter().any(|name| asked.headers.contains_key(*name));
    if reaches_out || asked.query.has("multipart-manifest") {
        return Err(Refusal::bad_request(
            "A temporary URL is good for one object: it can neither copy nor name others.",
        ));
    }
    Ok(())
}
