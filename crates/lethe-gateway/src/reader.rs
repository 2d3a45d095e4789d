//! Blocks to bytes: a bounded number of batches is read ahead of the client.

use crate::catalogue::Object;
use crate::device::Device;
use crate::error::Error;
use crate::gateway::{Gateway, Inner};
use bytes::Bytes;
use futures::stream::{FuturesOrdered, Stream, StreamExt};
use std::ops::Range;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tokio::sync::mpsc;

/// The bytes of an object, or of a range of it. Holds the object's blocks until it is dropped.
#[derive(Debug)]
pub struct Reader {
    first: Option<Result<Bytes, Error>>,
    rest: mpsc::Receiver<Result<Bytes, Error>>,
}

impl Stream for Reader {
    type Item = Result<Bytes, Error>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        match self.first.take() {
            Some(first) => Poll::Ready(Some(first)),
            None => self.rest.poll_recv(context),
        }
    }
}

/// The blocks of an object that a read touches: the object's blocks are counted through, padding included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    blocks: Range<u64>,
    bytes: Range<u64>,
}

impl<D: Device> Gateway<D> {
    /// Reads an object: all its blocks, padding included, or those of a range of its bytes. With padding on, the
    /// blocks of a range are rounded up to their class as well. Returns when the first bytes are there.
    ///
    /// The last bytes come only after the last block was read, so that a client that stops reading once it has all
    /// bytes does not show where the padding begins. One that goes away earlier does cut the reading short.
    ///
    /// # Errors
    /// [`Error::RangeNotSatisfiable`] if the range is empty or not within the object; [`Error::Device`]. A failure
    /// later on is an item of the stream, and its last.
    pub async fn read(&self, object: &Arc<Object>, range: Option<Range<u64>>) -> Result<Reader, Error> {
        let bytes = object.bytes();
        if let Some(range) = &range
            && (range.start >= range.end || range.end > bytes)
        {
            return Err(Error::RangeNotSatisfiable { bytes });
        }
        let span = self.span(object, range);
        let (sender, mut rest) = mpsc::channel(1);
        let inner = Arc::clone(&self.inner);
        let object = Arc::clone(object);
        self.inner.tasks.spawn(async move {
            if let Err(failure) = inner.deliver(&object, span, &sender).await {
                tracing::error!(error = %failure, "reading blocks failed");
                // The reader may have gone away meanwhile; then nobody is left to tell.
                let _ = sender.send(Err(failure)).await;
            }
        });
        let first = match rest.recv().await {
            Some(Err(failure)) => return Err(failure),
            first => first,
        };
        Ok(Reader { first, rest })
    }

    fn span(&self, object: &Object, range: Option<Range<u64>>) -> Span {
        let total = object.blocks();
        let Some(bytes) = range else {
            return Span { blocks: 0..total, bytes: 0..object.bytes() };
        };
        let block_bytes = self.inner.device.block_bytes();
        let first = position(object, bytes.start, block_bytes);
        let last = position(object, bytes.end - 1, block_bytes);
        let count = self.inner.options.padding.round(last - first + 1, block_bytes).min(total);
        let start = first.min(total - count);
        Span { blocks: start..start + count, bytes }
    }
}

/// Which of an object's blocks holds a byte.
fn position(object: &Object, byte: u64, block_bytes: usize) -> u64 {
    let (mut byte, mut before) = (byte, 0);
    for segment in &object.segments {
        if byte < segment.bytes() {
            return before + byte / block_bytes as u64;
        }
        byte -= segment.bytes();
        before += segment.blocks();
    }
    before
}

/// A block of an object, and which bytes of the object it holds: none for padding.
fn layout(object: &Object, block_bytes: u64) -> impl Iterator<Item = (u64, Range<u64>)> + '_ {
    let mut before = 0;
    object.segments.iter().flat_map(move |segment| {
        let start = before;
        let end = start + segment.bytes();
        before = end;
        let mut at = start;
        segment.block_numbers().map(move |block| {
            let bytes = at..(at + block_bytes).min(end);
            at = bytes.end;
            (block, bytes)
        })
    })
}

impl<D: Device> Inner<D> {
    async fn deliver(
        &self,
        object: &Object,
        span: Span,
        sender: &mpsc::Sender<Result<Bytes, Error>>,
    ) -> Result<(), Error> {
        let block_bytes = self.device.block_bytes() as u64;
        let mut blocks = layout(object, block_bytes)
            .skip(span.blocks.start as usize)
            .take((span.blocks.end - span.blocks.start) as usize);
        let mut flights = FuturesOrdered::new();
        let mut withheld: Option<Bytes> = None;
        loop {
            while flights.len() < self.options.window.max(1) {
                let batch: Vec<_> = blocks.by_ref().take(self.device.max_batch()).collect();
                if batch.is_empty() {
                    break;
                }
                flights.push_back(self.read_pieces(batch, span.bytes.clone()));
            }
            let Some(pieces) = flights.next().await else {
                break;
            };
            for piece in pieces? {
                if let Some(ready) = withheld.replace(piece)
                    && sender.send(Ok(ready)).await.is_err()
                {
                    return Ok(());
                }
            }
        }
        if let Some(last) = withheld {
            // An error here means that the reader has gone away.
            let _ = sender.send(Ok(last)).await;
        }
        Ok(())
    }

    /// Reads a batch, and cuts from each block what lies in `wanted`.
    async fn read_pieces(
        &self,
        batch: Vec<(u64, Range<u64>)>,
        wanted: Range<u64>,
    ) -> Result<Vec<Bytes>, Error> {
        let answer = self.read_blocks(batch.iter().map(|(block, _)| *block).collect()).await?;
        let pieces = batch.into_iter().zip(answer);
        Ok(pieces
            .filter_map(|((_, held), block)| {
                let (start, end) = (wanted.start.max(held.start), wanted.end.min(held.end));
                (start < end).then(|| block.slice((start - held.start) as usize..(end - held.start) as usize))
            })
            .collect())
    }
}
