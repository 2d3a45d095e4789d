//! An acknowledged write is there after a clean close and after a crash.

use crate::support::{every_scheme, header, memory_disk, new_vault, parameters, setup};
use ameles_core::types::BlockId;
use ameles_store::VersionedMemory;
use ameles_vault::{Call, RowChange, Vault, VaultHeader};
use std::pin::pin;
use std::sync::{Arc, Mutex, Weak};
use std::task::{Context, Wake, Waker};

fn block(fill: u8) -> Vec<u8> {
    vec![fill; 32]
}

/// A waker that waits for a close, and records what is left of the vault's store when it is woken.
struct WakeFlag {
    store: Weak<VersionedMemory>,
    holders: Mutex<Vec<usize>>,
}

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.holders.lock().unwrap().push(self.store.strong_count());
    }
}

#[tokio::test(start_paused = true)]
async fn a_vault_that_is_said_to_be_closed_has_let_go_of_its_store_and_can_be_opened_again() {
    let header = header(every_scheme().remove(0), 1);
    let store = Arc::new(VersionedMemory::new(header.parameters.layout()));
    let disk = memory_disk();
    Vault::create(&mut setup(&disk, VersionedMemory::clone(&store), 2), &header).await.unwrap();
    let flag = Arc::new(WakeFlag { store: Arc::downgrade(&store), holders: Mutex::default() });
    let (vault, running) = Vault::start(setup(&disk, store, 3)).await.unwrap();
    let mut closing = pin!(vault.close());
    let waker = Waker::from(Arc::clone(&flag));
    assert!(closing.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
    running.await;
    assert_eq!(*flag.holders.lock().unwrap(), [0]);
    closing.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_rows_take_is_told_at_once_though_no_block_was_accessed() {
    let (_header, store, disk) = new_vault(every_scheme().remove(0)).await;
    let (vault, _not_driven) = Vault::start(setup(&disk, store, 3)).await.unwrap();
    let before = vault.status().rows.used;
    vault.commit_rows(vec![RowChange::put("name", vec![7; 100])]).await.unwrap();
    assert!(vault.status().rows.used >= before + 100);
}

#[tokio::test(start_paused = true)]
async fn what_was_written_is_read_back_after_a_clean_close_and_after_a_crash() {
    for parameters in every_scheme() {
        close_and_crash(header(parameters, 1)).await;
    }
}

async fn close_and_crash(header: VaultHeader) {
    let store = VersionedMemory::new(header.parameters.layout());
    let disk = memory_disk();
    Vault::create(&mut setup(&disk, store.clone(), 2), &header).await.unwrap();
    let mut expected = [0u8; 64];
    for round in 0..12u8 {
        let (vault, running) =
            Vault::start(setup(&disk, store.clone(), 100 + u64::from(round))).await.unwrap();
        let local = tokio::task::LocalSet::new();
        let session = local.run_until(async {
            let driver = tokio::task::spawn_local(running);
            for (at, fill) in expected.iter().enumerate() {
                let read = vault.read(BlockId(at as u64)).await.unwrap();
                assert_eq!(read, block(*fill), "block {at} in round {round}");
            }
            for at in 0..64u64 {
                if at % 12 == u64::from(round) {
                    vault.write(BlockId(at), block(round + 1)).await.unwrap();
                    expected[at as usize] = round + 1;
                }
            }
            let same = vec![
                Call::Read(BlockId(5)),
                Call::Write(BlockId(5), block(200).into()),
                Call::Read(BlockId(5)),
            ];
            let answers = vault.access(same).await.unwrap();
            assert_eq!(answers[0].as_deref(), Some(block(expected[5]).as_slice()));
            assert_eq!(answers[2].as_deref(), Some(block(200).as_slice()));
            expected[5] = 200;
            if round % 3 == 0 {
                vault.close().await.unwrap();
            } else {
                driver.abort();
            }
            assert_eq!(vault.status().emergencies, 0);
        });
        session.await;
    }
}

#[tokio::test(start_paused = true)]
async fn every_caller_gets_the_answers_to_its_own_calls() {
    let (_header, store, disk) = new_vault(parameters(64, 32, 4, 1000)).await;
    let (vault, running) = Vault::start(setup(&disk, store, 3)).await.unwrap();
    let asking = async {
        let all = (0..64).map(|at| Call::Write(BlockId(at), block(at as u8).into())).collect();
        vault.access(all).await.unwrap();
        let callers = (0..200u64).map(|nth| {
            let vault = &vault;
            async move {
                let blocks: Vec<u64> = (0..=nth % 3).map(|more| (nth * 7 + more) % 64).collect();
                let calls = blocks.iter().map(|at| Call::Read(BlockId(*at))).collect();
                let answers = vault.access(calls).await.unwrap();
                let expected: Vec<_> = blocks.iter().map(|at| Some(block(*at as u8).into())).collect();
                assert_eq!(answers, expected);
            }
        });
        futures::future::join_all(callers).await;
        vault.close().await.unwrap();
    };
    futures::join!(asking, running);
}
