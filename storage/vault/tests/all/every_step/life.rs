//! The life of a small vault: some tens of calls through which every mechanism comes, and what follows a crash.

use super::account::{Account, Entries, Entry, Keeper};
use crate::support::chance::Chance;
use crate::support::fragile_disk::FragileDisk;
use crate::support::tape::{Effect, Tape, Taped, World};
use crate::support::{master, setup};
use ameles_core::types::BlockId;
use ameles_store::{Blobs, VersionedMemory};
use ameles_vault::AnyStore;
use ameles_vault::{
    Call, JournalPlace, Restore, RowChange, Setup, TrustedDisk, Vault, VaultError, VaultHeader, find_orphans,
    read_header, restore,
};
use futures::future::{Either, join_all, select};
use std::pin::pin;

/// A machine with the world that it works in.
pub struct Machine {
    pub header: VaultHeader,
    pub world: World,
    pub tape: Tape,
    pub keeper: Keeper,
    chance: Chance,
    /// True if room is kept on its disk.
    pub has_reserve: bool,
    /// True if the vault was made: a crash cannot have left none.
    is_made: bool,
}

/// The end of an opening.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum End {
    /// The process is killed with its calls answered.
    Kill,
    Close,
}

impl Machine {
    /// A machine that has found this world, with this account of it.
    pub fn new(header: &VaultHeader, world: World, account: Account, seed: u64) -> Self {
        let tape = Tape::default();
        world.disk.record(&tape);
        let is_made = account.is_made();
        let keeper = Keeper::new(account, &tape);
        let header = header.clone();
        Machine { header, world, keeper, tape, chance: Chance::of(seed), has_reserve: false, is_made }
    }

    /// All effects so far, and all entries.
    pub fn records(&self) -> (Vec<Effect>, Entries) {
        (self.tape.effects(), self.keeper.entries())
    }

    fn setup(&mut self, disk: &TrustedDisk) -> Setup<AnyStore> {
        let store = Taped::over(self.world.store.clone(), self.tape.clone(), self.chance.fork());
        setup(disk, store, self.chance.seed())
    }

    /// Mounts the disk, and makes the vault if a crash has left none.
    async fn mount(&mut self) -> Result<TrustedDisk, VaultError> {
        if self.has_reserve {
            return self.world.disk.mount_with_reserve().map(TrustedDisk::yielding);
        }
        let disk = match self.world.disk.mount_yielding() {
            Err(_) if !self.is_made => {
                // A crash has left the database itself half made.
                self.world.disk = FragileDisk::default();
                self.world.disk.record(&self.tape);
                self.world.disk.mount_yielding()?
            }
            mounted => mounted?,
        };
        if !self.is_made && matches!(read_header(&disk, &master()), Err(VaultError::NoVault)) {
            Vault::create(&mut self.setup(&disk), &self.header.clone()).await?;
        }
        Ok(disk)
    }

    /// Opens the vault, works with it, and ends.
    pub async fn open<T>(
        &mut self,
        end: End,
        work: impl AsyncFnOnce(&Vault, &Keeper, &mut Chance) -> Result<T, VaultError>,
    ) -> Result<T, VaultError> {
        let disk = self.mount().await?;
        let (vault, running) = Vault::start(self.setup(&disk)).await?;
        drop(disk);
        self.is_made = true;
        let mut chance = self.chance.fork();
        let keeper = self.keeper.clone();
        let working = pin!(async {
            keeper.enter(Entry::Opened(futures::executor::block_on(vault.load_rows())?));
            let done = match work(&vault, &keeper, &mut chance).await {
                // The vault has stopped, or stops as soon as it needs its disk.
                Err(error) => return Err(vault.checkpoint().await.expect_err(&error.to_string())),
                done => done?,
            };
            if end == End::Close {
                let (from, _) = keeper.enter(Entry::Asks);
                let receipt = vault.close().await?;
                keeper.enter(Entry::Got { receipt, from });
            }
            Ok(done)
        });
        let ended = match select(working, pin!(running)).await {
            Either::Left((done, running)) if end == End::Close && done.is_ok() => {
                running.await;
                done
            }
            Either::Left((done, _)) => done,
            // The vault has stopped or is closed: its callers are all answered.
            Either::Right(((), working)) => working.await,
        };
        self.world.disk.unplug();
        ended
    }

