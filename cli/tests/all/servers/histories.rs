//! Random histories by both protocols, with deaths of the gateway. An acknowledged change is present. Any other change
//! is present completely or not at all. Both protocols show the same state.

use super::client::{Client, ConnectionLost, Protocol};
use super::environment::{BLOCK, CAPACITY, RunningGateway, Settings, TestEnvironment};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tokio::task::LocalSet;

/// The possible contents of each key. A key has more than one only after a change that was not acknowledged.
type Model = BTreeMap<&'static str, Vec<Option<Vec<u8>>>>;

const KEYS: [&str; 5] = ["a", "a/b", "a/c/d", "b", "z"];

#[derive(Clone, Debug)]
enum Step {
    Put(Protocol, usize, Vec<u8>),
    Get(Protocol, usize),
    GetRange(Protocol, usize, usize, usize),
    Delete(Protocol, usize),
    Copy(Protocol, usize, usize),
    List(Protocol),
}

/// An opening of the gateway: its requests, and the number of store requests after which it dies.
#[derive(Clone, Debug)]
struct Opening {
    steps: Vec<Step>,
    dies_after: Option<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    let protocol = prop_oneof![Just(Protocol::S3), Just(Protocol::Swift)];
    let key = 0..KEYS.len();
    // Half of the bodies are small enough to share a block.
    let body =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(any::<u8>(), 0..1500)];
    prop_oneof![
        6 => (protocol.clone(), key.clone(), body).prop_map(|(protocol, key, body)| Step::Put(protocol, key, body)),
        3 => (protocol.clone(), key.clone()).prop_map(|(protocol, key)| Step::Get(protocol, key)),
        2 => (protocol.clone(), key.clone(), 0..1500usize, 1..900usize)
            .prop_map(|(protocol, key, start, length)| Step::GetRange(protocol, key, start, length)),
        2 => (protocol.clone(), key.clone()).prop_map(|(protocol, key)| Step::Delete(protocol, key)),
        2 => (protocol.clone(), key.clone(), key).prop_map(|(protocol, from, to)| Step::Copy(protocol, from, to)),
        1 => protocol.prop_map(Step::List),
    ]
}

fn opening() -> impl Strategy<Value = Opening> {
    let dies_after = prop::option::weighted(0.8, 1..120u64);
    (prop::collection::vec(step(), 1..25), dies_after)
        .prop_map(|(steps, dies_after)| Opening { steps, dies_after })
}

/// Returns the only possible state of a key.
fn expected<'a>(model: &'a Model, key: &str) -> &'a Option<Vec<u8>> {
    match model[key].as_slice() {
        [state] => state,
        states => panic!("{key} was read after the death, but has {} possible states", states.len()),
    }
}

