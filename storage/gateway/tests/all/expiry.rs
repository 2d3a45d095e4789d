//! Objects that expire, by a clock that the test sets.

use crate::vault::{Vault, everything};
use ameles_gateway::catalogue::{
    Archive, Clock, ContainerSettings, Details, Expiry, FilterForm, LifecycleFilter, LifecycleRule,
    OldVersions, OnDelete, UnixMillis, Versioning,
};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::testing::{CommitFault, Faults};
use ameles_gateway::{Error, Lifecycle, Options};
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const BLOCKS: u64 = 20;
const DAY_MILLIS: u64 = 24 * 60 * 60 * 1000;

/// A vault whose time the test sets.
struct Fixture {
    vault: Vault,
    now: Arc<AtomicU64>,
}

impl Deref for Fixture {
    type Target = Vault;

    fn deref(&self) -> &Vault {
        &self.vault
    }
}

impl Fixture {
    async fn new() -> Self {
        let now = Arc::new(AtomicU64::new(1000));
        let clock = Clock::new({
            let now = Arc::clone(&now);
            move || UnixMillis(now.load(Ordering::Relaxed))
        });
        let options = Options { clock, ..Options::default() };
        Fixture { vault: Vault::new(16, BLOCKS, options).await, now }
    }

    async fn put(&self, key: &str, delete_at: Option<u64>) {
        let details = Details { delete_at: delete_at.map(UnixMillis), ..Details::default() };
        self.put_with(key, 20, details).await;
    }

    async fn put_with(&self, key: &str, bytes: usize, details: Details) {
        let written = self.write(&vec![1; bytes]).await.expect("written");
        let conditions = WriteConditions::default();
        self.account.link("container", key, written, details, conditions).await.expect("linked");
    }

    async fn set_rules(&self, rules: impl IntoIterator<Item = LifecycleRule>) {
        let rules: Vec<LifecycleRule> = rules.into_iter().collect();
        let set_rules = |settings: &mut ContainerSettings| {
            settings.lifecycle = rules;
            Ok(())
        };
        self.account.update_container("container", set_rules).await.expect("set");
    }

    /// Applies the rules in commits of two changes, and returns what was done.
    async fn carry_out(&self, lifecycle: &mut Lifecycle) -> usize {
        lifecycle.carry_out(&self.gateway, 2).await.expect("carried out")
    }

    /// All versions: key, whether it is a delete marker, whether it is the current one.
    fn versions(&self) -> Vec<(String, bool, bool)> {
        let page = self.account.list_versions("container", &everything(), None).expect("listed");
        let entries = page.entries.into_iter();
        entries.map(|listed| (listed.key, listed.object.version.is_marker(), listed.is_latest)).collect()
    }

    fn set_time(&self, time: u64) {
        self.now.store(time, Ordering::Relaxed);
    }

    fn keys(&self) -> Vec<String> {
        let page = self.account.list("container", &everything()).expect("listed");
        page.entries.into_iter().map(|(key, _)| key).collect()
    }
}

fn rule(id: &str, prefix: &str) -> LifecycleRule {
    let filter = LifecycleFilter { prefix: Some(prefix.into()), ..LifecycleFilter::default() };
    LifecycleRule { id: id.into(), is_enabled: true, filter, ..LifecycleRule::default() }
}

fn expire_on(time: u64, prefix: &str) -> LifecycleRule {
    LifecycleRule { expiry: Some(Expiry::Date(UnixMillis(time))), ..rule("date", prefix) }
}

fn expire_after(days: u32, prefix: &str) -> LifecycleRule {
    LifecycleRule { expiry: Some(Expiry::Days(days)), ..rule("after", prefix) }
}

#[tokio::test]
async fn an_expired_object_is_gone_for_every_verb() {
    let fixture = Fixture::new().await;
    fixture.put("brief", Some(2000)).await;
    fixture.put("lasting", None).await;
    fixture.set_time(1999);
    assert_eq!(fixture.keys(), ["brief", "lasting"]);
    fixture.set_time(2000);
    assert_eq!(fixture.keys(), ["lasting"]);
    assert!(matches!(fixture.object("brief"), Err(Error::NoSuchKey)));
    let update = fixture.account.update_object("container", "brief", false, |_| Ok(())).await;
    assert!(matches!(update, Err(Error::NoSuchKey)));
    assert!(!fixture.delete("brief").await.expect("deleted"));
}

