//! Several reads and writes are in flight at once and do not mix.

use crate::common::{TestStore, VAULT, master, nonces, slot, uneven};
use ameles_core::store::{BucketVersion, Place, Store, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_core::types::Bucket;
use ameles_seal::cipher::Cipher;
use ameles_seal::derive::Salt;
use ameles_seal::parallel::SealThreads;
use ameles_seal::sealed::Sealed;
use ameles_seal::slot_format::SlotFormat;
use ameles_seal::versions::TrustedVersions;
use futures::executor::block_on;
use futures::future::{join3, poll_immediate};
use std::rc::Rc;
use std::task::Poll;

/// A shelf that answers only when polled again, so that requests overlap.
struct SlowStore(Rc<TestStore>);

async fn yield_once() {
    let mut polled = false;
    futures::future::poll_fn(|context| {
        if std::mem::replace(&mut polled, true) {
            return Poll::Ready(());
        }
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}

impl Untrusted for SlowStore {
    fn layout(&self) -> &Layout {
        self.0.layout()
    }
    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.0.read(places, into).await?;
        yield_once().await;
        Ok(())
    }
    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        yield_once().await;
        self.0.write(buckets, from).await
    }
    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        self.0.delete(buckets).await
    }
}

fn slow_store() -> Sealed<SlowStore> {
    let versions = TrustedVersions::new(VAULT, uneven().buckets());
    let store = SlowStore(TestStore::new(&uneven()));
    let nonces = nonces(SlotFormat::Salted, 1);
    let sealed =
        Sealed::new(store, &master(7), Cipher::default(), nonces, versions, SealThreads::single()).unwrap();
    sealed.begin_epoch(Salt([1; 32])).unwrap();
    sealed
}

#[test]
fn overlapping_reads_and_writes_keep_their_bytes_apart() {
    block_on(async {
        let sealed = slow_store();
        sealed.write(&[Bucket(0), Bucket(2)], &[[1; 120].as_slice(), &[2; 34]].concat()).await.unwrap();
        let (mut one, mut two) = ([0; 40], [0; 17]);
        let all = join3(
            sealed.read(&[slot(0, 2)], &mut one),
            sealed.read(&[slot(2, 1)], &mut two),
            sealed.write(&[Bucket(3)], &[3; 34]),
        )
        .await;
        assert!(matches!(all, (Ok(()), Ok(()), Ok(()))));
        assert_eq!((one, two), ([1; 40], [2; 17]));
        let mut three = [0; 17];
        sealed.read(&[slot(3, 0)], &mut three).await.unwrap();
        assert_eq!(three, [3; 17]);
    });
}

#[test]
fn a_read_that_was_given_up_leaves_nothing_behind() {
    block_on(async {
        let sealed = slow_store();
        sealed.write(&[Bucket(0), Bucket(2)], &[[1; 120].as_slice(), &[2; 34]].concat()).await.unwrap();
        let mut one = [0; 40];
        assert!(poll_immediate(sealed.read(&[slot(0, 2)], &mut one)).await.is_none());
        let mut two = [0; 17];
        sealed.read(&[slot(2, 1)], &mut two).await.unwrap();
        assert_eq!((one, two), ([0; 40], [2; 17]));
    });
}
