//! The fixture that guards the format: stored vaults, with a trusted disk and a store each, are opened, used and
//! checked.
//!
//! `tests/format/vaults.tar.gz` holds them, each killed in the middle of its work. After a change of the format,
//! regenerate them: `AMELES_DRAW_FIXTURE=1 cargo test -p ameles-vault --test all format`.

use crate::support::{every_scheme, header, host, master, parameters, setup, with_top_on_disk};
use ameles_core::types::BlockId;
use ameles_seal::master_key::MasterKey;
use ameles_store::{Objects, OpenOptions};
use ameles_vault::{
    AnyStore, Call, JournalPlace, NewKey, Row, RowChange, Setup, TrustedDisk, Vault, VaultError,
    VaultParameters, change_key, read_header,
};
use std::path::{Path, PathBuf};
use std::process::Command;

/// A kind of vault, identified by the flags of its header.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// Ring ORAM with all defaults.
    Ring,
    /// Path ORAM with its journal in the store and its tree top on the trusted disk.
    PathOnDisk,
    /// Ring ORAM in the middle of a key change.
    ChangingKey,
}

const KINDS: [Kind; 3] = [Kind::Ring, Kind::PathOnDisk, Kind::ChangingKey];
const BLOCKS: u64 = 64;

impl Kind {
    fn folder(self, within: &Path) -> PathBuf {
        within.join(format!("{self:?}"))
    }

    fn parameters(self) -> VaultParameters {
        match self {
            Kind::Ring | Kind::ChangingKey => parameters(BLOCKS, 32, 4, 40),
            Kind::PathOnDisk => {
                let path = every_scheme().remove(0);
                VaultParameters { journal: JournalPlace::Store, ..with_top_on_disk(path) }
            }
        }
    }

    /// The key that opens the vault.
    fn key(self) -> MasterKey {
        match self {
            Kind::ChangingKey => MasterKey::take(&mut [9; 32]),
            _ => master(),
        }
    }

    async fn setup(self, within: &Path, seed: u64) -> Setup<AnyStore> {
        let folder = self.folder(within);
        let location = folder.join("store").display().to_string();
        let store = Objects::open(&location, &OpenOptions::default()).await.expect("opened");
        let disk = loop {
            // The thread of the rows ends some time after its vault.
            match TrustedDisk::open(&folder.join("vault.redb")) {
                Err(VaultError::Locked) => std::thread::sleep(std::time::Duration::from_millis(10)),
                opened => break opened.expect("opened"),
            }
        };
        let layout = self.parameters().layout();
        setup(&disk, store.with_layout(layout), seed)
    }
}

fn archive() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/format/vaults.tar.gz")
}

fn tar(arguments: &str, folder: &Path, more: &[&str]) {
    let status = Command::new("tar").arg(arguments).arg(archive()).arg("-C").arg(folder).args(more).status();
    assert!(status.expect("tar is there").success());
}

fn filled(block: u64) -> Vec<u8> {
    vec![block as u8 + 1; 32]
}

/// Makes the vaults, writes all their blocks, and kills each with a journal that is not empty.
async fn draw() {
    let folder = tempfile::tempdir().expect("made");
    for (kind, seed) in KINDS.into_iter().zip(1..) {
        std::fs::create_dir_all(kind.folder(folder.path()).join("store")).expect("made");
        let of_before = kind.setup(folder.path(), seed).await;
        Vault::create(&mut { of_before }, &header(kind.parameters(), seed)).await.expect("made");
        let (vault, running) =
            Vault::start(kind.setup(folder.path(), 10 + seed).await).await.expect("opened");
        let write = |blocks: std::ops::Range<u64>| {
            vault.access(blocks.map(|block| Call::Write(BlockId(block), filled(block).into())).collect())
        };
        let working = async {
            vault.commit_rows(vec![RowChange::put("name", "value")]).await.expect("written");
            for first in (0..BLOCKS).step_by(4) {
                write(first..first + 4).await.expect("written");
            }
        };
        futures::future::select(std::pin::pin!(working), std::pin::pin!(running)).await;
        drop(vault);
        if matches!(kind, Kind::ChangingKey) {
            let changing = Setup { master: master(), ..kind.setup(folder.path(), 20).await };
            change_key(changing, NewKey { master: kind.key(), passphrase: None }).await.expect("changed");
        }
    }
    tar("-czf", folder.path(), &["."]);
}

#[tokio::test(start_paused = true)]
async fn vaults_of_the_fixture_are_recovered_used_and_authentic() {
    if std::env::var_os("AMELES_DRAW_FIXTURE").is_some() {
        draw().await;
    }
    let folder = tempfile::tempdir().expect("made");
    tar("-xzf", folder.path(), &[]);
    for kind in KINDS {
        let mut written = 0;
        for opening in 0..3 {
            let setup =
                Setup { master: kind.key(), host: host(), ..kind.setup(folder.path(), 200 + opening).await };
            let found = read_header(&setup.disk, &kind.key()).expect("read");
            assert_eq!(found.parameters, kind.parameters(), "{kind:?}");
            let (vault, running) = Vault::start(setup).await.expect("opened");
            let session = async {
                for block in 0..BLOCKS {
                    let expected = if block < written { vec![7; 32] } else { filled(block) };
                    assert_eq!(
                        vault.read(BlockId(block)).await.expect("read"),
                        expected,
                        "{kind:?}: {block}"
                    );
                }
                assert_eq!(vault.load_rows().await.expect("read"), [Row::new("name", "value")]);
                written = 20 * opening + 1;
                for block in 0..written {
                    vault.write(BlockId(block), vec![7; 32]).await.expect("written");
                }
                let report = vault.check(Box::new(|_, _| {})).await.expect("checked");
                assert_eq!(report.faults, [""; 0]);
                vault.close().await.expect("closed");
            };
            futures::join!(session, running);
        }
    }
}
