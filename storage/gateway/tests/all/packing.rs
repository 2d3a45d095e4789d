//! Small objects that share blocks: their cost, their accesses, and that no byte of them is lost.

use crate::vault::{Vault, drain};
use ameles_gateway::catalogue::ContainerSettings;
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{Error, Options, Padding};
use std::sync::Arc;

const BLOCK: usize = 1024;
const SMALL: usize = BLOCK / 16;

async fn fresh(blocks: u64) -> Vault {
    Vault::new(BLOCK, blocks, Options::default()).await
}

async fn put_numbers(vault: &Vault, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        vault.put(&number.to_string(), &body(number)).await.expect("put");
    }
}

async fn delete_numbers(vault: &Vault, numbers: impl Iterator<Item = usize>) {
    let keys = numbers.map(|number| (number.to_string(), WriteConditions::default())).collect();
    vault.account.delete("container", keys).await.expect("deleted");
}

/// Checks that these small objects are what was put.
async fn check_numbers(vault: &Vault, case: CommitFault, numbers: impl Iterator<Item = usize>) {
    for number in numbers {
        let got = vault.get(&number.to_string()).await.expect("read");
        assert_eq!(got, body(number), "{number} after {case:?}");
    }
}

fn body(number: usize) -> Vec<u8> {
    (0..SMALL).map(|at| (number * 31 + at) as u8).collect()
}

#[tokio::test]
async fn ten_thousand_small_objects_take_the_space_of_their_bytes_and_four_accesses_a_block() {
    let vault = fresh(10_000).await;
    put_numbers(&vault, 0..10_000).await;
    let blocks = (10_000 * SMALL / BLOCK) as u64;
    let usage = vault.gateway.usage();
    assert!(usage.blocks - usage.free_blocks <= blocks, "{usage:?}");
    assert!(usage.packed.waiting_bytes <= 2 * BLOCK as u64, "{usage:?}");
    assert_eq!(usage.packed.live_bytes + usage.packed.waiting_bytes, usage.bytes);
    let accesses: usize = vault.take_batch_sizes().iter().sum();
    assert_eq!(accesses as u64, 4 * blocks);
    check_numbers(&vault, CommitFault::None, (0..10_000).step_by(7)).await;
}

#[tokio::test]
async fn an_object_shares_a_block_if_its_bytes_cost_at_most_two_accesses() {
    let device = Arc::new(MemoryDevice::with_costly_rows(BLOCK, 10, (BLOCK / 16) as u64));
    let vault = Vault::over(device, Options::default()).await;
    vault.account.create_container("container", ContainerSettings::default()).await.expect("made");
    for (size, sharing) in [(1, 1), (BLOCK / 8, 1), (BLOCK / 8 + 1, 0), (BLOCK / 2, 0)] {
        vault.put("key", &vec![7; size]).await.expect("put");
        let usage = vault.gateway.usage();
        assert_eq!(usage.packed.waiting_bytes, (sharing * size) as u64, "{size} bytes wait");
        assert_eq!(usage.blocks - usage.free_blocks, 1 - sharing as u64, "blocks for {size} bytes");
    }
}

#[tokio::test]
async fn reading_a_small_object_is_one_access_whether_it_waits_or_is_packed() {
    let vault = fresh(100).await;
    put_numbers(&vault, 0..40).await;
    let usage = vault.gateway.usage().packed;
    assert!(usage.blocks > 0 && usage.waiting_bytes > 0, "{usage:?}");
    vault.take_batch_sizes();
    for number in 0..40 {
        assert_eq!(vault.get(&number.to_string()).await.expect("read"), body(number));
        assert_eq!(vault.take_batch_sizes(), [1]);
        assert_eq!(
            vault.get_range(&number.to_string(), Some(3..10)).await.expect("read"),
            body(number)[3..10]
        );
        assert_eq!(vault.take_batch_sizes(), [1]);
    }
}

#[tokio::test]
async fn the_visible_accesses_depend_on_the_bytes_written_only() {
    let mut traces = Vec::new();
    for history in 0..3 {
        let vault = fresh(200).await;
        for number in 0..600usize {
            let key = match history {
                0 => number.to_string(),
                1 => "always the same".to_owned(),
                _ => (number % 90).to_string(),
            };
            vault.put(&key, &body(number)).await.expect("put");
            if history == 2 && number.is_multiple_of(3) {
                delete_numbers(&vault, 0..40).await;
            }
        }
        traces.push(vault.take_batch_sizes());
    }
    assert_eq!(traces[0].len(), 600 * SMALL / (BLOCK / 2) * 2);
    assert!(traces.iter().all(|history| *history == traces[0]), "{traces:?}");
}

