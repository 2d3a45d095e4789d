//! The last bytes of an answer with reads wait until the device has settled them: then a get waits as a put does.

use crate::vault::Vault;
use ameles_gateway::testing::{Event, MemoryDevice};
use ameles_gateway::{Device, DeviceError, FIRST_ACCOUNT, Flow, Gateway, Options};
use bytes::Bytes;
use futures::StreamExt;
use std::sync::Arc;
use tokio::sync::Semaphore;

const BLOCK: usize = 32;

/// A device that settles reads when the test allows it.
struct Settling {
    inner: Arc<MemoryDevice>,
    /// The events before each time that reads were to be settled.
    asked: Arc<parking_lot::Mutex<Vec<Vec<Event>>>>,
    allowed: Arc<Semaphore>,
}

impl Device for Settling {
    fn shape(&self) -> ameles_gateway::DeviceShape {
        self.inner.shape()
    }

    fn rows_free(&self) -> u64 {
        self.inner.rows_free()
    }

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        self.inner.read(flow, blocks).await
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        self.inner.write(flow, writes).await
    }

    async fn load_rows(&self) -> Result<Vec<ameles_gateway::device::Row>, DeviceError> {
        self.inner.load_rows().await
    }

    async fn commit_rows(&self, changes: Vec<ameles_gateway::device::RowChange>) -> Result<(), DeviceError> {
        self.inner.commit_rows(changes).await
    }

    async fn settle_reads(&self) -> Result<(), DeviceError> {
        self.asked.lock().push(self.inner.take_log());
        self.allowed.acquire().await.expect("it is open").forget();
        Ok(())
    }
}

#[tokio::test]
async fn the_last_bytes_of_a_get_come_when_its_reads_are_settled() {
    let vault = Vault::new(BLOCK, 1000, Options { pack: false, ..Options::default() }).await;
    let (asked, allowed) = (Arc::default(), Arc::new(Semaphore::new(0)));
    let device = Settling {
        inner: Arc::clone(&vault.device),
        asked: Arc::clone(&asked),
        allowed: Arc::clone(&allowed),
    };
    for blocks in [1, 3, 9] {
        vault.put("key", &vec![7; blocks * BLOCK]).await.expect("put");
    }
    let gateway = Gateway::open(device, Options { pack: false, ..Options::default() }).await.expect("opened");
    let object = gateway.account(FIRST_ACCOUNT).object("container", "key").expect("it is there");
    vault.device.take_log();
    for _ in 0..2 {
        let mut reader = gateway.read(&object, None).await.expect("read");
        let mut bytes = 0;
        while bytes < 8 * BLOCK {
            bytes += reader.next().await.expect("more").expect("read").len();
        }
        assert_eq!(bytes, 8 * BLOCK);
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        let last = futures::poll!(reader.next());
        assert!(last.is_pending(), "the reads are not settled yet");
        allowed.add_permits(1);
        let last = reader.next().await.expect("more").expect("read");
        assert_eq!(last.len(), BLOCK);
        let seen = std::mem::take(&mut *asked.lock());
        let [before] = &seen[..] else { panic!("settled {} times", seen.len()) };
        let blocks = before.iter().map(|event| match event {
            Event::Read(blocks) => blocks.len(),
            Event::Write(_) | Event::Rows(_) => panic!("{event:?}"),
        });
        let read: usize = blocks.sum();
        assert_eq!(read, 9, "all blocks were read before");
        assert_eq!(vault.device.take_log(), [], "nothing was read after");
    }
}

#[tokio::test]
async fn an_answer_without_reads_settles_nothing() {
    let vault = Vault::new(BLOCK, 1000, Options::default()).await;
    vault.put("key", b"").await.expect("put");
    let asked: Arc<parking_lot::Mutex<Vec<Vec<Event>>>> = Arc::default();
    let device = Settling {
        inner: Arc::clone(&vault.device),
        asked: Arc::clone(&asked),
        allowed: Arc::new(Semaphore::new(9)),
    };
    let gateway = Gateway::open(device, Options::default()).await.expect("opened");
    let object = gateway.account(FIRST_ACCOUNT).object("container", "key").expect("it is there");
    let mut reader = gateway.read(&object, None).await.expect("read");
    assert!(reader.next().await.is_none());
    assert!(asked.lock().is_empty());
}
