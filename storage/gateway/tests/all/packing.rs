//! Small objects that share blocks: their cost, their accesses, and that no byte of them is lost.

use ameles_gateway::catalogue::{ContainerSettings, Details, Object};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::testing::{CommitFault, Event, Faults, MemoryDevice};
use ameles_gateway::{Error, FIRST_ACCOUNT, Gateway, Options, Padding};
use bytes::Bytes;
use futures::TryStreamExt;
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 1024;
const SMALL: usize = BLOCK / 16;

struct Fixture {
    device: Arc<MemoryDevice>,
    gateway: Gateway,
}

impl Fixture {
    async fn new(blocks: u64) -> Self {
        let device = Arc::new(MemoryDevice::new(BLOCK, blocks, 8));
        let fixture = Fixture { gateway: reopen(&device).await, device };
        let account = fixture.gateway.account(FIRST_ACCOUNT);
        account.create_container("container", ContainerSettings::default()).await.expect("made");
        fixture.device.take_log();
        fixture
    }

    async fn put(&self, key: &str, body: &[u8]) -> Result<Arc<Object>, Error> {
        let mut writer = self.gateway.writer(Some(body.len() as u64), None)?;
        writer.push(Bytes::copy_from_slice(body)).await?;
        let written = writer.finish().await?;
        let account = self.gateway.account(FIRST_ACCOUNT);
        account.link("container", key, written, Details::default(), WriteConditions::default()).await
    }

    async fn delete(&self, keys: impl Iterator<Item = String>) {
        let keys = keys.map(|key| (key, WriteConditions::default())).collect();
        self.gateway.account(FIRST_ACCOUNT).delete("container", keys).await.expect("deleted");
    }

    async fn get(&self, key: &str, range: Option<Range<u64>>) -> Vec<u8> {
        let object = self.gateway.account(FIRST_ACCOUNT).object("container", key).expect("there");
        let pieces = self.gateway.read(&object, range).await.expect("read");
        pieces.try_collect::<Vec<Bytes>>().await.expect("read").concat()
    }

    /// The sizes of the batches since the last call.
    fn take_batch_sizes(&self) -> Vec<usize> {
        let log = self.device.take_log().into_iter();
        log.filter_map(|event| match event {
            Event::Read(blocks) | Event::Write(blocks) => Some(blocks.len()),
            Event::Rows(_) => None,
        })
        .collect()
    }
}

async fn reopen(device: &Arc<MemoryDevice>) -> Gateway {
    Gateway::open(Arc::clone(device), Options::default()).await.expect("opened")
}

fn body(number: usize) -> Vec<u8> {
    (0..SMALL).map(|at| (number * 31 + at) as u8).collect()
}

#[tokio::test]
async fn ten_thousand_small_objects_take_the_space_of_their_bytes_and_four_accesses_a_block() {
    let fixture = Fixture::new(10_000).await;
    for number in 0..10_000 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    let blocks = (10_000 * SMALL / BLOCK) as u64;
    let usage = fixture.gateway.usage();
    assert!(usage.blocks - usage.free_blocks <= blocks, "{usage:?}");
    assert!(usage.packed.waiting_bytes <= 2 * BLOCK as u64, "{usage:?}");
    assert_eq!(usage.packed.live_bytes + usage.packed.waiting_bytes, usage.bytes);
    let accesses: usize = fixture.take_batch_sizes().iter().sum();
    assert_eq!(accesses as u64, 4 * blocks);
    for number in (0..10_000).step_by(7) {
        assert_eq!(fixture.get(&number.to_string(), None).await, body(number));
    }
}

#[tokio::test]
async fn reading_a_small_object_is_one_access_whether_it_waits_or_is_packed() {
    let fixture = Fixture::new(100).await;
    for number in 0..40 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    let usage = fixture.gateway.usage().packed;
    assert!(usage.blocks > 0 && usage.waiting_bytes > 0, "{usage:?}");
    fixture.take_batch_sizes();
    for number in 0..40 {
        assert_eq!(fixture.get(&number.to_string(), None).await, body(number));
        assert_eq!(fixture.take_batch_sizes(), [1]);
        assert_eq!(fixture.get(&number.to_string(), Some(3..10)).await, body(number)[3..10]);
        assert_eq!(fixture.take_batch_sizes(), [1]);
    }
}

#[tokio::test]
async fn the_visible_accesses_depend_on_the_bytes_written_only() {
    let mut take_batch_sizes = Vec::new();
    for history in 0..3 {
        let fixture = Fixture::new(200).await;
        for number in 0..600usize {
            let key = match history {
                0 => number.to_string(),
                1 => "always the same".to_owned(),
                _ => (number % 90).to_string(),
            };
            fixture.put(&key, &body(number)).await.expect("put");
            if history == 2 && number.is_multiple_of(3) {
                fixture.delete((0..40).map(|key| key.to_string())).await;
            }
        }
        take_batch_sizes.push(fixture.take_batch_sizes());
    }
    assert_eq!(take_batch_sizes[0].len(), 600 * SMALL / (BLOCK / 2) * 2);
    assert!(take_batch_sizes.iter().all(|history| *history == take_batch_sizes[0]), "{take_batch_sizes:?}");
}

