//! Objects that go by themselves, by a clock that the test sets.

use ameles_gateway::catalogue::{
    Archive, Clock, ContainerSettings, Details, Expiry, FilterForm, LifecycleFilter, LifecycleRule,
    OldVersions, OnDelete, UnixMillis, Versioning,
};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{Account, Error, FIRST_ACCOUNT, Gateway, Lifecycle, Options, Written};
use bytes::Bytes;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCKS: u64 = 20;
const DAY: u64 = 24 * 60 * 60 * 1000;

struct World {
    device: Arc<MemoryDevice>,
    options: Options,
    now: Arc<AtomicU64>,
    gateway: Gateway,
}

impl World {
    async fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1000));
        let clock = Clock::new({
            let now = Arc::clone(&now);
            move || UnixMillis(now.load(Ordering::Relaxed))
        });
        let device = Arc::new(MemoryDevice::new(16, BLOCKS, 4));
        let options = Options { clock, ..Options::default() };
        let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
        let world = World { device, options, now, gateway };
        world.account().create_container("container", ContainerSettings::default()).await.expect("made");
        world
    }

    fn account(&self) -> Account {
        self.gateway.account(FIRST_ACCOUNT)
    }

    async fn write(&self, bytes: usize) -> Written {
        let mut writer = self.gateway.writer(Some(bytes as u64), None).expect("room");
        writer.push(Bytes::from(vec![1; bytes])).await.expect("pushed");
        writer.finish().await.expect("written")
    }

    async fn put(&self, key: &str, delete_at: Option<u64>) {
        let details = Details { delete_at: delete_at.map(UnixMillis), ..Details::default() };
        self.put_with(key, 20, details).await;
    }

    async fn put_with(&self, key: &str, bytes: usize, details: Details) {
        let written = self.write(bytes).await;
        let conditions = WriteConditions::default();
        self.account().link("container", key, written, details, conditions).await.expect("linked");
    }

    async fn set(&self, rules: impl IntoIterator<Item = LifecycleRule>) {
        let rules: Vec<LifecycleRule> = rules.into_iter().collect();
        let set = |settings: &mut ContainerSettings| {
            settings.lifecycle = rules;
            Ok(())
        };
        self.account().update_container("container", set).await.expect("set");
    }

    /// Carries the rules out in commits of two, and says how much there was.
    async fn carry_out(&self, lifecycle: &mut Lifecycle) -> usize {
        lifecycle.carry_out(&self.gateway, 2).await.expect("carried out")
    }

    /// All versions: key, whether it is a delete marker, whether its key stands for it.
    fn versions(&self) -> Vec<(String, bool, bool)> {
        let all = ListRequest { limit: 100, ..ListRequest::default() };
        let page = self.account().list_versions("container", &all, None).expect("listed");
        let entries = page.entries.into_iter();
        entries.map(|listed| (listed.key, listed.object.version.is_marker(), listed.is_latest)).collect()
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

fn rule(id: &str, prefix: &str) -> LifecycleRule {
    let filter = LifecycleFilter { prefix: Some(prefix.into()), ..LifecycleFilter::default() };
    LifecycleRule { id: id.into(), is_enabled: true, filter, ..LifecycleRule::default() }
}

fn after(days: u32, prefix: &str) -> LifecycleRule {
    LifecycleRule { expiry: Some(Expiry::Days(days)), ..rule("after", prefix) }
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
        details.delete_at = Some(UnixMillis(9000));
        Ok(())
    };
    world.account().update_object("container", "prolonged", true, prolong).await.expect("prolonged");
    world.device.take_log();
    world.at(2500);
    assert_eq!(world.gateway.next_expiry(), Some(UnixMillis(2000)));
    assert_eq!(world.gateway.sweep_expired(10).await.expect("swept"), 1);
    assert_eq!(world.device.take_accesses(), (0, 0));
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 6);
    assert_eq!(world.keys(), ["prolonged", "replaced", "second"]);
    assert_eq!(world.gateway.next_expiry(), Some(UnixMillis(3000)));
}

#[tokio::test]
async fn what_is_due_is_known_after_a_reopening_and_does_not_keep_a_container() {
    let world = World::new().await;
    world.put("brief", Some(2000)).await;
    let reopened = Gateway::open(Arc::clone(&world.device), world.options.clone()).await.expect("opened");
    assert_eq!(reopened.next_expiry(), Some(UnixMillis(2000)));
    world.at(1999);
    let account = reopened.account(FIRST_ACCOUNT);
    let refusal = account.delete_container("container").await;
    assert!(matches!(refusal, Err(Error::ContainerNotEmpty { objects: 1 })));
    world.at(2000);
    account.delete_container("container").await.expect("empty by now");
    assert_eq!(reopened.usage().free_blocks, BLOCKS);
    assert_eq!(reopened.next_expiry(), None);
}

