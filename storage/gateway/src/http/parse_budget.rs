//! The bytes that a parser may read before it understands something.
//!
//! Parsers of forms and archives keep the bytes that they do not understand yet: a boundary that never comes, a header
//! that never ends. They read with a budget, which their caller renews with each part that was understood.

use bytes::Bytes;
use futures::{Stream, StreamExt, TryStreamExt};
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The limit in bytes: enough for every head, and for the data that arrives in one piece with it.
const LIMIT: u64 = 1 << 20;

/// The bytes that may still be read. Clones share them.
#[derive(Clone, Debug)]
pub(crate) struct ParseBudget(Arc<AtomicU64>);

/// The parser read more than the budget and understood nothing.
#[derive(Debug, thiserror::Error)]
#[error("the parser has read too much without a complete part")]
pub(crate) struct BudgetExceeded;

impl ParseBudget {
    pub(crate) fn new() -> Self {
        ParseBudget(Arc::new(AtomicU64::new(LIMIT)))
    }

    /// Renews the budget after a part was understood, and adds `skipped` bytes that are not kept.
    pub(crate) fn renew(&self, skipped: u64) {
        self.0.store(LIMIT.saturating_add(skipped), Ordering::Relaxed);
    }

    /// Removes the limit: the caller passes on the bytes from now on, and keeps none.
    pub(crate) fn remove_limit(&self) {
        self.0.store(u64::MAX, Ordering::Relaxed);
    }

    fn take(&self, bytes: usize) -> Result<(), BudgetExceeded> {
        let spend = |remaining: u64| {
            if remaining == u64::MAX { Some(remaining) } else { remaining.checked_sub(bytes as u64) }
        };
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, spend).map(drop).map_err(|_| BudgetExceeded)
    }

    /// Returns a body that fails when the budget is used up.
    pub(crate) fn limit_stream<E>(
        &self,
        body: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
    ) -> impl Stream<Item = Result<Bytes, Box<dyn std::error::Error + Send + Sync>>> + Send + 'static
    where
        E: Into<Box<dyn std::error::Error + Send + Sync>> + 'static,
    {
        let budget = self.clone();
        body.map_err(Into::into).map(move |piece| {
            let piece = piece?;
            budget.take(piece.len())?;
            Ok(piece)
        })
    }

    /// Returns a reader that fails when the budget is used up.
    pub(crate) fn limit_reader<R>(&self, inner: R) -> LimitedReader<R> {
        LimitedReader { inner, budget: self.clone() }
    }
}

/// See [`ParseBudget::limit_reader`].
pub(crate) struct LimitedReader<R> {
    inner: R,
    budget: ParseBudget,
}

impl<R: AsyncRead + Unpin> AsyncRead for LimitedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        into: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = into.filled().len();
        ready!(Pin::new(&mut self.inner).poll_read(context, into))?;
        let read = into.filled().len() - before;
        Poll::Ready(self.budget.take(read).map_err(io::Error::other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::stream;

    #[tokio::test]
    async fn what_is_not_understood_ends_and_what_is_goes_on() {
        let budget = ParseBudget::new();
        let piece = || Ok::<_, io::Error>(Bytes::from(vec![0; 400 << 10]));
        let mut body = Box::pin(budget.limit_stream(stream::repeat_with(piece)));
        for _ in 0..20 {
            body.next().await.expect("a piece").expect("within the budget");
            body.next().await.expect("a piece").expect("within the budget");
            budget.renew(0);
        }
        budget.remove_limit();
        for _ in 0..20 {
            body.next().await.expect("a piece").expect("nothing is kept");
        }
        budget.renew(0);
        let understood = body.take(3).filter(|piece| std::future::ready(piece.is_ok())).count().await;
        assert_eq!(understood, 2);
    }
}
