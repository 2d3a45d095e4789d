//! The content that an object stands for, and the right to make it stand for that.

use super::bound::{Bound, MOST_DEPTH, MOST_PIECES};
use crate::catalogue::{Details, Manifest, Object};
use crate::device::Device;
use crate::swift::asked::Asked;
use crate::swift::content::Content;
use crate::swift::refusal::Outcome;
use crate::swift::rights::{Right, Visitor};
use crate::swift::{At, Swift};
use std::sync::Arc;

impl<D: Device> Swift<D> {
    /// Checks that a visitor may make an object stand for the contents of a container. He must be able to read them: a
    /// later reader of the object may be let in to all of the account.
    ///
    /// # Errors
    /// 401 or 403.
    pub(in crate::swift) fn check_manifest(
        &self,
        asked: &Asked,
        visitor: &Visitor,
        account: &str,
        details: &Details,
    ) -> Outcome<()> {
        match &details.manifest {
            Some(Manifest::Dynamic { container, .. }) => {
                self.check(asked, visitor, account, Some(container), Right::Read)
            }
            _ => Ok(()),
        }
    }

    /// The content that an object stands for. Reads the lists of static large objects.
    ///
    /// # Errors
    /// 409 if a static large object is not what it was, or if there are too many pieces; 401 or 403 if a segment is not
    /// the visitor's to read.
    pub(in crate::swift) async fn content(
        &self,
        asked: &Asked,
        at: &At<'_, D>,
        object: &Arc<Object>,
    ) -> Outcome<Content> {
        match &object.details.manifest {
            None => Ok(Content::plain(object)),
            Some(Manifest::Dynamic { container, prefix }) => self.dynamic(asked, at, container, prefix).await,
            Some(Manifest::Static { etag, .. }) => {
                let (etag, mut bound) = (format!("\"{etag}\""), Bound::of(MOST_PIECES));
                Ok(Content { pieces: self.pieces(asked, at, object, MOST_DEPTH, &mut bound).await?, etag })
            }
        }
    }
}
