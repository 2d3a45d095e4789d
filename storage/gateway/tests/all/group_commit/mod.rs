//! Group commit. Changes that come during a commit share the next one. They keep the promises of changes that come one
//! after the other, and succeed or fail together.

mod concurrent;
mod register;

use crate::vault::{Vault, everything};
use ameles_gateway::catalogue::{ContainerSettings, Object};
use ameles_gateway::objects::conditions::{TagMatch, WriteConditions};
use ameles_gateway::testing::{CommitFault, Event, Faults, MemoryDevice};
use ameles_gateway::{DeviceError, Error, Options};
use futures::future::join_all;
use std::sync::Arc;
use tokio::task::JoinHandle;

const BLOCK: usize = 32;
const BLOCKS: u64 = 200;

async fn fresh() -> Vault {
    Vault::new(BLOCK, BLOCKS, alone()).await
}

/// A vault with this object.
async fn with_object(key: &str) -> (Vault, Arc<Object>) {
    let vault = fresh().await;
    let object = vault.put(key, b"first").await.expect("put");
    (vault, object)
}

/// The tests count blocks and commits: small objects must not share blocks, and no repacking may commit.
fn alone() -> Options {
    Options { pack: false, ..Options::default() }
}

pub fn if_absent() -> WriteConditions {
    WriteConditions { if_match: None, if_none_match: Some(TagMatch::Any) }
}

pub fn if_it_is(object: &Object) -> WriteConditions {
    let tag = TagMatch::Tag(object.etag.clone());
    WriteConditions { if_match: Some(tag), if_none_match: None }
}

/// Lets everything run that can run without a commit.
async fn pause() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

/// Holds commits, while the commit of a put is running.
async fn hold_a_commit(vault: &Vault) -> (impl Drop + '_, JoinHandle<Result<Arc<Object>, Error>>) {
    let held = vault.device.hold_commits().await;
    let started = tokio::spawn({
        let vault = vault.clone();
        async move { vault.put("begun", b"body").await }
    });
    pause().await;
    (held, started)
}

/// Releases the commits once everything else that can run has run.
async fn release<H>(held: H) {
    pause().await;
    drop(held);
}

fn commits(device: &MemoryDevice) -> usize {
    device.take_log().iter().filter(|event| matches!(event, Event::Rows(_))).count()
}

/// Checks that a gateway that reads the rows now has the same usage and lists the same names and ETags.
pub async fn agrees_with_its_rows(vault: &Vault) {
    vault.gateway.settle().await;
    let reloaded = Vault::over(Arc::clone(&vault.device), alone()).await;
    assert_eq!(reloaded.gateway.usage(), vault.gateway.usage());
    let listed = |vault: &Vault| {
        let page = vault.account.list("container", &everything()).expect("listed");
        page.entries.into_iter().map(|(key, object)| (key, object.etag.clone())).collect::<Vec<_>>()
    };
    assert_eq!(listed(&reloaded), listed(vault));
}

/// Leaves room for this many more bytes of rows.
async fn bound_rows(vault: &Vault, more: u64) {
    let rows = ameles_gateway::Device::load_rows(&vault.device).await.expect("rows");
    let used: usize = rows.iter().map(|(key, value)| key.len() + value.len()).sum();
    vault.device.bound_rows(used as u64 + more);
}

#[tokio::test]
async fn what_comes_while_a_commit_is_under_way_shares_the_next_one() {
    let vault = fresh().await;
    let (held, started) = hold_a_commit(&vault).await;
    let keys: Vec<String> = (0..16).map(|number| format!("key {number}")).collect();
    let puts = join_all(keys.iter().map(|key| vault.put(key, b"body")));
    let work = async {
        pause().await;
        assert!(keys.iter().all(|key| matches!(vault.object(key), Err(Error::NoSuchKey))));
        drop(held);
    };
    let (puts, ()) = futures::join!(puts, work);
    assert!(puts.iter().all(Result::is_ok), "{puts:?}");
    started.await.expect("no panic").expect("put");
    assert_eq!(commits(&vault.device), 2, "the one that was under way, and one of all the others");
    assert!(keys.iter().all(|key| vault.object(key).is_ok()));
    agrees_with_its_rows(&vault).await;
}