    /// Makes the vault.
    pub async fn make(&mut self) -> Result<(), VaultError> {
        let disk = self.world.disk.mount()?;
        Vault::create(&mut self.setup(&disk), &self.header.clone()).await?;
        drop(disk);
        self.is_made = true;
        Ok(())
    }

    /// Lives: makes the vault, and opens it three times.
    pub async fn live(&mut self) -> Result<(), VaultError> {
        self.make().await?;
        self.open(End::Close, async |vault, keeper, chance| {
            let blocks: Vec<u64> = (0..vault.capacity()).collect();
            for some in blocks.chunks(vault.max_batch()) {
                access(vault, keeper, some, &[]).await?;
            }
            commit(vault, keeper, &[("a", Some("first")), ("b", Some("gone soon"))]).await?;
            for _ in 0..4 {
                at_once(vault, keeper, chance).await?;
            }
            checkpoint(vault, keeper).await?;
            commit(vault, keeper, &[("b", None), ("c", Some("third"))]).await?;
            at_once(vault, keeper, chance).await
        })
        .await?;
        self.open(End::Kill, async |vault, keeper, chance| {
            access(vault, keeper, &[1, 2], &[3]).await?;
            commit(vault, keeper, &[("a", Some("first, again"))]).await?;
            for _ in 0..3 {
                at_once(vault, keeper, chance).await?;
            }
            Ok(())
        })
        .await?;
        self.open(End::Close, async |vault, keeper, chance| {
            commit(vault, keeper, &[("d", Some("fourth"))]).await?;
            at_once(vault, keeper, chance).await?;
            access(vault, keeper, &[5], &[1, 5]).await
        })
        .await
    }

    /// Recovers as far as a vault does by itself: until the state that it has brought back is in a checkpoint of its own.
    pub async fn recover(&mut self) -> Result<(), VaultError> {
        self.open(End::Kill, async |vault, keeper, _| {
            access(vault, keeper, &[2], &[4]).await?;
            checkpoint(vault, keeper).await
        })
        .await
    }

    /// Looks at everything, closes the vault, and looks for what is left in the store.
    pub async fn look_at_everything(&mut self) -> Result<(), VaultError> {
        self.open(End::Close, async |vault, keeper, _| {
            let blocks: Vec<u64> = (0..vault.capacity()).collect();
            access(vault, keeper, &[], &blocks).await?;
            let report = vault.check(Box::new(|_, _| {})).await?;
            assert!(report.faults.is_empty(), "{:?}", report.faults);
            Ok(())
        })
        .await?;
        let disk = self.world.disk.mount()?;
        let found = find_orphans(&disk, &self.world.store, &master()).await?;
        drop(disk);
        self.world.disk.unplug();
        let left = (found.dead().objects, &found.newer, &found.foreign);
        assert_eq!(left, (0, &Vec::new(), &Vec::new()), "the store holds what nothing needs: {found:?}");
        Ok(())
    }
}