#[tokio::test]
async fn sweeping_gives_the_blocks_back_and_makes_no_access() {
    let fixture = Fixture::new().await;
    fixture.put("first", Some(2000)).await;
    fixture.put("second", Some(3000)).await;
    fixture.put("replaced", Some(2000)).await;
    fixture.put("replaced", None).await;
    fixture.put("prolonged", Some(2000)).await;
    let prolong = |details: &mut Details| {
        details.delete_at = Some(UnixMillis(9000));
        Ok(())
    };
    fixture.account.update_object("container", "prolonged", true, prolong).await.expect("prolonged");
    fixture.device.take_log();
    fixture.set_time(2500);
    assert_eq!(fixture.gateway.sweep_expired(10).await.expect("swept"), 1);
    assert_eq!(fixture.device.take_accesses(), (0, 0));
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 6);
    assert_eq!(fixture.keys(), ["prolonged", "replaced", "second"]);
    fixture.set_time(2999);
    assert_eq!(fixture.gateway.sweep_expired(10).await.expect("swept"), 0);
    fixture.set_time(3000);
    assert_eq!(fixture.gateway.sweep_expired(10).await.expect("swept"), 1);
}

#[tokio::test]
async fn what_is_due_is_known_after_a_reopening_and_does_not_keep_a_container() {
    let fixture = Fixture::new().await;
    fixture.put("brief", Some(2000)).await;
    let reopened = fixture.reopen().await;
    fixture.set_time(1999);
    let account = &reopened.account;
    let refusal = account.delete_container("container").await;
    assert!(matches!(refusal, Err(Error::ContainerNotEmpty { objects: 1 })));
    fixture.set_time(2000);
    account.delete_container("container").await.expect("empty by now");
    assert_eq!(reopened.gateway.usage().free_blocks, BLOCKS);
    assert_eq!(reopened.gateway.sweep_expired(10).await.expect("swept"), 0, "nothing is due");
}

#[tokio::test]
async fn an_object_that_expires_does_not_bring_an_older_version_back() {
    let fixture = Fixture::new().await;
    fixture.account.set_versioning("container", Versioning::Enabled).await.expect("set");
    fixture.put("key", None).await;
    fixture.put("key", Some(2000)).await;
    fixture.put("alone", Some(2000)).await;
    fixture.put("old", Some(2000)).await;
    fixture.put("old", None).await;
    fixture.set_time(2000);
    assert_eq!(fixture.gateway.sweep_expired(10).await.expect("swept"), 3);
    assert_eq!(fixture.gateway.sweep_expired(10).await.expect("swept"), 0, "nothing more is due");
    assert_eq!(fixture.keys(), ["old"]);
    let remaining = [("key", true, true), ("key", false, false), ("old", false, true)];
    assert_eq!(fixture.versions(), remaining.map(|(key, marker, latest)| (key.to_owned(), marker, latest)));
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 4);
}

#[tokio::test]
async fn a_rule_ends_what_it_names_at_the_midnight_after_its_days_and_makes_no_access() {
    let fixture = Fixture::new().await;
    let disabled = LifecycleRule { is_enabled: false, ..expire_after(1, "kept/") };
    fixture.set_rules([expire_after(1, "logs/"), disabled]).await;
    for key in ["logs/1", "logs/2", "logs/3", "kept/1", "log"] {
        fixture.put(key, None).await;
    }
    let mut lifecycle = Lifecycle::default();
    fixture.set_time(2 * DAY_MILLIS - 1);
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 0);
    fixture.put("logs/new", None).await;
    fixture.device.take_log();
    fixture.set_time(2 * DAY_MILLIS);
    let blocks = fixture.gateway.usage().free_blocks;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 3);
    assert_eq!(fixture.device.take_accesses(), (0, 0));
    assert_eq!(fixture.keys(), ["kept/1", "log", "logs/new"]);
    assert_eq!(fixture.gateway.usage().free_blocks, blocks + 6);
    // The catalogue on the device says the same.
    let reopened = fixture.reopen().await;
    assert_eq!(reopened.gateway.usage().objects, 3);
    fixture.set_time(3 * DAY_MILLIS);
    assert_eq!(Lifecycle::default().carry_out(&reopened.gateway, 2).await.expect("carried out"), 1);
    assert_eq!(reopened.gateway.usage().objects, 2);
}

