//! Reading: blocks become bytes, and a bounded number of batches is read ahead of the client.

use crate::catalogue::Object;
use crate::device::{Device, Flow};
use crate::error::Error;
use crate::objects::gateway::{Gateway, Inner};
use crate::objects::memory::Share;
use crate::objects::packing::{DUMMY, Fragment, Location};
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
    /// The share of memory for bytes that were read and not yet sent.
    _share: Share,
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

/// The accesses of a read, counted within the accesses of the whole object, padding included.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Span {
    accesses: Range<u64>,
    bytes: Range<u64>,
}

impl Gateway {
    /// Reads an object: all its blocks, padding included, or those of a range of its bytes. With padding, the blocks of
    /// a range are rounded up to their class too. Returns when the first bytes have arrived.
    ///
    /// The last bytes come only after the last block was read. So a client that stops once it has all bytes does not
    /// show where the padding begins. A client that disconnects earlier does cut the reading short.
    ///
    /// # Errors
    /// [`Error::RangeNotSatisfiable`] if the range is empty or not within the object; [`Error::Busy`];
    /// [`Error::Device`]. A later failure is the last item of the stream.
    pub async fn read(&self, object: &Arc<Object>, range: Option<Range<u64>>) -> Result<Reader, Error> {
        let span = self.checked_span(object, range)?;
        let share = self.inner.memory.take(span.accesses.end - span.accesses.start)?;
        self.read_span(object, span, share).await
    }

    /// Reads the next object of a running answer: waits for memory where [`read`](Self::read) refuses. The caller must
    /// have dropped the reader before it.
    ///
    /// # Errors
    /// The errors of [`read`](Self::read), without [`Error::Busy`].
    pub async fn read_on(&self, object: &Arc<Object>, range: Option<Range<u64>>) -> Result<Reader, Error> {
        let span = self.checked_span(object, range)?;
        let share = self.inner.memory.wait(span.accesses.end - span.accesses.start).await?;
        self.read_span(object, span, share).await
    }

    fn checked_span(&self, object: &Object, range: Option<Range<u64>>) -> Result<Span, Error> {
        let bytes = object.bytes();
        if let Some(range) = &range
            && (range.start >= range.end || range.end > bytes)
        {
            return Err(Error::RangeNotSatisfiable { bytes });
        }
        Ok(self.span(object, range))
    }

    async fn read_span(&self, object: &Arc<Object>, span: Span, share: Share) -> Result<Reader, Error> {
        let (sender, mut rest) = mpsc::channel(1);
        let inner = Arc::clone(&self.inner);
        let object = Arc::clone(object);
        let held_share = share.clone();
        self.inner.tasks.spawn(async move {
            if let Err(failure) = inner.deliver(&object, span, &sender).await {
                tracing::error!(error = %failure, "reading blocks failed");
                // The reader may be gone.
                let _ = sender.send(Err(failure)).await;
            }
            drop(held_share);
        });
        let first = match rest.recv().await {
            Some(Err(failure)) => return Err(failure),
            first => first,
        };
        Ok(Reader { first, rest, _share: share })
    }

    fn span(&self, object: &Object, range: Option<Range<u64>>) -> Span {
        let total = object.accesses();
        let Some(bytes) = range else {
            return Span { accesses: 0..total, bytes: 0..object.bytes() };
        };
        let block_bytes = self.inner.device.shape().block_bytes;
        let first = position(object, bytes.start, block_bytes);
        let last = position(object, bytes.end - 1, block_bytes);
        let count = self.inner.options.padding.round(last - first + 1, block_bytes).min(total);
        let start = first.min(total - count);
        Span { accesses: start..start + count, bytes }
    }
}

/// Returns the number of the access that reads a byte of the object.
fn position(object: &Object, byte: u64, block_bytes: usize) -> u64 {
    let (mut byte, mut before) = (byte, 0);
    for segment in &object.segments {
        if byte < segment.bytes() {
            return before + byte / block_bytes as u64;
        }
        byte -= segment.bytes();
        before += segment.accesses();
    }
    before
}