#[tokio::test]
async fn nothing_is_visible_before_it_is_durable_not_even_in_a_refusal() {
    let (vault, first) = with_object("key").await;
    let (held, started) = hold_a_commit(&vault).await;
    let mut second = Box::pin(vault.put("key", b"second"));
    let mut refused = Box::pin(vault.put_if("key", b"third", if_it_is(&first)));
    let mut again = Box::pin(vault.account.create_container("container", ContainerSettings::default()));
    for _ in 0..10 {
        pause().await;
        assert!(!started.is_finished());
        assert!(futures::poll!(&mut second).is_pending());
        assert!(futures::poll!(&mut refused).is_pending(), "it would tell of a put that may be lost");
        assert!(futures::poll!(&mut again).is_pending());
        assert_eq!(vault.object("key").expect("there").etag, first.etag);
        assert_eq!(vault.reopen().await.gateway.usage().objects, 1);
    }
    // The running commit ends; the next one has its group, and is held.
    drop(held);
    let held = vault.device.hold_commits().await;
    pause().await;
    assert!(
        matches!(again.await, Err(Error::ContainerExists)),
        "it came first, and tells of no other's change"
    );
    for _ in 0..10 {
        pause().await;
        assert!(futures::poll!(&mut second).is_pending());
        assert!(futures::poll!(&mut refused).is_pending(), "it would tell of a put that may be lost");
        assert_eq!(vault.object("key").expect("there").etag, first.etag);
        assert_eq!(
            Vault::over(Arc::new(vault.device.after_kill()), alone()).await.gateway.usage().objects,
            2
        );
    }
    assert!(started.is_finished());
    drop(held);
    started.await.expect("no panic").expect("put");
    let second = second.await.expect("put");
    assert!(matches!(refused.await, Err(Error::PreconditionFailed(_))));
    assert_eq!(vault.object("key").expect("there").etag, second.etag);
}

#[tokio::test]
async fn a_commit_that_fails_fails_for_all_in_its_group_and_leaves_nothing_of_it() {
    let faults = [CommitFault::Before, CommitFault::After];
    for (commits, commits_left) in faults.into_iter().flat_map(|fault| [(fault, 0), (fault, 1)]) {
        let (vault, first) = with_object("key").await;
        vault.put("kept", &[7; 5 * BLOCK]).await.expect("put");
        let before = vault.gateway.usage();
        let (held, started) = hold_a_commit(&vault).await;
        vault.device.set_faults(Faults { commits, commits_left, ..Faults::default() });
        let work = release(held);
        let (started, put_over, refused, absent, deleted, ()) = futures::join!(
            started,
            vault.put("key", &[2; 3 * BLOCK]),
            vault.put_if("key", b"third", if_it_is(&first)),
            vault.put_if("new", b"new", if_absent()),
            vault.delete("kept"),
            work,
        );
        let failed = |error: Option<Error>| matches!(error, Some(Error::Device(DeviceError::Unavailable(_))));
        assert_eq!(failed(started.expect("no panic").err()), commits_left == 0, "the group before");
        assert!(failed(put_over.err()), "a put");
        assert!(failed(refused.err()), "a put whose condition failed because of it");
        assert!(failed(absent.err()), "another key's put");
        assert!(failed(deleted.err()), "a delete");
        vault.gateway.settle().await;
        let others = commits_left;
        assert_eq!(vault.gateway.usage().objects, before.objects + others);
        assert_eq!(vault.object("key").expect("there").etag, first.etag);
        // Any of it may be durable until the next change undoes it; the rows are consistent.
        vault.reopen().await;
        vault.device.set_faults(Faults::default());
        vault.put("last", b"last").await.expect("put");
        assert_eq!(vault.gateway.usage().objects, before.objects + others + 1);
        assert_eq!(vault.gateway.usage().free_blocks, before.free_blocks - others - 1);
        agrees_with_its_rows(&vault).await;
    }
}

#[tokio::test]
async fn of_several_puts_of_one_key_in_a_group_the_last_one_stands_and_a_failure_takes_all_back() {
    for fault in [CommitFault::None, CommitFault::Before, CommitFault::After] {
        let vault = fresh().await;
        let first = vault.put("key", b"first").await.expect("put").etag.clone();
        let (held, started) = hold_a_commit(&vault).await;
        vault.device.set_faults(Faults { commits: fault, commits_left: 1, ..Faults::default() });
        let bodies = ["second", "third", "fourth"];
        let puts = join_all(bodies.map(|body| vault.put("key", body.as_bytes())));
        let work = release(held);
        let (puts, ()) = futures::join!(puts, work);
        drop(started.await.expect("no panic").expect("put"));
        let (current, held_blocks) = if fault == CommitFault::None {
            let tags: Vec<_> = puts.iter().map(|put| put.as_ref().expect("put").etag.clone()).collect();
            assert!(tags[0] != tags[1] && tags[1] != tags[2], "each is told of its own: {tags:?}");
            (tags[2].clone(), 0)
        } else {
            assert!(puts.iter().all(Result::is_err), "{puts:?}");
            // The rows may refer to these blocks until the changes are undone.
            (first, puts.len() as u64)
        };
        // A handle of an object keeps its blocks.
        drop(puts);
        vault.gateway.settle().await;
        assert_eq!(vault.gateway.usage().free_blocks, BLOCKS - 2 - held_blocks);
        assert_eq!(vault.object("key").expect("there").etag, current);
        if fault != CommitFault::None {
            // Until the rows are known again, nothing else is committed.
            vault.device.set_faults(Faults { commits: CommitFault::Before, ..Faults::default() });
            assert!(vault.put("other", b"other").await.is_err());
            vault.device.set_faults(Faults::default());
        }
        vault.put("last", b"last").await.expect("put");
        assert_eq!(vault.object("key").expect("there").etag, current);
        agrees_with_its_rows(&vault).await;
    }
}