#[tokio::test]
async fn new_rules_are_carried_out_at_once_and_old_ones_once_a_day() {
    let fixture = Fixture::new().await;
    fixture.set_time(9 * DAY_MILLIS + 5);
    fixture.set_rules([expire_on(9 * DAY_MILLIS, "a")]).await;
    fixture.put("a1", None).await;
    fixture.put("b1", None).await;
    let mut lifecycle = Lifecycle::default();
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    fixture.put("a2", None).await;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 0);
    fixture.set_rules([expire_on(9 * DAY_MILLIS, "b")]).await;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    assert_eq!(fixture.keys(), ["a2"]);
    fixture.set_rules([expire_on(10 * DAY_MILLIS, "a")]).await;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 0);
    fixture.set_time(10 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
}

#[tokio::test]
async fn all_conditions_of_a_rule_must_hold() {
    let fixture = Fixture::new().await;
    let tags = [("kind".to_owned(), "brief".to_owned()), ("more".to_owned(), "1".to_owned())];
    let filter = LifecycleFilter {
        form: FilterForm::And,
        prefix: Some("a".into()),
        tags: tags.clone().into(),
        more_than: Some(5),
        less_than: Some(20),
    };
    fixture.set_rules([LifecycleRule { filter, ..expire_after(1, "") }]).await;
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
        fixture.put_with(key, bytes, details.clone()).await;
    }
    fixture.set_time(2 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut Lifecycle::default()).await, 2);
    assert_eq!(fixture.keys(), ["a-large", "a-one-tag", "a-small", "b"]);
}

#[tokio::test]
async fn an_object_that_is_put_while_rules_are_carried_out_survives() {
    let fixture = Fixture::new().await;
    fixture.set_time(2 * DAY_MILLIS);
    fixture.set_rules([expire_on(DAY_MILLIS, "")]).await;
    fixture.put("key", None).await;
    fixture.put("other", None).await;
    let (written, mut lifecycle) = (fixture.write(&[1; 20]).await.expect("written"), Lifecycle::default());
    let held = fixture.device.hold_commits().await;
    // The put waits for the device while the walk searches, and ends before the walk removes.
    let (put, removed, ()) =
        tokio::join!(fixture.link("key", written), lifecycle.carry_out(&fixture.gateway, 2), async {
            drop(held)
        },);
    put.expect("acknowledged");
    assert_eq!(removed.expect("carried out"), 1);
    assert_eq!(fixture.keys(), ["key"]);
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 2);
}

#[tokio::test]
async fn in_a_container_with_versions_a_rule_puts_a_delete_marker_and_ends_old_ones() {
    let fixture = Fixture::new().await;
    fixture.account.set_versioning("container", Versioning::Enabled).await.expect("set");
    let old = OldVersions { days: 2, kept: Some(1) };
    fixture.set_rules([LifecycleRule { old: Some(old), ..expire_after(1, "key") }]).await;
    for _ in 0..5 {
        fixture.put("key", None).await;
    }
    let mut lifecycle = Lifecycle::default();
    let (marker, current, old) =
        (("key".to_owned(), true, true), ("key".to_owned(), false, true), ("key".to_owned(), false, false));
    assert_eq!(fixture.versions().len(), 5);
    assert_eq!(fixture.versions()[0], current);
    fixture.set_time(2 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    assert_eq!(fixture.versions()[..2], [marker.clone(), old.clone()]);
    assert_eq!(fixture.versions().len(), 6);
    fixture.set_time(3 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 4);
    assert_eq!(fixture.versions(), [marker.clone(), old.clone()]);
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 2);
    // The marker is old enough to go, but hides a version.
    fixture.set_time(9 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 0);
    let all = OldVersions { days: 2, kept: None };
    fixture.set_rules([LifecycleRule { old: Some(all), ..rule("old", "key") }]).await;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    assert_eq!(fixture.versions(), [marker]);
    fixture.set_rules([LifecycleRule { expiry: Some(Expiry::Markers(true)), ..rule("markers", "") }]).await;
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    assert_eq!((fixture.versions().len(), fixture.gateway.usage().free_blocks), (0, BLOCKS));
}