#[tokio::test]
async fn an_object_that_goes_by_itself_does_not_bring_an_older_version_back() {
    let world = World::new().await;
    world.account().set_versioning("container", Versioning::Enabled).await.expect("set");
    world.put("key", None).await;
    world.put("key", Some(2000)).await;
    world.put("alone", Some(2000)).await;
    world.put("old", Some(2000)).await;
    world.put("old", None).await;
    world.at(2000);
    assert_eq!(world.gateway.sweep_expired(10).await.expect("swept"), 3);
    assert_eq!(world.gateway.next_expiry(), None);
    assert_eq!(world.keys(), ["old"]);
    let left = [("key", true, true), ("key", false, false), ("old", false, true)];
    assert_eq!(world.versions(), left.map(|(key, marker, latest)| (key.to_owned(), marker, latest)));
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 4);
}

#[tokio::test]
async fn a_rule_ends_what_it_names_at_the_midnight_after_its_days_and_makes_no_access() {
    let world = World::new().await;
    let off = LifecycleRule { is_enabled: false, ..after(1, "kept/") };
    world.set([after(1, "logs/"), off]).await;
    for key in ["logs/1", "logs/2", "logs/3", "kept/1", "log"] {
        world.put(key, None).await;
    }
    let mut lifecycle = Lifecycle::default();
    world.at(2 * DAY - 1);
    assert_eq!(world.carry_out(&mut lifecycle).await, 0);
    world.put("logs/new", None).await;
    world.device.take_log();
    world.at(2 * DAY);
    let blocks = world.gateway.usage().free_blocks;
    assert_eq!(world.carry_out(&mut lifecycle).await, 3);
    assert_eq!(world.device.take_accesses(), (0, 0));
    assert_eq!(world.keys(), ["kept/1", "log", "logs/new"]);
    assert_eq!(world.gateway.usage().free_blocks, blocks + 6);
    // The catalogue on the disk says the same.
    let reopened = Gateway::open(Arc::clone(&world.device), world.options.clone()).await.expect("opened");
    assert_eq!(reopened.usage().objects, 3);
    world.at(3 * DAY);
    assert_eq!(Lifecycle::default().carry_out(&reopened, 2).await.expect("carried out"), 1);
    assert_eq!(reopened.usage().objects, 2);
}

#[tokio::test]
async fn new_rules_are_carried_out_at_once_and_old_ones_once_a_day() {
    let world = World::new().await;
    world.at(9 * DAY + 5);
    world.set([LifecycleRule { expiry: Some(Expiry::Date(UnixMillis(9 * DAY))), ..rule("date", "a") }]).await;
    world.put("a1", None).await;
    world.put("b1", None).await;
    let mut lifecycle = Lifecycle::default();
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    world.put("a2", None).await;
    assert_eq!(world.carry_out(&mut lifecycle).await, 0);
    world.set([LifecycleRule { expiry: Some(Expiry::Date(UnixMillis(9 * DAY))), ..rule("date", "b") }]).await;
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    assert_eq!(world.keys(), ["a2"]);
    world
        .set([LifecycleRule { expiry: Some(Expiry::Date(UnixMillis(10 * DAY))), ..rule("date", "a") }])
        .await;
    assert_eq!(world.carry_out(&mut lifecycle).await, 0);
    world.at(10 * DAY);
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
}

#[tokio::test]
async fn all_conditions_of_a_rule_must_hold() {
    let world = World::new().await;
    let tags = [("kind".to_owned(), "brief".to_owned()), ("more".to_owned(), "1".to_owned())];
    let filter = LifecycleFilter {
        form: FilterForm::And,
        prefix: Some("a".into()),
        tags: tags.clone().into(),
        more_than: Some(5),
        less_than: Some(20),
    };
    world.set([LifecycleRule { filter, ..after(1, "") }]).await;
    let tagged = Details { tags: tags.clone().into(), ..Details::default() };
    let one_tag = Details { tags: [tags[0].clone()].into(), ..Details::default() };
    for (key, bytes, details) in [
        ("a-goes", 6, &tagged),
        ("a-goes-too", 19, &tagged),
        ("a-small", 5, &tagged),
        ("a-large", 20, &tagged),
        ("a-one-tag", 10, &one_tag),
        ("b", 10, &tagged),
    ] {
        world.put_with(key, bytes, details.clone()).await;
    }
    world.at(2 * DAY);
    assert_eq!(world.carry_out(&mut Lifecycle::default()).await, 2);
    assert_eq!(world.keys(), ["a-large", "a-one-tag", "a-small", "b"]);
}

#[tokio::test]
async fn an_object_that_is_put_while_rules_are_carried_out_survives() {
    let world = World::new().await;
    world.at(2 * DAY);
    world.set([LifecycleRule { expiry: Some(Expiry::Date(UnixMillis(DAY))), ..rule("date", "") }]).await;
    world.put("key", None).await;
    world.put("other", None).await;
    let (written, mut lifecycle) = (world.write(20).await, Lifecycle::default());
    let held = world.device.hold_commits().await;
    let (account, none) = (world.account(), WriteConditions::default());
    // The put waits for the device when the walk looks, and is done when the walk removes.
    let (put, removed, ()) = tokio::join!(
        account.link("container", "key", written, Details::default(), none),
        lifecycle.carry_out(&world.gateway, 2),
        async { drop(held) },
    );
    put.expect("acknowledged");
    assert_eq!(removed.expect("carried out"), 1);
    assert_eq!(world.keys(), ["key"]);
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 2);
}

