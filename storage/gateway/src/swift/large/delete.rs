//! `multipart-manifest=delete`: a list goes with all that it lists.

use super::bound::{Bound, MAX_DEPTH, MAX_PIECES};
use super::conflict;
use crate::catalogue::Object;
use crate::swift::describe::encoded;
use crate::swift::manifest::is_static;
use crate::swift::refusal::Outcome;
use crate::swift::request_head::RequestHead;
use crate::swift::{At, Swift, bulk};
use axum::body::Body;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use std::sync::Arc;

impl Swift {
    /// `multipart-manifest=delete`: the list goes, and all that it lists.
    pub(in crate::swift) async fn delete_large(
        &self,
        head: &RequestHead,
        at: &At<'_>,
        object: &Arc<Object>,
    ) -> Outcome<Response<Body>> {
        let mut paths = Vec::new();
        self.segments(object, at, MAX_DEPTH, &mut Bound::of(MAX_PIECES), &mut paths).await?;
        paths.push(format!("/{}/{}", at.container(), at.object()));
        let targets = paths.iter().map(|path| encoded(path)).collect();
        bulk::delete_all(self, head, at, targets).await
    }

    fn segments<'a>(
        &'a self,
        object: &'a Arc<Object>,
        at: &'a At<'a>,
        depth: usize,
        bound: &'a mut Bound,
        paths: &'a mut Vec<String>,
    ) -> BoxFuture<'a, Outcome<()>> {
        async move {
            if depth == 0 {
                return Err(conflict("The large object stands too deep within others."));
            }
            let kept = self.kept(object).await?;
            bound.spend(kept.len())?;
            for kept in kept {
                if kept.sub_slo
                    && let Some((container, key)) = kept.name.trim_start_matches('/').split_once('/')
                    && let Ok(inner) = at.account.object(container, key)
                    && is_static(&inner)
                {
                    self.segments(&inner, at, depth - 1, bound, paths).await?;
                }
                paths.push(kept.name);
            }
            Ok(())
        }
        .boxed()
    }
}
