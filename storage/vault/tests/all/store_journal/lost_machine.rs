//! A lost machine: everything acknowledged is restored from the store.

use super::{fixture, in_successor, objects, under_path_oram};
use crate::promises::fixture::{CAPACITY, VaultFixture, block};
use crate::support::{faults_of, header};
use ameles_core::types::BlockId;
use ameles_store::Blobs;
use ameles_vault::{JournalPlace, Row, RowChange, Vault, VaultHeader, VaultParameters};

/// Writes, reads and commits in several openings, each of which ends with a crash. Then the machine is lost.
async fn lose(fixture: VaultFixture) {
    let (mut expected, mut rows) = (vec![0; CAPACITY as usize], Vec::new());
    for opening in 0..4u8 {
        let (_, failure) = fixture
            .open_and_crash(async |vault| {
                for nth in 0..11u8 {
                    let at = BlockId(u64::from(nth * 5 + opening) % CAPACITY);
                    vault.write(at, block(16 * opening + nth)).await.unwrap();
                    expected[at.0 as usize] = 16 * opening + nth;
                    let row = Row::new(vec![opening, nth], vec![nth; 30]);
                    vault.commit_rows(vec![row.clone().into()]).await.unwrap();
                    rows.push(row);
                }
                // The last change of each opening changes only rows.
                let gone = rows.remove(0);
                vault.commit_rows(vec![RowChange::remove(gone.key)]).await.unwrap();
            })
            .await
            .unwrap();
        assert!(failure.is_none(), "{failure:?}");
    }
    let looking = in_successor(&fixture.header, &fixture.store, async |vault| {
        for (at, fill) in expected.iter().enumerate() {
            assert_eq!(vault.read(BlockId(at as u64)).await.unwrap(), block(*fill), "block {at}");
        }
        assert_eq!(vault.load_rows().await.unwrap(), rows);
        assert!(faults_of(vault).await.is_empty());
    });
    looking.await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_lost_machine_loses_nothing_that_was_acknowledged_in_any_of_its_openings() {
    lose(fixture().await).await;
}

#[tokio::test(start_paused = true)]
async fn a_lost_machine_loses_nothing_under_path_oram() {
    lose(VaultFixture::with(header(under_path_oram(), 1)).await).await;
}

#[tokio::test(start_paused = true)]
async fn a_commit_of_rows_larger_than_an_object_comes_back_whole() {
    let fixture = fixture().await;
    let large: Vec<RowChange> = (0..9u8).map(|nth| RowChange::put(vec![nth], vec![nth; 400])).collect();
    fixture
        .open_and_crash(async |vault| {
            vault.commit_rows(vec![RowChange::put("before", "it")]).await.unwrap();
            vault.commit_rows(large.clone()).await.unwrap();
        })
        .await
        .unwrap();
    let rows =
        in_successor(&fixture.header, &fixture.store, async |vault| vault.load_rows().await.unwrap().len());
    assert_eq!(rows.await.unwrap(), 10);
}

#[tokio::test(start_paused = true)]
async fn objects_go_when_a_checkpoint_in_the_store_holds_them() {
    let fixture = fixture().await;
    let (before, _) = fixture
        .open(async |vault| {
            for at in 0..30 {
                vault.write(BlockId(at), block(1)).await.unwrap();
            }
            objects(&fixture.store).await.len()
        })
        .await
        .unwrap();
    assert!(before > 20, "{before} objects");
    assert_eq!(objects(&fixture.store).await, Vec::<String>::new());
}

/// The header says where the journal is; for a vault without a journal in the store it is as before.
#[test]
fn a_header_tells_where_the_journal_is() {
    let master = crate::support::master();
    for journal in [JournalPlace::Disk, JournalPlace::Store, JournalPlace::StoreFirst] {
        let mut header = header(super::with_journal_in_store(), 1);
        header.parameters.journal = journal;
        let salt = |byte| ameles_seal::derive::Salt([byte; 32]);
        let encoded = header.encode(&master, salt(1), salt(2));
        assert_eq!(VaultHeader::decode(&encoded, &master).unwrap(), header);
    }
}

/// A crash between a batch's record and its object, made by hand: callers see the batch after the next opening.
#[tokio::test(start_paused = true)]
async fn what_a_crash_has_left_on_the_disk_alone_is_in_the_store_before_anybody_sees_it() {
    for of_rows in [false, true] {
        let fixture = fixture().await;
        fixture.open(async |vault| vault.write(BlockId(1), block(1)).await.unwrap()).await.unwrap();
        fixture
            .open_and_crash(async |vault| match of_rows {
                false => vault.write(BlockId(1), block(2)).await.unwrap(),
                true => vault.commit_rows(vec![RowChange::put("a", "row")]).await.unwrap(),
            })
            .await
            .unwrap();
        let last = objects(&fixture.store).await.pop().expect("there is one");
        Blobs::remove(&fixture.store, &last).await.unwrap();
        let seen = async |vault: &Vault| match of_rows {
            false => assert_eq!(vault.read(BlockId(1)).await.unwrap(), block(2)),
            true => assert_eq!(vault.load_rows().await.unwrap(), [Row::new("a", "row")]),
        };
        fixture.open_and_crash(seen).await.unwrap();
        in_successor(&fixture.header, &fixture.store, seen).await.unwrap();
    }
}

/// A crash that left a gap in the journal, made by hand. The next opening ends the journal there.
#[tokio::test(start_paused = true)]
async fn an_object_behind_the_end_of_its_journal_is_no_fault() {
    let parameters = VaultParameters { ship_every: 1000, ..super::with_journal_in_store() };
    let fixture = VaultFixture::with(header(parameters, 1)).await;
    fixture
        .open_and_crash(async |vault| {
            for at in 0..8 {
                vault.write(BlockId(at), block(1)).await.unwrap();
            }
        })
        .await
        .unwrap();
    let listed = objects(&fixture.store).await;
    let [.., missing, last] = &listed[..] else { panic!("{listed:?}") };
    Blobs::remove(&fixture.store, missing).await.unwrap();
    let (faults, _) = fixture
        .open_and_crash(async |vault| {
            assert_eq!(vault.read(BlockId(7)).await.unwrap(), block(1));
            faults_of(vault).await
        })
        .await
        .unwrap();
    assert_eq!(faults, [""; 0]);
    assert!(objects(&fixture.store).await.contains(last));
}