#[tokio::test]
async fn in_a_container_with_versions_a_rule_puts_a_delete_marker_and_ends_old_ones() {
    let world = World::new().await;
    world.account().set_versioning("container", Versioning::Enabled).await.expect("set");
    let old = OldVersions { days: 2, kept: Some(1) };
    world.set([LifecycleRule { old: Some(old), ..after(1, "key") }]).await;
    for _ in 0..5 {
        world.put("key", None).await;
    }
    let mut lifecycle = Lifecycle::default();
    let (marker, current, old) =
        (("key".to_owned(), true, true), ("key".to_owned(), false, true), ("key".to_owned(), false, false));
    assert_eq!(world.versions().len(), 5);
    assert_eq!(world.versions()[0], current);
    world.at(2 * DAY);
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    assert_eq!(world.versions()[..2], [marker.clone(), old.clone()]);
    assert_eq!(world.versions().len(), 6);
    world.at(3 * DAY);
    assert_eq!(world.carry_out(&mut lifecycle).await, 4);
    assert_eq!(world.versions(), [marker.clone(), old.clone()]);
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 2);
    // The marker is old enough, and hides a version.
    world.at(9 * DAY);
    assert_eq!(world.carry_out(&mut lifecycle).await, 0);
    let all = OldVersions { days: 2, kept: None };
    world.set([LifecycleRule { old: Some(all), ..rule("old", "key") }]).await;
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    assert_eq!(world.versions(), [marker]);
    world.set([LifecycleRule { expiry: Some(Expiry::Markers(true)), ..rule("markers", "") }]).await;
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    assert_eq!((world.versions().len(), world.gateway.usage().free_blocks), (0, BLOCKS));
}

#[tokio::test]
async fn where_versions_are_suspended_a_rule_replaces_the_null_version_only() {
    let world = World::new().await;
    world.account().set_versioning("container", Versioning::Enabled).await.expect("set");
    world.put("key", None).await;
    world.account().set_versioning("container", Versioning::Suspended).await.expect("set");
    world.put("key", None).await;
    world.set([after(1, "")]).await;
    world.at(2 * DAY);
    assert_eq!(world.carry_out(&mut Lifecycle::default()).await, 1);
    assert_eq!(world.versions(), [("key".to_owned(), true, true), ("key".to_owned(), false, false)]);
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 2);
}

#[tokio::test]
async fn an_unfinished_upload_ends_by_its_own_age() {
    let world = World::new().await;
    let abort = LifecycleRule { abort_after_days: Some(1), ..rule("abort", "a") };
    world.set([abort]).await;
    let account = world.account();
    let begin = async |key: &str| {
        let id = account.begin_upload("container", key, Details::default(), None).await.expect("begun");
        account.link_part("container", key, id, 1, world.write(20).await).await.expect("linked");
        id
    };
    let (old, other) = (begin("a").await, begin("b").await);
    world.at(DAY + 1);
    let young = begin("a").await;
    world.at(2 * DAY);
    assert_eq!(world.carry_out(&mut Lifecycle::default()).await, 1);
    assert!(matches!(account.upload("container", "a", old), Err(Error::NoSuchUpload)));
    account.upload("container", "a", young).expect("it is young");
    account.upload("container", "b", other).expect("no rule is about it");
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 4);
}

#[tokio::test]
async fn what_could_not_be_removed_is_tried_again() {
    let world = World::new().await;
    world.set([after(1, "")]).await;
    world.put("key", None).await;
    world.at(2 * DAY);
    let mut lifecycle = Lifecycle::default();
    world.device.set_faults(Faults { commits: CommitFault::RowsFull, ..Faults::default() });
    lifecycle.carry_out(&world.gateway, 2).await.expect_err("told to fail");
    assert_eq!(world.keys(), ["key"]);
    world.device.set_faults(Faults::default());
    assert_eq!(world.carry_out(&mut lifecycle).await, 1);
    assert!(world.keys().is_empty());
}

#[tokio::test]
async fn what_a_rule_ends_goes_to_the_archive_as_with_any_delete() {
    let world = World::new().await;
    let archive = |settings: &mut ContainerSettings| {
        settings.archive = Some(Archive { container: "archive".into(), on_delete: OnDelete::Keep });
        Ok(())
    };
    world.account().update_container("container", archive).await.expect("set");
    world.set([after(1, "")]).await;
    world.account().create_container("archive", ContainerSettings::default()).await.expect("made");
    world.put("key", None).await;
    world.at(2 * DAY);
    assert_eq!(world.carry_out(&mut Lifecycle::default()).await, 1);
    assert!(world.keys().is_empty());
    let all = ListRequest { limit: 100, ..ListRequest::default() };
    assert_eq!(world.account().list("archive", &all).expect("listed").entries.len(), 2);
    assert_eq!(world.gateway.usage().free_blocks, BLOCKS - 2);
}