#[tokio::test]
async fn a_put_that_is_refused_at_its_end_shows_as_much_as_one_that_is_not() {
    let counts = async |refuse: bool| {
        let fixture = Fixture::new(200).await;
        for number in 0..100usize {
            let mut writer = fixture.gateway.writer(Some(SMALL as u64), None).expect("room");
            writer.push(Bytes::from(body(number))).await.expect("pushed");
            let written = writer.finish().await.expect("written");
            if !refuse {
                let account = fixture.gateway.account(FIRST_ACCOUNT);
                let (details, none) = (Details::default(), WriteConditions::default());
                account.link("container", &number.to_string(), written, details, none).await.expect("linked");
            }
        }
        fixture.take_batch_sizes()
    };
    assert_eq!(counts(true).await, counts(false).await);
}

#[tokio::test]
async fn space_of_deleted_small_objects_comes_back_as_others_are_written() {
    let fixture = Fixture::new(400).await;
    let used = |fixture: &Fixture| {
        let usage = fixture.gateway.usage();
        usage.blocks - usage.free_blocks
    };
    for number in 0..1600 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    let full = used(&fixture);
    // Three quarters of every pack are deleted, but no pack as a whole.
    fixture.delete((0..1600).filter(|number| number % 4 != 0).map(|number| number.to_string())).await;
    assert!(used(&fixture) > full - 5);
    for number in 1600..2800 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    assert!(used(&fixture) <= full + 2, "{} of {full}", used(&fixture));
    for number in (0..1600).step_by(4).chain(1600..2800) {
        assert_eq!(fixture.get(&number.to_string(), None).await, body(number));
    }
    fixture.delete((0..2800).map(|number| number.to_string())).await;
    fixture.gateway.settle().await;
    assert_eq!(used(&fixture), 0);
}

#[tokio::test]
async fn a_full_vault_gives_back_what_small_objects_left_behind_before_it_refuses() {
    let fixture = Fixture::new(60).await;
    for number in 0..900 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    fixture.delete((0..900).filter(|number| number % 4 != 0).map(|number| number.to_string())).await;
    let large = vec![9; 40 * BLOCK];
    assert!(fixture.gateway.usage().free_blocks < 40);
    fixture.put("large", &large).await.expect("there is room");
    assert_eq!(fixture.get("large", None).await, large);
    for number in (0..900).step_by(4) {
        assert_eq!(fixture.get(&number.to_string(), None).await, body(number));
    }
    let refused = fixture.put("larger", &vec![9; 30 * BLOCK]).await.map(drop);
    assert!(matches!(refused, Err(Error::Full { needed: 30, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_small_object_is_read_to_its_end_although_it_is_deleted_and_its_block_reused() {
    let fixture = Fixture::new(30).await;
    for number in 0..64 {
        fixture.put(&number.to_string(), &body(number)).await.expect("put");
    }
    let account = fixture.gateway.account(FIRST_ACCOUNT);
    let held = account.object("container", "5").expect("there");
    fixture.delete((0..64).map(|number| number.to_string())).await;
    for number in 0..20 {
        fixture.put(&format!("large {number}"), &[7; BLOCK]).await.expect("put");
    }
    let read = fixture.gateway.read(&held, None).await.expect("read");
    assert_eq!(read.try_collect::<Vec<Bytes>>().await.expect("read").concat(), body(5));
}

#[tokio::test]
async fn small_objects_are_there_after_every_failure_and_every_reopening() {
    for fault in [CommitFault::Before, CommitFault::After, CommitFault::RowsFull, CommitFault::None] {
        let fixture = Fixture::new(100).await;
        for number in 0..100 {
            fixture.put(&number.to_string(), &body(number)).await.expect("put");
        }
        fixture.delete((0..100).filter(|number| number % 3 != 0).map(|number| number.to_string())).await;
        let writes_left = (fault == CommitFault::None).then_some(0);
        fixture.device.set_faults(Faults { commits: fault, writes_left, ..Faults::default() });
        for number in 100..140 {
            let put = fixture.put(&number.to_string(), &body(number)).await;
            assert_eq!(
                put.is_ok(),
                fault == CommitFault::None,
                "a small put writes no block before it is acknowledged"
            );
        }
        fixture.gateway.settle().await;
        fixture.device.set_faults(Faults::default());
        let kept = |number: &usize| {
            if *number < 100 { number.is_multiple_of(3) } else { fault == CommitFault::None }
        };
        let reopened =
            Fixture { device: Arc::clone(&fixture.device), gateway: reopen(&fixture.device).await };
        for fixture in [&fixture, &reopened] {
            for number in (0..140).filter(kept) {
                assert_eq!(fixture.get(&number.to_string(), None).await, body(number), "{fault:?}");
            }
        }
        // Later puts overwrite nothing of what is there.
        drop(fixture);
        for number in 200..300 {
            reopened.put(&number.to_string(), &body(number)).await.expect("put");
        }
        for number in (0..140).filter(kept).chain(200..300) {
            assert_eq!(reopened.get(&number.to_string(), None).await, body(number), "{fault:?}");
        }
    }
}

#[tokio::test]
async fn with_padding_every_object_has_blocks_of_its_own() {
    let device = Arc::new(MemoryDevice::new(BLOCK, 10, 8));
    let options = Options { padding: Padding::PowersOfTwo, ..Options::default() };
    let gateway = Gateway::open(Arc::clone(&device), options).await.expect("opened");
    gateway
        .account(FIRST_ACCOUNT)
        .create_container("container", ContainerSettings::default())
        .await
        .expect("made");
    let fixture = Fixture { device, gateway };
    fixture.put("small", b"small").await.expect("put");
    assert_eq!(fixture.gateway.usage().free_blocks, 9);
}