#[tokio::test]
async fn one_of_many_conditional_puts_of_the_same_object_succeeds() {
    let (vault, old) = with_object("old").await;
    let (held, started) = hold_a_commit(&vault).await;
    let bodies: Vec<String> = (0..12).map(|number| format!("body {number}")).collect();
    let first_puts = join_all(bodies.iter().map(|body| vault.put_if("new", body.as_bytes(), if_absent())));
    let replaced = join_all(bodies.iter().map(|body| vault.put_if("old", body.as_bytes(), if_it_is(&old))));
    let work = release(held);
    let (first_puts, replaced, ()) = futures::join!(first_puts, replaced, work);
    started.await.expect("no panic").expect("put");
    drop(old);
    for (key, outcomes) in [("new", first_puts), ("old", replaced)] {
        let (done, refused): (Vec<_>, Vec<_>) = outcomes.into_iter().partition(Result::is_ok);
        assert_eq!((done.len(), refused.len()), (1, 11), "{key}");
        let refused_well = |outcome: &Result<_, _>| matches!(outcome, Err(Error::PreconditionFailed(_)));
        assert!(refused.iter().all(refused_well), "{key}: {refused:?}");
        let current = vault.object(key).expect("there").etag.clone();
        assert_eq!(current, done[0].as_ref().expect("one of them").etag, "{key}");
    }
    agrees_with_its_rows(&vault).await;
}

#[tokio::test]
async fn a_quota_holds_for_all_that_come_at_once() {
    let vault = fresh().await;
    let bound = |settings: &mut ContainerSettings| {
        settings.metadata.insert("quota-count".into(), "5".into());
        Ok(())
    };
    vault.account.update_container("container", bound).await.expect("bound");
    let (held, started) = hold_a_commit(&vault).await;
    let keys: Vec<String> = (0..16).map(|number| format!("key {number}")).collect();
    let puts = join_all(keys.iter().map(|key| vault.put(key, b"body")));
    let work = release(held);
    let (puts, ()) = futures::join!(puts, work);
    started.await.expect("no panic").expect("put");
    assert_eq!(puts.iter().filter(|put| put.is_ok()).count(), 4, "one more was under way");
    assert!(puts.iter().filter_map(|put| put.as_ref().err()).all(|e| matches!(e, Error::OverQuota(_))));
    assert_eq!(vault.gateway.usage().objects, 5);
    agrees_with_its_rows(&vault).await;
}

#[tokio::test]
async fn an_upload_is_completed_or_aborted_once_and_its_blocks_have_one_holder() {
    let vault = fresh().await;
    let id = vault.begin_upload("key").await.expect("begun");
    vault.put_part("key", id, 1, &[4; 3 * BLOCK]).await.expect("linked");
    let (held, started) = hold_a_commit(&vault).await;
    let complete = || vault.complete("key", id, &[1]);
    let work = release(held);
    let (started, one, aborted, over, two, deleted, ()) = futures::join!(
        started,
        complete(),
        vault.account.abort_upload("container", "key", id),
        vault.put("key", b"over"),
        complete(),
        vault.delete("key"),
        work,
    );
    started.expect("no panic").expect("put");
    over.expect("put");
    assert!(one.is_ok() != aborted.is_ok(), "{one:?} {aborted:?}");
    assert!(
        matches!(two, Err(Error::NoSuchUpload)),
        "it is over, and no ETag tells of which object: {two:?}"
    );
    assert_eq!(deleted.expect("deleted"), one.is_ok());
    drop(one);
    agrees_with_its_rows(&vault).await;
    assert_eq!((vault.gateway.usage().objects, vault.gateway.usage().free_blocks), (2, BLOCKS - 2));
}

