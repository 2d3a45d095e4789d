//! The table of accesses per verb in the crate's documentation, counted on a vault.device.

use crate::vault::{Vault, everything};
use ameles_gateway::catalogue::{Object, Versioning};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::objects::versions::Removal;
use ameles_gateway::testing::Event;
use ameles_gateway::{Options, Padding};
use futures::StreamExt;
use std::ops::Range;
use std::sync::Arc;

const BLOCK: usize = 32;

async fn open(padding: Padding) -> Vault {
    Vault::new(BLOCK, 1000, Options { padding, pack: false, ..Options::default() }).await
}

async fn put(vault: &Vault, key: &str, bytes: usize) -> Arc<Object> {
    vault.put(key, &vec![7; bytes]).await.expect("put")
}

async fn get(vault: &Vault, object: &Arc<Object>, range: Option<Range<u64>>) -> usize {
    let wanted = range.as_ref().map_or(object.bytes(), |range| range.end - range.start) as usize;
    let mut reader = vault.gateway.read(object, range).await.expect("read");
    let mut bytes = 0;
    // Like a client that knows the length, it disconnects after the last byte: every access must be over then.
    while bytes < wanted {
        bytes += reader.next().await.expect("more").expect("read").len();
    }
    bytes
}

fn paddings() -> [Padding; 3] {
    [Padding::None, Padding::PowersOfTwo, Padding::Classes(vec![100, 1000])]
}

#[tokio::test]
async fn a_put_and_a_get_take_the_padded_size_and_a_copy_takes_both() {
    for padding in paddings() {
        let vault = open(padding.clone()).await;
        for size in [0, 1, 31, 32, 33, 100, 101, 300, 500, 1200] {
            let padded = padding.blocks(size as u64, BLOCK);
            let object = put(&vault, "key", size).await;
            assert_eq!(vault.device.take_accesses(), (0, padded), "put of {size} bytes, {padding:?}");
            assert_eq!(get(&vault, &object, None).await, size);
            assert_eq!(vault.device.take_accesses(), (padded, 0), "get of {size} bytes, {padding:?}");
            let written = vault.gateway.copy_blocks(&object, None, None).await.expect("copied");
            vault.link("copy", written).await.expect("linked");
            assert_eq!(vault.device.take_accesses(), (padded, padded), "copy of {size} bytes, {padding:?}");
        }
    }
}

#[tokio::test]
async fn batches_depend_on_the_class_alone() {
    let vault = open(Padding::PowersOfTwo).await;
    let shapes = |log: Vec<Event>| -> Vec<(bool, usize)> {
        log.into_iter()
            .filter_map(|event| match event {
                Event::Read(blocks) => Some((false, blocks.len())),
                Event::Write(blocks) => Some((true, blocks.len())),
                Event::Rows(_) => None,
            })
            .collect()
    };
    let mut traces = Vec::new();
    for size in [9 * BLOCK, 9 * BLOCK + 1, 15 * BLOCK - 3, 16 * BLOCK] {
        let object = put(&vault, "key", size).await;
        get(&vault, &object, None).await;
        traces.push(shapes(vault.device.take_log()));
    }
    assert_eq!(traces[0].len(), 8);
    assert!(traces.iter().all(|shape| *shape == traces[0]), "{traces:?}");
}

#[tokio::test]
async fn a_range_takes_the_class_of_its_blocks_and_at_most_the_object() {
    for padding in paddings() {
        let vault = open(padding.clone()).await;
        let size = 1200u64;
        let object = put(&vault, "key", size as usize).await;
        vault.device.take_log();
        for start in (0..size).step_by(37) {
            for length in [1, 31, 32, 33, 64, 200, 700, size - start] {
                let end = (start + length).min(size);
                assert_eq!(get(&vault, &object, Some(start..end)).await as u64, end - start);
                let touched = (end - 1) / BLOCK as u64 - start / BLOCK as u64 + 1;
                let expected = padding.blocks(touched * BLOCK as u64, BLOCK).min(object.blocks());
                assert_eq!(vault.device.take_accesses(), (expected, 0), "{start}..{end}, {padding:?}");
            }
        }
    }
}