#[tokio::test]
async fn where_versions_are_suspended_a_rule_replaces_the_null_version_only() {
    let fixture = Fixture::new().await;
    fixture.account.set_versioning("container", Versioning::Enabled).await.expect("set");
    fixture.put("key", None).await;
    fixture.account.set_versioning("container", Versioning::Suspended).await.expect("set");
    fixture.put("key", None).await;
    fixture.set_rules([expire_after(1, "")]).await;
    fixture.set_time(2 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut Lifecycle::default()).await, 1);
    assert_eq!(fixture.versions(), [("key".to_owned(), true, true), ("key".to_owned(), false, false)]);
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 2);
}

#[tokio::test]
async fn an_unfinished_upload_ends_by_its_own_age() {
    let fixture = Fixture::new().await;
    let abort = LifecycleRule { abort_after_days: Some(1), ..rule("abort", "a") };
    fixture.set_rules([abort]).await;
    let account = &fixture.account;
    let begin = async |key: &str| {
        let id = fixture.begin_upload(key).await.expect("begun");
        fixture.put_part(key, id, 1, &[1; 20]).await.expect("linked");
        id
    };
    let (old, other) = (begin("a").await, begin("b").await);
    fixture.set_time(DAY_MILLIS + 1);
    let newer = begin("a").await;
    fixture.set_time(2 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut Lifecycle::default()).await, 1);
    assert!(matches!(account.upload("container", "a", old), Err(Error::NoSuchUpload)));
    account.upload("container", "a", newer).expect("it is young");
    account.upload("container", "b", other).expect("no rule is about it");
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 4);
}

#[tokio::test]
async fn what_could_not_be_removed_is_tried_again() {
    let fixture = Fixture::new().await;
    fixture.set_rules([expire_after(1, "")]).await;
    fixture.put("key", None).await;
    fixture.set_time(2 * DAY_MILLIS);
    let mut lifecycle = Lifecycle::default();
    fixture.device.set_faults(Faults { commits: CommitFault::RowsFull, ..Faults::default() });
    lifecycle.carry_out(&fixture.gateway, 2).await.expect_err("simulated failure");
    assert_eq!(fixture.keys(), ["key"]);
    fixture.device.set_faults(Faults::default());
    assert_eq!(fixture.carry_out(&mut lifecycle).await, 1);
    assert!(fixture.keys().is_empty());
}

#[tokio::test]
async fn what_a_rule_ends_goes_to_the_archive_as_with_any_delete() {
    let fixture = Fixture::new().await;
    let archive = |settings: &mut ContainerSettings| {
        settings.archive = Some(Archive { container: "archive".into(), on_delete: OnDelete::Keep });
        Ok(())
    };
    fixture.account.update_container("container", archive).await.expect("set");
    fixture.set_rules([expire_after(1, "")]).await;
    fixture.account.create_container("archive", ContainerSettings::default()).await.expect("made");
    fixture.put("key", None).await;
    fixture.set_time(2 * DAY_MILLIS);
    assert_eq!(fixture.carry_out(&mut Lifecycle::default()).await, 1);
    assert!(fixture.keys().is_empty());
    assert_eq!(fixture.account.list("archive", &everything()).expect("listed").entries.len(), 2);
    assert_eq!(fixture.gateway.usage().free_blocks, BLOCKS - 2);
}
