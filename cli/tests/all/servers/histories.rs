//! Random histories through both doors, with deaths between. A change that was acknowledged is there; any other is
//! there as a whole or not at all; both doors show the same.

use super::client::{Client, Cut, Door};
use super::environment::{BLOCK, CAPACITY, Serving, Setup, World};
use proptest::prelude::*;
use std::collections::BTreeMap;
use tokio::task::LocalSet;

/// The contents that a key may hold. More than one state is possible only while a change of it was not acknowledged.
type Model = BTreeMap<&'static str, Vec<Option<Vec<u8>>>>;

const KEYS: [&str; 5] = ["a", "a/b", "a/c/d", "b", "z"];

#[derive(Clone, Debug)]
enum Step {
    Put(Door, usize, Vec<u8>),
    Get(Door, usize),
    GetRange(Door, usize, usize, usize),
    Delete(Door, usize),
    Copy(Door, usize, usize),
    List(Door),
}

/// An opening: its requests, and after how many requests of the store it dies.
#[derive(Clone, Debug)]
struct Opening {
    steps: Vec<Step>,
    dies_after: Option<u64>,
}

fn step() -> impl Strategy<Value = Step> {
    let door = prop_oneof![Just(Door::S3), Just(Door::Swift)];
    let key = 0..KEYS.len();
    // Half of the bodies are small enough to share a block.
    let body =
        prop_oneof![prop::collection::vec(any::<u8>(), 0..60), prop::collection::vec(any::<u8>(), 0..1500)];
    prop_oneof![
        6 => (door.clone(), key.clone(), body).prop_map(|(door, key, body)| Step::Put(door, key, body)),
        3 => (door.clone(), key.clone()).prop_map(|(door, key)| Step::Get(door, key)),
        2 => (door.clone(), key.clone(), 0..1500usize, 1..900usize)
            .prop_map(|(door, key, start, length)| Step::GetRange(door, key, start, length)),
        2 => (door.clone(), key.clone()).prop_map(|(door, key)| Step::Delete(door, key)),
        2 => (door.clone(), key.clone(), key).prop_map(|(door, from, to)| Step::Copy(door, from, to)),
        1 => door.prop_map(Step::List),
    ]
}

fn opening() -> impl Strategy<Value = Opening> {
    let dies_after = prop::option::weighted(0.8, 1..120u64);
    (prop::collection::vec(step(), 1..25), dies_after)
        .prop_map(|(steps, dies_after)| Opening { steps, dies_after })
}

/// The only state that there is.
fn known<'a>(model: &'a Model, key: &str) -> &'a Option<Vec<u8>> {
    match model[key].as_slice() {
        [state] => state,
        states => panic!("{key} was read after the death: {} states are left", states.len()),
    }
}

/// Asks for one thing and checks the answer; the model is as it must be then. An `Err` is the death of the gateway.
async fn ask(client: &Client, model: &mut Model, step: &Step) -> Result<(), Cut> {
    match step {
        Step::Put(door, key, body) => {
            let key = KEYS[*key];
            attempt(model, key, Some(body.clone()));
            let status = client.put(*door, key, body).await?.status;
            assert_eq!(status, if *door == Door::S3 { 200 } else { 201 });
            succeed(model, key);
        }
        Step::Get(door, key) => {
            let found = client.get(*door, KEYS[*key]).await?.object();
            assert_eq!(&found, known(model, KEYS[*key]), "{}", KEYS[*key]);
        }
        Step::GetRange(door, key, start, length) => {
            let answer = client.get_range(*door, KEYS[*key], *start, start + length - 1).await?;
            match known(model, KEYS[*key]) {
                None => assert_eq!(answer.status, 404),
                Some(body) if *start < body.len() => {
                    let end = body.len().min(start + length);
                    assert_eq!(answer.object().as_deref(), Some(&body[*start..end]));
                }
                Some(_) => assert_eq!(answer.status, 416),
            }
        }
        Step::Delete(door, key) => {
            let key = KEYS[*key];
            let was_there = known(model, key).is_some();
            attempt(model, key, None);
            let status = client.delete(*door, key).await?.status;
            assert_eq!(status, if *door == Door::Swift && !was_there { 404 } else { 204 });
            succeed(model, key);
        }
        Step::Copy(door, from, to) => {
            let (from, to) = (KEYS[*from], KEYS[*to]);
            let source = known(model, from).clone();
            if from == to {
                return Ok(());
            }
            let Some(body) = source else {
                assert_eq!(client.copy(*door, from, to).await?.status, 404);
                return Ok(());
            };
            attempt(model, to, Some(body));
            let status = client.copy(*door, from, to).await?.status;
            assert_eq!(status, if *door == Door::S3 { 200 } else { 201 });
            succeed(model, to);
        }
        Step::List(door) => {
            let there = KEYS.into_iter().filter(|key| known(model, key).is_some());
            assert_eq!(client.list(*door).await?, there.collect::<Vec<_>>());
        }
    }
    Ok(())
}

