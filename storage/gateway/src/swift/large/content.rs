//! The content of an object, and the right to set a manifest.

use super::budget::{MAX_DEPTH, MAX_PIECES, PieceBudget};
use crate::auth::rights::Action;
use crate::catalogue::{Details, Manifest, Object};
use crate::swift::content::Content;
use crate::swift::refusal::Outcome;
use crate::swift::rights::Claim;
use crate::swift::{Swift, VerbContext};
use std::sync::Arc;

impl Swift {
    /// Checks that a principal may make an object stand for the contents of a container. It must have the right to read
    /// them, because a later reader of the object may read all of the account.
    ///
    /// # Errors
    /// 401 or 403.
    pub(in crate::swift) fn check_manifest(
        &self,
        claim: &Claim,
        account: &str,
        details: &Details,
    ) -> Outcome<()> {
        match &details.manifest {
            Some(Manifest::Dynamic { container, .. }) => {
                self.check(claim, account, Some(container), Action::Read)
            }
            _ => Ok(()),
        }
    }

    /// Returns the content of an object. Reads the lists of static large objects.
    ///
    /// # Errors
    /// 409 if a segment of a static large object has changed, or if there are too many pieces. 401 or 403 if the
    /// principal may not read a segment.
    pub(in crate::swift) async fn content(
        &self,
        context: &VerbContext<'_>,
        object: &Arc<Object>,
    ) -> Outcome<Content> {
        match &object.details.manifest {
            None => Ok(Content::plain(object)),
            Some(Manifest::Dynamic { container, prefix }) => self.dynamic(context, container, prefix).await,
            Some(Manifest::Static { etag, .. }) => {
                let (etag, mut budget) = (format!("\"{etag}\""), PieceBudget::of(MAX_PIECES));
                Ok(Content { pieces: self.pieces(context, object, MAX_DEPTH, &mut budget).await?, etag })
            }
        }
    }
}
