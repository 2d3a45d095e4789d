//! Random concurrent clients, with commits that take a while and some that fail. The answers are those of a register
//! for each key, and a kill at any time leaves everything that was acknowledged.

use super::register::{Contents, Operation, Record, is_linearizable};
use super::{if_absent, if_it_is};
use crate::vault::Vault;
use ameles_gateway::catalogue::Object;
use ameles_gateway::testing::{CommitFault, Faults, MemoryDevice};
use ameles_gateway::{Error, Options};
use futures::future::join_all;
use md5::{Digest, Md5};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

const KEYS: [&str; 3] = ["a", "b", "c"];

#[derive(Clone, Debug)]
enum Step {
    Put(usize),
    PutIfAbsent(usize),
    /// Replaces the contents that were read just before.
    Replace(usize),
    Delete(usize),
    Get(usize),
    Copy(usize, usize),
    /// Puts by an upload of one part.
    Upload(usize),
    Pause(u8),
}

fn step() -> impl Strategy<Value = Step> {
    let key = 0..KEYS.len();
    prop_oneof![
        3 => key.clone().prop_map(Step::Put),
        2 => key.clone().prop_map(Step::PutIfAbsent),
        2 => key.clone().prop_map(Step::Replace),
        2 => key.clone().prop_map(Step::Delete),
        2 => key.clone().prop_map(Step::Get),
        1 => (key.clone(), key.clone()).prop_map(|(from, to)| Step::Copy(from, to)),
        1 => key.prop_map(Step::Upload),
        2 => (0u8..40).prop_map(Step::Pause),
    ]
}

/// The behaviour of the device for a while. It says how long it holds the next commits, whether they fail, and whether
/// the test checks the state that a kill would leave.
type CommitBehavior = (u8, Option<bool>, bool);

/// The history so far.
#[derive(Default)]
struct History {
    clock: Cell<u64>,
    bodies: Cell<u32>,
    /// The numbers of bodies, by their ETags.
    numbers: RefCell<HashMap<String, u32>>,
    /// The answers so far; a failure has no outcome and says what was tried.
    records: RefCell<Vec<(usize, Record)>>,
    /// The times at which a kill was looked at, with the contents that it would leave.
    kills: RefCell<Vec<(u64, [Contents; 3])>>,
}

impl History {
    fn tick(&self) -> u64 {
        self.clock.set(self.clock.get() + 1);
        self.clock.get()
    }

    fn body(&self) -> (u32, Vec<u8>) {
        let number = self.bodies.get();
        self.bodies.set(number + 1);
        // Some share a block, some have blocks of their own.
        (number, number.to_le_bytes().repeat(if number.is_multiple_of(3) { 12 } else { 1 }))
    }

    fn contents(&self, found: Result<Arc<Object>, Error>) -> Contents {
        match found {
            Ok(object) => Some(self.numbers.borrow()[&object.etag]),
            Err(Error::NoSuchKey) => None,
            Err(other) => panic!("{other}"),
        }
    }

    fn record(&self, key: usize, called: u64, outcome: Result<Operation, Operation>) {
        let is_optional = outcome.is_err();
        let (Ok(operation) | Err(operation)) = outcome;
        let record = Record { called, answered: self.tick(), operation, is_optional };
        self.records.borrow_mut().push((key, record));
    }

    /// Records how a put ended.
    fn record_put(
        &self,
        key: usize,
        called: u64,
        number: u32,
        (done, refused): (Operation, Option<Operation>),
        outcome: Result<Arc<Object>, Error>,
    ) {
        match (outcome, refused) {
            (Ok(object), _) => {
                assert_eq!(self.numbers.borrow().get(&object.etag), Some(&number));
                self.record(key, called, Ok(done));
            }
            (Err(Error::PreconditionFailed(_) | Error::NoSuchKey), Some(refused)) => {
                self.record(key, called, Ok(refused))
            }
            (Err(Error::Device(_)), _) => self.record(key, called, Err(done)),
            (Err(other), _) => panic!("{other}"),
        }
    }
}

fn etag_of(bytes: &[u8]) -> String {
    base16ct::lower::encode_string(&Md5::digest(bytes))
}