#[tokio::test]
async fn parts_take_their_padded_sizes_and_completing_takes_nothing() {
    for padding in paddings() {
        let vault = open(padding.clone()).await;
        let id = vault.begin_upload("key").await.expect("begun");
        assert_eq!(vault.device.take_accesses(), (0, 0));
        let sizes = [300usize, 5, 64];
        let padded = sizes.map(|size| padding.blocks(size as u64, BLOCK));
        for (number, size) in (1..).zip(sizes) {
            vault.put_part("key", id, number, &vec![7; size]).await.expect("linked");
            assert_eq!(vault.device.take_accesses(), (0, padded[usize::from(number) - 1]));
        }
        vault.account.list_uploads("container", &everything(), None).expect("listed");
        let object = vault.complete("key", id, &[1, 2, 3]).await.expect("completed");
        assert_eq!(vault.device.take_accesses(), (0, 0));
        assert_eq!(get(&vault, &object, None).await, 369);
        assert_eq!(vault.device.take_accesses(), (padded.iter().sum(), 0));
        assert_eq!(get(&vault, &object, Some(299..306)).await, 7);
        let (reads, writes) = vault.device.take_accesses();
        assert!(reads <= object.blocks() && writes == 0);
    }
}

/// The batches of puts, deletes and gets of small and large objects in a container with this versioning.
async fn trace_of_history(versioning: Option<Versioning>, pack: bool) -> Vec<Vec<usize>> {
    let vault = Vault::new(BLOCK, 1000, Options { pack, ..Options::default() }).await;
    if let Some(versioning) = versioning {
        vault.account.set_versioning("container", versioning).await.expect("set");
    }
    let mut shown = vec![vault.take_batch_sizes()];
    for step in 0..60 {
        let key = ["a", "b", "c"][step % 3];
        match step % 5 {
            4 => drop(vault.delete(key).await.expect("deleted")),
            _ => drop(put(&vault, key, [5, 100, 12, 300][step % 4]).await),
        }
        vault.gateway.settle().await;
        shown.push(vault.take_batch_sizes());
        if let Ok(object) = vault.object(key) {
            get(&vault, &object, None).await;
        }
        shown.push(vault.take_batch_sizes());
    }
    shown
}

#[tokio::test]
async fn a_history_shows_the_same_whether_old_versions_are_kept_or_not() {
    for pack in [false, true] {
        let without = trace_of_history(None, pack).await;
        assert!(without.iter().any(|batches| !batches.is_empty()));
        for versioning in [Versioning::Enabled, Versioning::Suspended] {
            assert_eq!(trace_of_history(Some(versioning), pack).await, without, "{versioning:?}");
        }
    }
}

#[tokio::test]
async fn an_old_version_takes_what_its_object_took_and_deleting_it_takes_nothing() {
    let vault = open(Padding::None).await;
    let account = &vault.account;
    account.set_versioning("container", Versioning::Enabled).await.expect("set");
    let old = put(&vault, "key", 100).await;
    put(&vault, "key", 500).await;
    vault.device.take_log();
    let found = account.version("container", "key", Some(old.version.id())).expect("kept");
    get(&vault, &found, None).await;
    assert_eq!(vault.device.take_accesses(), (4, 0));
    let removal = |version| Removal {
        key: "key".into(),
        version,
        conditions: WriteConditions::default(),
        marks_missing: true,
    };
    account.remove("container", vec![removal(None)]).await.expect("marked");
    for listed in account.list_versions("container", &everything(), None).expect("listed").entries {
        account.remove("container", vec![removal(Some(listed.object.version.id()))]).await.expect("removed");
    }
    drop((old, found));
    assert_eq!(vault.gateway.usage().free_blocks, 1000);
    account.delete_container("container").await.expect("empty");
    assert_eq!(vault.device.take_accesses(), (0, 0));
}

#[tokio::test]
async fn looking_listing_and_deleting_take_nothing() {
    let vault = open(Padding::None).await;
    for key in ["a", "b", "c"] {
        put(&vault, key, 100).await;
    }
    vault.device.take_log();
    vault.object("a").expect("there");
    vault.object("none").expect_err("not there");
    vault.account.list("container", &ListRequest { limit: 2, ..Default::default() }).expect("listed");
    vault.account.containers(&everything());
    vault.gateway.usage();
    let keys = ["a", "b", "c", "d"].map(|key| (key.to_owned(), WriteConditions::default()));
    vault.account.delete("container", keys.to_vec()).await.expect("deleted");
    let id = vault.begin_upload("key").await.expect("begun");
    vault.account.abort_upload("container", "key", id).await.expect("aborted");
    vault.account.delete_container("container").await.expect("empty");
    assert_eq!(vault.device.take_accesses(), (0, 0));
}