#[tokio::test]
async fn a_put_that_is_refused_at_its_end_shows_as_much_as_one_that_is_not() {
    let counts = async |refuse: bool| {
        let vault = fresh(200).await;
        for number in 0..100usize {
            let written = vault.write(&body(number)).await.expect("written");
            if !refuse {
                vault.link(&number.to_string(), written).await.expect("linked");
            }
        }
        vault.take_batch_sizes()
    };
    assert_eq!(counts(true).await, counts(false).await);
}

#[tokio::test]
async fn space_of_deleted_small_objects_comes_back_as_others_are_written() {
    let vault = fresh(400).await;
    let used = |vault: &Vault| {
        let usage = vault.gateway.usage();
        usage.blocks - usage.free_blocks
    };
    put_numbers(&vault, 0..1600).await;
    let full = used(&vault);
    // Three quarters of every pack are deleted, but no pack as a whole.
    delete_numbers(&vault, (0..1600).filter(|number| number % 4 != 0)).await;
    assert!(used(&vault) > full - 5);
    put_numbers(&vault, 1600..2800).await;
    assert!(used(&vault) <= full + 2, "{} of {full}", used(&vault));
    check_numbers(&vault, CommitFault::None, (0..1600).step_by(4).chain(1600..2800)).await;
    delete_numbers(&vault, 0..2800).await;
    vault.gateway.settle().await;
    assert_eq!(used(&vault), 0);
}

#[tokio::test]
async fn a_full_vault_gives_back_what_small_objects_left_behind_before_it_refuses() {
    let vault = fresh(60).await;
    put_numbers(&vault, 0..900).await;
    delete_numbers(&vault, (0..900).filter(|number| number % 4 != 0)).await;
    let large = vec![9; 40 * BLOCK];
    assert!(vault.gateway.usage().free_blocks < 40);
    vault.put("large", &large).await.expect("there is room");
    assert_eq!(vault.get("large").await.expect("read"), large);
    check_numbers(&vault, CommitFault::None, (0..900).step_by(4)).await;
    let refused = vault.put("larger", &vec![9; 30 * BLOCK]).await.map(drop);
    assert!(matches!(refused, Err(Error::Full { needed: 30, .. })), "{refused:?}");
}

#[tokio::test]
async fn a_small_object_is_read_to_its_end_although_it_is_deleted_and_its_block_reused() {
    let vault = fresh(30).await;
    put_numbers(&vault, 0..64).await;
    let held = vault.object("5").expect("there");
    delete_numbers(&vault, 0..64).await;
    for number in 0..20 {
        vault.put(&format!("large {number}"), &[7; BLOCK]).await.expect("put");
    }
    let reader = vault.gateway.read(&held, None).await.expect("read");
    assert_eq!(drain(reader).await.expect("read"), body(5));
}

#[tokio::test]
async fn small_objects_are_there_after_every_failure_and_every_reopening() {
    for fault in [CommitFault::Before, CommitFault::After, CommitFault::RowsFull, CommitFault::None] {
        let vault = fresh(100).await;
        put_numbers(&vault, 0..100).await;
        delete_numbers(&vault, (0..100).filter(|number| number % 3 != 0)).await;
        let writes_left = (fault == CommitFault::None).then_some(0);
        vault.device.set_faults(Faults { commits: fault, writes_left, ..Faults::default() });
        for number in 100..140 {
            let put = vault.put(&number.to_string(), &body(number)).await;
            assert_eq!(
                put.is_ok(),
                fault == CommitFault::None,
                "a small put writes no block before it is acknowledged"
            );
        }
        vault.gateway.settle().await;
        vault.device.set_faults(Faults::default());
        let kept = |number: &usize| {
            if *number < 100 { number.is_multiple_of(3) } else { fault == CommitFault::None }
        };
        let reopened = vault.reopen().await;
        for vault in [&vault, &reopened] {
            check_numbers(vault, fault, (0..140).filter(kept)).await;
        }
        // Later puts overwrite nothing of what is there.
        drop(vault);
        put_numbers(&reopened, 200..300).await;
        check_numbers(&reopened, fault, (0..140).filter(kept).chain(200..300)).await;
    }
}

#[tokio::test]
async fn with_padding_every_object_has_blocks_of_its_own() {
    let options = Options { padding: Padding::PowersOfTwo, ..Options::default() };
    let vault = Vault::new(BLOCK, 10, options).await;
    vault.put("small", b"small").await.expect("put");
    assert_eq!(vault.gateway.usage().free_blocks, 9);
}
