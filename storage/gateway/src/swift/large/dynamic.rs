//! Dynamic large objects: a container, and a prefix of keys.

use super::budget::{MAX_DYNAMIC_PIECES, PieceBudget};
use crate::auth::rights::Action;
use crate::error::Error;
use crate::objects::listing::ListRequest;
use crate::swift::content::{Content, Piece};
use crate::swift::listing::MAX_ENTRIES;
use crate::swift::refusal::Outcome;
use crate::swift::{Swift, VerbContext};
use base16ct::lower::encode_string as hex;
use md5::{Digest as _, Md5};

impl Swift {
    /// Returns the present content.
    pub(super) async fn dynamic(
        &self,
        context: &VerbContext<'_>,
        container: &str,
        prefix: &str,
    ) -> Outcome<Content> {
        let mut budget = PieceBudget::of(MAX_DYNAMIC_PIECES);
        self.check(context.claim, context.account.name(), Some(container), Action::Read)?;
        let mut request =
            ListRequest { prefix: prefix.to_owned(), limit: MAX_ENTRIES, ..ListRequest::default() };
        let (mut pieces, mut tags) = (Vec::new(), Md5::new());
        loop {
            let page = match context.account.list(container, &request) {
                Ok(page) => page,
                // The container does not exist: the content is empty.
                Err(Error::NoSuchContainer) => break,
                Err(error) => return Err(error.into()),
            };
            budget.spend(page.entries.len())?;
            // A page may have thousands of names.
            tokio::task::yield_now().await;
            for (_, segment) in page.entries {
                tags.update(&segment.etag);
                pieces.push(Piece::whole(&segment));
            }
            match page.next {
                Some(next) => request.after = next,
                None => break,
            }
        }
        Ok(Content { pieces, etag: format!("\"{}\"", hex(&tags.finalize())) })
    }
}