#[tokio::test]
async fn a_full_catalogue_refuses_what_has_no_room_and_nobody_else_in_its_group() {
    let vault = fresh().await;
    for number in 0..3 {
        vault.put(&format!("old {number}"), b"body").await.expect("put");
    }
    bound_rows(&vault, 700).await;
    let (held, started) = hold_a_commit(&vault).await;
    let long = "long ".repeat(200);
    let work = release(held);
    let (started, small, large, one, two, deleted, later, ()) = futures::join!(
        started,
        vault.put("small", b"body"),
        vault.put(&long, b"body"),
        vault.put("old 2", b"one"),
        vault.put("old 2", b"two"),
        vault.delete("old 0"),
        vault.delete("old 1"),
        work,
    );
    started.expect("no panic").expect("there is room for it");
    small.expect("there is room for it");
    assert!(matches!(large, Err(Error::Device(DeviceError::RowsFull))), "{large:?}");
    assert!(deleted.expect("a delete needs no room") && later.expect("a delete needs no room"));
    // The changes after it keep their order.
    let (one, two) = (one.expect("put"), two.expect("put"));
    assert_eq!(vault.object("old 2").expect("there").etag, two.etag);
    drop((one, two));
    agrees_with_its_rows(&vault).await;
}

#[tokio::test]
async fn no_account_fills_the_catalogue_so_that_others_have_no_room() {
    let vault = fresh().await;
    vault.device.bound_rows(64 << 10);
    let mut refused = None;
    for number in 0..1000 {
        if let Err(error) = vault.put(&format!("{number}{}", "long ".repeat(100)), b"").await {
            refused = Some((number, error));
            break;
        }
    }
    let (number, error) = refused.expect("there is no room for so many");
    assert!(matches!(error, Error::OverRowShare), "{error:?}");
    let free = ameles_gateway::Device::rows_free(&*vault.device);
    assert!((15 << 10..18 << 10).contains(&free), "a quarter is left: {free} after {number}");
    let other = vault.gateway.account("other");
    other.create_container("theirs", ContainerSettings::default()).await.expect("there is room for others");
    // A change that shrinks the rows or keeps their size succeeds, and makes room.
    let another = format!("x{}", "long ".repeat(100));
    let key = format!("0{}", "long ".repeat(100));
    vault.put(&key, b"").await.expect("no larger than before");
    assert!(vault.delete(&key).await.expect("a delete needs no room"));
    vault.put(&key, b"").await.expect("there is room again");
    assert!(matches!(vault.put(&another, b"").await, Err(Error::OverRowShare)));
    // The count is the same after a restart.
    drop(other);
    vault.gateway.settle().await;
    let vault = vault.reopen().await;
    assert!(matches!(vault.put(&another, b"").await, Err(Error::OverRowShare)));
    assert!(vault.delete(&key).await.expect("a delete needs no room"));
    vault.put(&key, b"").await.expect("there is room again");
}

#[tokio::test]
async fn changes_planned_after_a_group_that_fails_fail_with_it_even_if_committed_alone() {
    let vault = fresh().await;
    let long = "long ".repeat(100);
    let old = vault.put(&long, b"old").await.expect("put").etag.clone();
    bound_rows(&vault, 600).await;
    let (held, started) = hold_a_commit(&vault).await;
    let work = async {
        pause().await;
        drop(held);
        // The group is full: later changes wait for the next one.
        let held = vault.device.hold_commits().await;
        pause().await;
        vault.device.set_faults(Faults { commits: CommitFault::Before, ..Faults::default() });
        let mut next = Box::pin(vault.device.hold_commits());
        assert!(futures::poll!(&mut next).is_pending());
        drop(held);
        let held = next.await;
        vault.device.set_faults(Faults::default());
        drop(held);
    };
    let (started, small, over, ()) = futures::join!(
        started,
        vault.put("small", b"body"),
        // It replaces another row, so only the device can say whether it fits.
        vault.put(&long, b"over"),
        work,
    );
    drop(started.expect("no panic").expect("put"));
    let failed = |error: Option<Error>| matches!(error, Some(Error::Device(DeviceError::Unavailable(_))));
    assert!(failed(small.err()), "its group");
    assert!(failed(over.err()), "it would stand upon what is not there");
    assert_eq!(vault.object(&long).expect("there").etag, old);
    vault.put("last", b"last").await.expect("put");
    agrees_with_its_rows(&vault).await;
}

#[tokio::test]
async fn a_plan_that_panics_takes_nobody_along() {
    let vault = fresh().await;
    let (held, started) = hold_a_commit(&vault).await;
    let puts = join_all(["one", "two", "three"].map(|key| vault.put(key, b"body")));
    let panicking = tokio::spawn({
        let account = vault.account.clone();
        async move { account.update_container("container", |_| panic!("a flaw in a plan")).await }
    });
    let work = release(held);
    let (puts, panicked, more, ()) = futures::join!(puts, panicking, vault.put("four", b"body"), work);
    started.await.expect("no panic").expect("put");
    assert!(panicked.is_err_and(|error| error.is_panic()));
    assert!(puts.iter().all(Result::is_ok) && more.is_ok());
    agrees_with_its_rows(&vault).await;
}
