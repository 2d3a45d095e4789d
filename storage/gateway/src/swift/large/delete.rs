//! `multipart-manifest=delete`: deletes a list with its segments.

use super::budget::{MAX_DEPTH, MAX_PIECES, PieceBudget};
use super::conflict;
use crate::catalogue::Object;
use crate::http::percent::encode_path;
use crate::swift::manifest::is_static;
use crate::swift::refusal::Outcome;
use crate::swift::{Swift, VerbContext, bulk};
use axum::body::Body;
use futures::FutureExt;
use futures::future::BoxFuture;
use http::Response;
use std::sync::Arc;

impl Swift {
    /// Serves `multipart-manifest=delete`: deletes the list and its segments.
    pub(in crate::swift) async fn delete_large(
        &self,
        context: &VerbContext<'_>,
        object: &Arc<Object>,
    ) -> Outcome<Response<Body>> {
        let mut paths = Vec::new();
        self.segments(object, context, MAX_DEPTH, &mut PieceBudget::of(MAX_PIECES), &mut paths).await?;
        paths.push(format!("/{}/{}", context.container(), context.object()));
        let targets = paths.iter().map(|path| encode_path(path)).collect();
        bulk::delete_all(self, context, targets).await
    }

    fn segments<'a>(
        &'a self,
        object: &'a Arc<Object>,
        context: &'a VerbContext<'a>,
        depth: usize,
        budget: &'a mut PieceBudget,
        paths: &'a mut Vec<String>,
    ) -> BoxFuture<'a, Outcome<()>> {
        async move {
            if depth == 0 {
                return Err(conflict("The large object is nested too deeply."));
            }
            let stored = self.stored_segments(object).await?;
            budget.spend(stored.len())?;
            for segment in stored {
                if segment.sub_slo
                    && let Some((container, key)) = segment.name.trim_start_matches('/').split_once('/')
                    && let Ok(inner) = context.account.object(container, key)
                    && is_static(&inner)
                {
                    self.segments(&inner, context, depth - 1, budget, paths).await?;
                }
                paths.push(segment.name);
            }
            Ok(())
        }
        .boxed()
    }
}