/// Restores the vault from its store alone, and compares it with what the last receipt stands for, or with everything if its
/// journal is in the store. Tells whether anything was shipped.
pub async fn restore_elsewhere(header: &VaultHeader, store: VersionedMemory, mut account: Account) -> bool {
    let keeps_all = header.parameters.journal == JournalPlace::Store;
    let has_shipped = !store.list("checkpoint/").await.expect("memory does not fail").is_empty();
    assert!(has_shipped || account.receipt.is_none(), "the store holds no checkpoint any more");
    let is_empty = store.list("log/").await.expect("memory does not fail").is_empty();
    if !has_shipped && (!keeps_all || is_empty) {
        assert!(!keeps_all || account.is_untouched(), "the journal in the store does not begin");
        return false;
    }
    // Before the first receipt, something older may be there.
    let (expect, from) = account.receipt.map_or((None, 0), |(receipt, from)| (Some(receipt), from));
    let disk = FragileDisk::default().mount().expect("a new disk can be used");
    let copy = VersionedMemory::new(header.parameters.layout());
    let options = Restore {
        copy,
        scratch: crate::support::scratch(),
        expect,
        takeover: true,
        progress: Box::new(|_, _, _| {}),
    };
    let restored = restore(setup(&disk, store.clone(), 1), options).await;
    restored.unwrap_or_else(|error| panic!("the store cannot be restored: {error}"));
    let (vault, running) = Vault::start(setup(&disk, store, 2)).await.expect("it was restored");
    let reading = async {
        let calls = (0..vault.capacity()).map(|at| Call::Read(BlockId(at))).collect();
        let answers = vault.access(calls).await.expect("it is open");
        let rows = futures::executor::block_on(vault.load_rows()).expect("rows can be read");
        if keeps_all {
            account.compare_successor(&answers, rows);
        } else {
            account.compare_copy(from, &answers, rows);
        }
        vault.close().await.expect("it can be closed");
    };
    futures::join!(reading, running);
    true
}

/// Writes and reads blocks in one access.
pub async fn access(vault: &Vault, keeper: &Keeper, writes: &[u64], reads: &[u64]) -> Result<(), VaultError> {
    let mut sent = Vec::new();
    let mut calls = Vec::new();
    for block in writes.iter().copied() {
        let (write, payload) = keeper.enter(Entry::Writes(block));
        sent.push((block, write));
        calls.push(Call::Write(BlockId(block), payload.into()));
    }
    calls.extend(reads.iter().map(|block| Call::Read(BlockId(*block))));
    let (from, _) = keeper.enter(Entry::Asks);
    let answers = vault.access(calls).await?;
    for (block, bytes) in reads.iter().zip(answers.into_iter().flatten()) {
        keeper.enter(Entry::Read { block: *block, from, bytes });
    }
    for (block, write) in sent {
        keeper.enter(Entry::Wrote { block, write });
    }
    Ok(())
}

/// Has three callers ask at once.
async fn at_once(vault: &Vault, keeper: &Keeper, chance: &mut Chance) -> Result<(), VaultError> {
    let mut block = || chance.below(vault.capacity());
    let asked = [([block()], [block()]), ([block()], [block()]), ([block()], [block()])];
    let asking = asked.iter().map(|(write, read)| access(vault, keeper, write, read));
    join_all(asking).await.into_iter().collect()
}

async fn checkpoint(vault: &Vault, keeper: &Keeper) -> Result<(), VaultError> {
    let (from, _) = keeper.enter(Entry::Asks);
    let receipt = vault.checkpoint().await?;
    keeper.enter(Entry::Got { receipt, from });
    Ok(())
}

/// Commits rows in one step, so that the thread that carries it out brings no chance of its own in. With its journal in the
/// store, the vault has to go on meanwhile.
pub async fn commit(vault: &Vault, keeper: &Keeper, rows: &[(&str, Option<&str>)]) -> Result<(), VaultError> {
    let change = |(key, value): &(&str, Option<&str>)| match value {
        Some(value) => RowChange::put(key.to_string(), value.to_string()),
        None => RowChange::remove(key.to_string()),
    };
    let changes: Vec<RowChange> = rows.iter().map(change).collect();
    keeper.enter(Entry::Commits(changes.clone()));
    match vault.header().parameters.journal {
        JournalPlace::Disk => futures::executor::block_on(vault.commit_rows(changes))?,
        JournalPlace::Store => vault.commit_rows(changes).await?,
    }
    keeper.enter(Entry::Committed);
    Ok(())
}