/// Sends one request, checks its answer and updates the model. An `Err` is the death of the gateway.
async fn send(client: &Client, model: &mut Model, step: &Step) -> Result<(), ConnectionLost> {
    match step {
        Step::Put(protocol, key, body) => {
            let key = KEYS[*key];
            attempt(model, key, Some(body.clone()));
            let status = client.put(*protocol, key, body).await?.status;
            assert_eq!(status, if *protocol == Protocol::S3 { 200 } else { 201 });
            succeed(model, key);
        }
        Step::Get(protocol, key) => {
            let found = client.get(*protocol, KEYS[*key]).await?.object();
            assert_eq!(&found, expected(model, KEYS[*key]), "{}", KEYS[*key]);
        }
        Step::GetRange(protocol, key, start, length) => {
            let answer = client.get_range(*protocol, KEYS[*key], *start, start + length - 1).await?;
            match expected(model, KEYS[*key]) {
                None => assert_eq!(answer.status, 404),
                Some(body) if *start < body.len() => {
                    let end = body.len().min(start + length);
                    assert_eq!(answer.object().as_deref(), Some(&body[*start..end]));
                }
                Some(_) => assert_eq!(answer.status, 416),
            }
        }
        Step::Delete(protocol, key) => {
            let key = KEYS[*key];
            let was_there = expected(model, key).is_some();
            attempt(model, key, None);
            let status = client.delete(*protocol, key).await?.status;
            assert_eq!(status, if *protocol == Protocol::Swift && !was_there { 404 } else { 204 });
            succeed(model, key);
        }
        Step::Copy(protocol, from, to) => {
            let (from, to) = (KEYS[*from], KEYS[*to]);
            let source = expected(model, from).clone();
            if from == to {
                return Ok(());
            }
            let Some(body) = source else {
                assert_eq!(client.copy(*protocol, from, to).await?.status, 404);
                return Ok(());
            };
            attempt(model, to, Some(body));
            let status = client.copy(*protocol, from, to).await?.status;
            assert_eq!(status, if *protocol == Protocol::S3 { 200 } else { 201 });
            succeed(model, to);
        }
        Step::List(protocol) => {
            let there = KEYS.into_iter().filter(|key| expected(model, key).is_some());
            assert_eq!(client.list(*protocol).await?, there.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Records a requested change: from now on, both states are possible.
fn attempt(model: &mut Model, key: &'static str, state: Option<Vec<u8>>) {
    model.entry(key).or_default().push(state);
}

/// Records an acknowledged change: only the newest state is possible.
fn succeed(model: &mut Model, key: &str) {
    let states = model.get_mut(key).expect("it was attempted");
    states.drain(..states.len() - 1);
}

/// Checks after a death that each key has one of its possible states, and that both protocols show the same one.
async fn check_after_death(client: &Client, model: &mut Model) -> Result<(), ConnectionLost> {
    for (key, states) in model.iter_mut() {
        for protocol in Protocol::BOTH {
            let found = client.get(protocol, key).await?.object();
            assert!(
                states.contains(&found),
                "{protocol:?}: {key} holds {found:?}, but expected one of {states:?}"
            );
            *states = vec![found];
        }
    }
    Ok(())
}

async fn run_opening(
    model: &mut Model,
    instance: &RunningGateway,
    steps: &[Step],
) -> Result<(), ConnectionLost> {
    let client = instance.client().await;
    check_after_death(&client, model).await?;
    for step in steps {
        send(&client, model, step).await?;
    }
    check_blocks(model, instance).await;
    Ok(())
}

/// Checks that no block is lost, and that no deleted object holds a block.
async fn check_blocks(model: &Model, instance: &RunningGateway) {
    let bodies = model.keys().filter_map(|key| expected(model, key).as_ref());
    let held: usize =
        bodies.map(Vec::len).filter(|&bytes| bytes > BLOCK / 2).map(|bytes| bytes.div_ceil(BLOCK)).sum();
    let (free, packed) = instance.blocks().await;
    assert_eq!(free + packed + held as u64, CAPACITY);
}

async fn run_history(openings: Vec<Opening>, seed: u64) {
    let mut environment = TestEnvironment::new(Settings::default(), seed).await;
    let mut model: Model = KEYS.into_iter().map(|key| (key, vec![None])).collect();
    let instance = environment.open(None).await.expect("it is not killed");
    assert_eq!(instance.client().await.create_container().await.expect("it is not killed").status, 201);
    environment.close(instance).await;
    let last =
        Opening { steps: vec![Step::List(Protocol::S3), Step::List(Protocol::Swift)], dies_after: None };
    for Opening { steps, dies_after } in openings.into_iter().chain([last]) {
        let Some(instance) = environment.open(dies_after).await else { continue };
        let recorder = environment.recorder.clone();
        let died = tokio::select! {
            biased;
            () = recorder.death() => true,
            result = run_opening(&mut model, &instance, &steps) => {
                result.expect("the gateway cuts no connection while it runs");
                false
            }
        };
        match died {
            true => environment.kill(instance).await,
            false => environment.close(instance).await,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_history_by_both_protocols_is_a_history_of_a_map_whenever_the_gateway_dies(
        openings in prop::collection::vec(opening(), 1..6),
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, run_history(openings, seed));
    }
}
