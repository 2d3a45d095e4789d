//! The network between a vault and its store: requests take time, overtake one another, and outlive their sender.

use super::rng::TestRng;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bytes;
use ameles_store::{Blob, BlobError, Blobs, Inventory};
use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::Duration;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

/// A store at the other end of a network. Every object of a request travels separately, with its own random delay.
///
/// Needs a `LocalSet`: a request in flight continues when its sender is dropped, until [`NetworkLink::crash`].
#[derive(Clone)]
pub struct Network<S> {
    store: Rc<S>,
    link: NetworkLink,
}

/// The link, which can be cut.
#[derive(Clone)]
pub struct NetworkLink(Rc<RefCell<LinkState>>);

struct LinkState {
    rng: TestRng,
    max_delay: u64,
    in_flight: Vec<Message>,
}

/// A request in flight, and its additional delay.
struct Message {
    handle: AbortHandle,
    late: Rc<Cell<Duration>>,
}

impl NetworkLink {
    /// A link on which each direction takes up to `max_delay` milliseconds, and sometimes ten times that.
    pub fn new(max_delay: u64, rng: TestRng) -> Self {
        NetworkLink(Rc::new(RefCell::new(LinkState { rng, max_delay, in_flight: Vec::new() })))
    }

    fn delay(&self) -> Duration {
        let LinkState { rng, max_delay, .. } = &mut *self.0.borrow_mut();
        let max = if rng.percent(3) { 10 * *max_delay } else { *max_delay };
        Duration::from_millis(rng.within(0..=max))
    }

    /// Crashes the sender. Some of the requests in flight never arrive; the rest do, some of them much later.
    pub fn crash(&self) {
        let LinkState { rng, in_flight, .. } = &mut *self.0.borrow_mut();
        for message in in_flight.drain(..) {
            match rng.below(3) {
                0 => message.handle.abort(),
                1 => message.late.set(Duration::from_millis(rng.magnitude(1..=10_000))),
                _ => {}
            }
        }
    }
}

impl<S: 'static> Network<S> {
    /// Puts the link in front of `store`.
    pub fn new(store: S, link: NetworkLink) -> Self {
        Network { store: Rc::new(store), link }
    }

    /// Sends a request at once; the future waits for its answer.
    fn send<T: 'static, W: AsyncFnOnce(&S) -> T + 'static>(
        &self,
        work: W,
    ) -> impl Future<Output = T> + use<S, T, W> {
        let (there, back) = (self.link.delay(), self.link.delay());
        let (answer, answered) = oneshot::channel();
        let store = self.store.clone();
        let late = Rc::new(Cell::new(Duration::ZERO));
        let much_later = late.clone();
        let message = tokio::task::spawn_local(async move {
            tokio::time::sleep(there).await;
            if !much_later.get().is_zero() {
                tokio::time::sleep(much_later.get()).await;
            }
            let _ = answer.send(work(&store).await);
        });
        let in_flight = &mut self.link.0.borrow_mut().in_flight;
        in_flight.retain(|message| !message.handle.is_finished());
        in_flight.push(Message { handle: message.abort_handle(), late });
        async move {
            match answered.await {
                Ok(answer) => {
                    tokio::time::sleep(back).await;
                    answer
                }
                Err(_) => std::future::pending().await,
            }
        }
    }

    async fn all(
        answers: Vec<impl Future<Output = Result<(), UntrustedError>>>,
    ) -> Result<(), UntrustedError> {
        futures::future::join_all(answers).await.into_iter().collect()
    }
}

impl<S: Untrusted + 'static> Untrusted for Network<S> {
    fn layout(&self) -> &Layout {
        self.store.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        let (places, len) = (places.to_vec(), into.len());
        let answer = self.send(async move |store: &S| {
            let mut bytes = vec![0; len];
            store.read(&places, &mut bytes).await.map(|()| bytes)
        });
        into.copy_from_slice(&answer.await?);
        Ok(())
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let answers = split_buckets(self.layout(), buckets, from).map(|(bucket, bytes)| {
            let bytes = bytes.to_vec();
            self.send(async move |store: &S| store.write(&[bucket], &bytes).await)
        });
        Self::all(answers.collect()).await
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let send = |bucket| self.send(async move |store: &S| store.delete(&[bucket]).await);
        Self::all(buckets.iter().copied().map(send).collect()).await
    }
}

impl<S: Blobs + 'static> Blobs for Network<S> {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.send(async move |store: &S| store.put(&name, &bytes).await).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let (name, bytes) = (name.to_owned(), bytes.to_vec());
        self.send(async move |store: &S| store.put_if_absent(&name, &bytes).await).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        let name = name.to_owned();
        self.send(async move |store: &S| store.get(&name, max).await).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let prefix = prefix.to_owned();
        self.send(async move |store: &S| store.list(&prefix).await).await
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        let name = name.to_owned();
        self.send(async move |store: &S| store.remove(&name).await).await
    }
}

impl<S: Inventory + 'static> Inventory for Network<S> {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, Bytes),
    ) -> Result<u64, UntrustedError> {
        let answer = self.send(async move |store: &S| {
            let mut all = Vec::new();
            let foreign = store.list_bucket_versions(&mut |bucket, bytes| all.push((bucket, bytes))).await?;
            Ok::<_, UntrustedError>((foreign, all))
        });
        let (foreign, all) = answer.await?;
        all.into_iter().for_each(|(bucket, bytes)| found(bucket, bytes));
        Ok(foreign)
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.send(async move |store: &S| store.sweep_unfinished().await).await
    }
}
