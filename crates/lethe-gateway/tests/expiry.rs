//! Objects that go by themselves, by a clock that the test sets.

use bytes::Bytes;
use lethe_gateway::catalogue::{Clock, ContainerSettings, Details, Moment};
use lethe_gateway::conditions::WriteConditions;
use lethe_gateway::listing::ListRequest;
use lethe_gateway::testing::MemoryDevice;
use lethe_gateway::{Account, Error, FIRST_ACCOUNT, Gateway, Options};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCKS: u64 = 20;

struct World {
    device: Arc<MemoryDevice>,
    options: Options,
    now: Arc<AtomicU64>,
    gateway: Gateway<Arc<MemoryDevice>>,
}

impl World {
    async fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1000));
        let clock = Clock::new({
            let now = Arc::clone(&now);
            move || Moment(now.load(Ordering::Relaxed))
        });
        let device = Arc::new(MemoryDevice::new(16, BLOCKS, 4));
        let options = Options { clock, ..Options::default() };
        let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
        let world = World { device, options, now, gateway };
        world.account().create_container("container", ContainerSettings::default()).await.expect("made");
        world
    }

    fn account(&self) -> Account<Arc<MemoryDevice>> {
        self.gateway.account(FIRST_ACCOUNT)
    }

    async fn put(&self, key: &str, delete_at: Option<u64>) {
        let mut writer = self.gateway.writer(Some(20), None).expect("room");
        writer.push(Bytes::from(vec![1; 20])).await.expect("pushed");
        let written = writer.finish().await.expect("written");
        let details = Details { delete_at: delete_at.map(Moment), ..Details::default() };
        let conditions = WriteConditions::default();
        self.account().link("container", key, written, details, conditions).await.expect("linked");
    }

    fn at(&self, moment: u64) {
        self.now.store(moment, Ordering::Relaxed);
    }

    fn keys(&self) -> Vec<String> {
        let all = ListRequest { limit: 100, ..ListRequest::default() };
        let page = self.account().list("container", &all).expect("listed");
        page.entries.into_iter().map(|(key, _)| key).collect()
    }
}

#[tokio::test]
async fn an_object_is_gone_at_its_moment_for_every_verb() {
    let world = World::new().await;
    world.put("brief", Some(2000)).await;
    world.put("lasting", None).await;
    world.at(1999);
    assert_eq!(world.keys(), ["brief", "lasting"]);
    world.at(2000);
    assert_eq!(world.keys(), ["lasting"]);
    assert!(matches!(world.account().object("container", "brief"), Err(Error::NoSuchKey)));
    let update = world.account().update_object("container", "brief", false, |_| Ok(())).await;
    assert!(matches!(update, Err(Error::NoSuchKey)));
    let gone = vec![("brief".to_owned(), WriteConditions::default())];
    let outcomes = world.account().delete("container", gone).await.expect("deleted");
    assert!(matches!(outcomes[..], [Ok(false)]));
}

#[tokio::test]
async fn sweeping_gives_the_blocks_back_and_makes_no_access() {
    let world = World::new().await;
    world.put("first", Some(2000)).await;
    world.put("second", Some(3000)).await;
    world.put("replaced", Some(2000)).await;
    world.put("replaced", None).await;
    world.put("prolonged", Some(2000)).await;
    let prolong = |details: &mut Details| {
        details.delete_at = Some(Moment(9000));
        Ok(())
    };
    world.account().update_object("container", "prolonged", true, prolong).await.expect("prolonged");
    world.device.take_log();
    world.at(2500);
    assert_eq!(world.gateway.next_expiry(), Some(Moment(2000)));
    assert_eq!(world.gateway.sweep_expired(10).await.expect("swept"), 1);
    assert_eq!(world.device.take_accesses(), (0, 0));
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 6);
    assert_eq!(world.keys(), ["prolonged", "replaced", "second"]);
    assert_eq!(world.gateway.next_expiry(), Some(Moment(3000)));
}

#[tokio::test]
async fn what_is_due_is_known_after_a_reopening_and_does_not_keep_a_container() {
    let world = World::new().await;
    world.put("brief", Some(2000)).await;
    let reopened = Gateway::open(Arc::clone(&world.device), world.options.clone()).await.expect("opened");
    assert_eq!(reopened.next_expiry(), Some(Moment(2000)));
    world.at(1999);
    let account = reopened.account(FIRST_ACCOUNT);
    let refusal = account.delete_container("container").await;
    assert!(matches!(refusal, Err(Error::ContainerNotEmpty { objects: 1 })));
    world.at(2000);
    account.delete_container("container").await.expect("empty by now");
    assert_eq!(reopened.usage().free_blocks, BLOCKS);
    assert_eq!(reopened.next_expiry(), None);
}