/// The source of the bytes of an access.
#[derive(Clone)]
enum AccessSource {
    /// A block of the object's own.
    Block(u64),
    /// A fragment, wherever it is at the time of the access.
    Fragment(Arc<Fragment>),
}

/// Returns the source of each access, and the bytes of the object that it reads: an empty range for padding.
fn layout(object: &Object, block_bytes: u64) -> impl Iterator<Item = (AccessSource, Range<u64>)> + '_ {
    let mut before = 0;
    object.segments.iter().flat_map(move |segment| {
        let start = before;
        let end = start + segment.bytes();
        before = end;
        let mut offset = start;
        let fragment = segment.fragment().map(|fragment| AccessSource::Fragment(Arc::clone(fragment)));
        let holders = segment.block_numbers().map(AccessSource::Block).chain(fragment);
        holders.map(move |source| {
            let bytes = offset..(offset + block_bytes).min(end);
            offset = bytes.end;
            (source, bytes)
        })
    })
}

impl Inner {
    async fn deliver(
        &self,
        object: &Object,
        span: Span,
        sender: &mpsc::Sender<Result<Bytes, Error>>,
    ) -> Result<(), Error> {
        let block_bytes = self.device.shape().block_bytes as u64;
        let flow = self.flow();
        let mut blocks = layout(object, block_bytes)
            .skip(span.accesses.start as usize)
            .take((span.accesses.end - span.accesses.start) as usize);
        let mut running_reads = FuturesOrdered::new();
        let mut withheld: Option<Bytes> = None;
        loop {
            while running_reads.len() < self.options.batches_in_flight.max(1) {
                let batch: Vec<_> = blocks.by_ref().take(self.device.shape().max_batch).collect();
                if batch.is_empty() {
                    break;
                }
                running_reads.push_back(self.read_pieces(flow, batch, span.bytes.clone()));
            }
            let Some(pieces) = running_reads.next().await else {
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
            self.device.settle_reads().await?;
            // An error here means that the reader is gone.
            let _ = sender.send(Ok(last)).await;
        }
        Ok(())
    }

    /// Reads a batch, and cuts the bytes in `wanted` from each block.
    async fn read_pieces(
        &self,
        flow: Flow,
        batch: Vec<(AccessSource, Range<u64>)>,
        wanted: Range<u64>,
    ) -> Result<Vec<Bytes>, Error> {
        let sources: Vec<Source> = batch.iter().map(|(source, _)| Source::of(source)).collect();
        let answer = self.read_blocks(flow, sources.iter().map(Source::block).collect()).await?;
        let pieces = batch.into_iter().zip(sources).zip(answer);
        Ok(pieces
            .filter_map(|(((_, range), source), block)| {
                let (start, end) = (wanted.start.max(range.start), wanted.end.min(range.end));
                let cut =
                    start.saturating_sub(range.start) as usize..end.saturating_sub(range.start) as usize;
                (start < end).then(|| source.bytes(block).slice(cut))
            })
            .collect())
    }
}

/// The source of an access at the time of the access. It keeps a pack from being reused meanwhile.
enum Source {
    Block(u64),
    Fragment { location: Location, bytes: u64 },
}

impl Source {
    fn of(source: &AccessSource) -> Self {
        match source {
            AccessSource::Block(block) => Source::Block(*block),
            AccessSource::Fragment(fragment) => {
                Source::Fragment { location: fragment.location(), bytes: fragment.bytes() }
            }
        }
    }

    /// Returns the block to read. Bytes that are still stored in their row need none. A dummy is read for them, so that
    /// they are not faster to read than others.
    fn block(&self) -> u64 {
        match self {
            Source::Block(block) => *block,
            Source::Fragment { location: Location::Packed { pack, .. }, .. } => pack.block(),
            Source::Fragment { location: Location::Waiting(_), .. } => DUMMY,
        }
    }

    /// Returns the source's bytes in the block that was read.
    fn bytes(self, block: Bytes) -> Bytes {
        match self {
            Source::Block(_) => block,
            Source::Fragment { location: Location::Packed { offset, .. }, bytes } => {
                block.slice(offset as usize..(offset + bytes) as usize)
            }
            Source::Fragment { location: Location::Waiting(waiting), .. } => waiting,
        }
    }
}