async fn run_step(vault: &Vault, history: &History, step: &Step) {
    let new_body = || {
        let (number, body) = history.body();
        history.numbers.borrow_mut().insert(etag_of(&body), number);
        (number, body)
    };
    match *step {
        Step::Pause(turns) => {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
        }
        Step::Put(key) => {
            let ((number, body), called) = (new_body(), history.tick());
            let outcome = vault.put(KEYS[key], &body).await;
            history.record_put(key, called, number, (Operation::Put(number), None), outcome);
        }
        Step::PutIfAbsent(key) => {
            let ((number, body), called) = (new_body(), history.tick());
            let outcome = vault.put_if(KEYS[key], &body, if_absent()).await;
            let ends = (Operation::PutIf(None, number), Some(Operation::RefusedIfAbsent));
            history.record_put(key, called, number, ends, outcome);
        }
        Step::Replace(key) => {
            let called = history.tick();
            let found = vault.object(KEYS[key]);
            let contents = history.contents(found.as_ref().map(Arc::clone).map_err(|_| Error::NoSuchKey));
            history.record(key, called, Ok(Operation::Get(contents)));
            let (Ok(object), Some(old)) = (found, contents) else { return };
            let ((number, body), called) = (new_body(), history.tick());
            let outcome = vault.put_if(KEYS[key], &body, if_it_is(&object)).await;
            let ends = (Operation::PutIf(Some(old), number), Some(Operation::RefusedIf(old)));
            history.record_put(key, called, number, ends, outcome);
        }
        Step::Delete(key) => {
            let called = history.tick();
            match vault.delete(KEYS[key]).await {
                Ok(was_there) => history.record(key, called, Ok(Operation::Delete(was_there))),
                // Whether the key held anything is not known. Nobody else puts this body.
                Err(Error::Device(_)) => {
                    history.record(key, called, Err(Operation::Delete(true)));
                }
                Err(other) => panic!("{other}"),
            }
        }
        Step::Get(key) => {
            let called = history.tick();
            let contents = history.contents(vault.object(KEYS[key]));
            history.record(key, called, Ok(Operation::Get(contents)));
        }
        Step::Copy(from, to) => {
            let called = history.tick();
            let Ok(source) = vault.object(KEYS[from]) else { return };
            let number = history.numbers.borrow()[&source.etag];
            history.record(from, called, Ok(Operation::Get(Some(number))));
            if source.completed.is_some() {
                return;
            }
            let called = history.tick();
            let written = vault.gateway.copy_blocks(&source, None, None).await.expect("read and written");
            let outcome = vault.link(KEYS[to], written).await;
            history.record_put(to, called, number, (Operation::Put(number), None), outcome);
        }
        Step::Upload(key) => upload(vault, history, key).await,
    }
}

async fn upload(vault: &Vault, history: &History, key: usize) {
    let (number, body) = history.body();
    let Ok(id) = vault.begin_upload(KEYS[key]).await else { return };
    let Ok(part) = vault.put_part(KEYS[key], id, 1, &body).await else { return };
    history.numbers.borrow_mut().insert(format!("{}-1", etag_of(&part.md5)), number);
    let called = history.tick();
    let outcome = vault.complete(KEYS[key], id, &[1]).await;
    history.record_put(key, called, number, (Operation::Put(number), None), outcome);
}

async fn run_with(device: &MemoryDevice, history: &History, behaviors: &[CommitBehavior]) {
    for (turns, fails, is_killed) in behaviors {
        let held = device.hold_commits().await;
        let commits = match fails {
            None => CommitFault::None,
            Some(true) => CommitFault::After,
            Some(false) => CommitFault::Before,
        };
        device.set_faults(Faults { commits, ..Faults::default() });
        for _ in 0..*turns {
            tokio::task::yield_now().await;
        }
        drop(held);
        for _ in 0..*turns / 3 {
            tokio::task::yield_now().await;
        }
        if *is_killed {
            check_after_kill(device, history).await;
        }
    }
    device.set_faults(Faults::default());
}

async fn check_after_kill(device: &MemoryDevice, history: &History) {
    let (at, left) = (history.tick(), Arc::new(device.after_kill()));
    let vault = Vault::over(left, Options::default()).await;
    let contents = KEYS.map(|key| history.contents(vault.object(key)));
    history.kills.borrow_mut().push((at, contents));
}

/// The history of a key if a kill ends it at this time.
fn records_before_kill(records: &[Record], at: u64, found: Contents) -> Vec<Record> {
    let changes = |record: &&Record| match record.operation {
        Operation::Get(_) | Operation::RefusedIf(_) | Operation::RefusedIfAbsent => record.answered < at,
        _ => record.called < at,
    };
    let ended = |record: &Record| Record {
        // An operation that had not ended may have taken effect or not.
        is_optional: record.is_optional || record.answered > at,
        ..*record
    };
    let found = Record { called: at, answered: at, operation: Operation::Get(found), is_optional: false };
    records.iter().filter(changes).map(ended).chain([found]).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn many_clients_at_once_see_a_register_for_each_key_and_a_kill_loses_nothing_acknowledged(clients in prop::collection::vec(prop::collection::vec(step(), 1..9), 2..7), behaviors in prop::collection::vec((0u8..60, prop::option::weighted(0.2, any::<bool>()), any::<bool>()), 1..12)) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().expect("runtime");
        let history = History::default();
        runtime.block_on(async {
            let vault = Vault::new(32, 400, Options::default()).await;
            let runs = clients.iter().map(|steps| {
                let (vault, history) = (&vault, &history);
                async move {
                    for step in steps {
                        run_step(vault, history, step).await;
                    }
                }
            });
            futures::join!(join_all(runs), run_with(&vault.device, &history, &behaviors));
            for key in 0..KEYS.len() {
                run_step(&vault, &history, &Step::Put(key)).await;
                run_step(&vault, &history, &Step::Get(key)).await;
            }
            super::agrees_with_its_rows(&vault).await;
        });
        let records = history.records.into_inner();
        for key in 0..KEYS.len() {
            let all: Vec<Record> = records.iter().filter(|(new, _)| *new == key).map(|(_, record)| *record).collect();
            // A change that failed was undone: nobody saw it.
            let seen: Vec<Record> = all.iter().filter(|record| !record.is_optional).copied().collect();
            prop_assert!(is_linearizable(&seen), "{}: {seen:#?}", KEYS[key]);
            for (at, contents) in history.kills.borrow().iter() {
                let killed = records_before_kill(&all, *at, contents[key]);
                let is_explained = is_linearizable(&killed);
                prop_assert!(is_explained, "{} after a kill at {at}: {killed:#?}", KEYS[key]);
            }
        }
    }
}