/// Notes that a change is asked for: from now on either state is possible.
fn attempt(model: &mut Model, key: &'static str, state: Option<Vec<u8>>) {
    model.entry(key).or_default().push(state);
}

/// Notes that a change was acknowledged: the newest state is the only one.
fn succeed(model: &mut Model, key: &str) {
    let states = model.get_mut(key).expect("it was attempted");
    states.drain(..states.len() - 1);
}

/// Checks after a death that each key is in one of its possible states, and that both doors agree on which.
async fn settle(client: &Client, model: &mut Model) -> Result<(), Cut> {
    for (key, states) in model.iter_mut() {
        for door in Door::BOTH {
            let found = client.get(door, key).await?.object();
            assert!(states.contains(&found), "{door:?}: {key} holds {found:?}, and could hold {states:?}");
            *states = vec![found];
        }
    }
    Ok(())
}

async fn live(model: &mut Model, serving: &Serving, steps: &[Step]) -> Result<(), Cut> {
    let client = serving.client().await;
    settle(&client, model).await?;
    for step in steps {
        ask(&client, model, step).await?;
    }
    check_blocks(model, serving).await;
    Ok(())
}

/// No block is lost, and none is held by what is gone.
async fn check_blocks(model: &Model, serving: &Serving) {
    let bodies = model.keys().filter_map(|key| known(model, key).as_ref());
    let held: usize =
        bodies.map(Vec::len).filter(|&bytes| bytes > BLOCK / 2).map(|bytes| bytes.div_ceil(BLOCK)).sum();
    let (free, packed) = serving.blocks().await;
    assert_eq!(free + packed + held as u64, CAPACITY);
}

async fn history(openings: Vec<Opening>, seed: u64) {
    let mut world = World::new(Setup::default(), seed).await;
    let mut model: Model = KEYS.into_iter().map(|key| (key, vec![None])).collect();
    let serving = world.open(None).await.expect("nobody kills it");
    assert_eq!(serving.client().await.make_container().await.expect("nobody kills it").status, 201);
    world.close(serving).await;
    let last = Opening { steps: vec![Step::List(Door::S3), Step::List(Door::Swift)], dies_after: None };
    for Opening { steps, dies_after } in openings.into_iter().chain([last]) {
        let Some(serving) = world.open(dies_after).await else { continue };
        let recorder = world.recorder.clone();
        let died = tokio::select! {
            biased;
            () = recorder.death() => true,
            lived = live(&mut model, &serving, &steps) => {
                lived.expect("no connection is cut while the gateway lives");
                false
            }
        };
        match died {
            true => world.kill(serving).await,
            false => world.close(serving).await,
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn a_history_through_both_doors_is_a_history_of_a_map_whenever_the_gateway_dies(
        openings in prop::collection::vec(opening(), 1..6),
        seed in any::<u64>(),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
        LocalSet::new().block_on(&runtime, history(openings, seed));
    }
}
