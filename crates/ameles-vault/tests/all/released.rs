//! Vaults that released versions wrote are opened, used and left as they are. Each archive of `tests/released` holds a
//! trusted disk and a store: 64 blocks of 64 bytes, written twice over and then some; the process was killed, so that
//! the journal has something to tell.

use crate::support::{master, setup};
use ameles_core::words::BlockId;
use ameles_store::{Objects, OpenOptions};
use ameles_vault::{Row, TrustedDisk, Vault, read_header};
use std::path::Path;
use std::process::Command;

/// The archives of format 1, whose slots are sealed under counted nonces.
const FORMAT_1: [&str; 2] = ["format-1-ring.tar.gz", "format-1-path.tar.gz"];
/// Those of format 2, whose slots are salted; payloads of the stash lie in places beside the database.
const FORMAT_2: [&str; 2] = ["format-2-ring.tar.gz", "format-2-path.tar.gz"];

fn unpack(archive: &str, into: &Path) {
    let archive = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/released").join(archive);
    let tar = Command::new("tar").arg("-xzf").arg(archive).arg("-C").arg(into).status();
    assert!(tar.expect("tar is there").success());
}

fn as_released(block: u64) -> Vec<u8> {
    // The second opening wrote every block, and then every fifth of the first fifty-five.
    let fill = if block.is_multiple_of(5) && block < 55 { 200 } else { block as u8 + 1 };
    vec![fill; 64]
}

#[tokio::test(start_paused = true)]
async fn a_vault_of_format_1_is_recovered_used_and_keeps_its_format() {
    are_used(&FORMAT_1, true).await;
}

#[tokio::test(start_paused = true)]
async fn a_vault_of_format_2_is_recovered_and_used() {
    are_used(&FORMAT_2, false).await;
}

/// Opens these vaults three times, and reads, writes and checks them each time.
async fn are_used(archives: &[&str], has_older_slots: bool) {
    for archive in archives {
        let folder = tempfile::tempdir().unwrap();
        unpack(archive, folder.path());
        let location = folder.path().join("store").display().to_string();
        let store = Objects::open(&location, &OpenOptions::default()).await.unwrap();
        let mut written = None;
        for opening in 0..3 {
            let disk = TrustedDisk::open(&folder.path().join("vault.redb")).unwrap();
            let header = read_header(&disk, &master()).unwrap();
            assert_eq!(header.parameters.has_older_slots(), has_older_slots);
            let store = store.with_layout(header.parameters.layout());
            let (vault, running) = Vault::start(setup(&disk, store, 200 + opening)).await.unwrap();
            let session = async {
                for block in 0..64 {
                    let expected =
                        written.filter(|at| block <= *at).map_or(as_released(block), |_| vec![7; 64]);
                    assert_eq!(vault.read(BlockId(block)).await.unwrap(), expected, "{archive}: {block}");
                }
                assert_eq!(vault.load_rows().await.unwrap(), [Row::new("name", "value")]);
                for block in 0..=20 * opening {
                    vault.write(BlockId(block), vec![7; 64]).await.unwrap();
                }
                written = Some(20 * opening);
                let report = vault.check(Box::new(|_, _| {})).await.unwrap();
                assert_eq!(report.complaints, [""; 0]);
                vault.close().await.unwrap();
            };
            futures::join!(session, running);
        }
    }
}
