//! The reads that a demonstration makes by itself, in a pattern that is easy to see.
//!
//! They go through the gateway, like a client's reads.

use ameles_gateway::catalogue::{ContainerSettings, Details};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::{Device, Error, FIRST_ACCOUNT, Gateway};
use clap::ValueEnum;
use futures::TryStreamExt;
use rand_core::{OsRng, RngCore, TryRngCore};
use std::time::Duration;
use tokio::time::{MissedTickBehavior, interval};

/// The container of the objects.
pub const CONTAINER: &str = "demonstration";
/// The number of objects. They fill three quarters of the vault.
pub const OBJECTS: u64 = 48;
/// The number of blocks of an object.
const OBJECT_BLOCKS: u64 = 16;
/// The time between two reads: two reads for each column of the page's heat map.
const READ_INTERVAL: Duration = Duration::from_millis(250);
/// The number of reads of one object after each sweep over all objects.
const HOT_READS: u64 = 32;

/// The pattern that a demonstration reads by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Pattern {
    /// All objects in order, then one object repeatedly
    Sweep,
    /// Nothing: only clients read
    Quiet,
}

/// Returns the name of the object with this number.
pub fn object_name(number: u64) -> String {
    format!("object-{number:02}")
}

/// Creates the objects with random bytes. Calls `on_put` after each.
///
/// # Errors
/// The errors of puts.
pub async fn put_objects(gateway: &Gateway, on_put: impl Fn()) -> Result<(), Error> {
    let account = gateway.account(FIRST_ACCOUNT);
    account.create_container(CONTAINER, ContainerSettings::default()).await?;
    // One by one, so that their blocks are in the order of their names.
    for number in 0..OBJECTS {
        let mut body = vec![0; OBJECT_BLOCKS as usize * gateway.device().shape().block_bytes];
        OsRng.unwrap_err().fill_bytes(&mut body);
        let mut writer = gateway.writer(Some(body.len() as u64), None)?;
        writer.push(body.into()).await?;
        let written = writer.finish().await?;
        let (details, conditions) = (Details::default(), WriteConditions::default());
        account.link(CONTAINER, &object_name(number), written, details, conditions).await?;
        on_put();
    }
    Ok(())
}

/// Reads in the pattern until it is aborted. Returns at once for [`Pattern::Quiet`].
pub async fn read_repeatedly(gateway: Gateway, pattern: Pattern) {
    if pattern == Pattern::Quiet {
        return;
    }
    let mut ticks = interval(READ_INTERVAL);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    for number in (0..).map(object_at) {
        ticks.tick().await;
        if let Err(error) = read(&gateway, number).await {
            tracing::warn!(%error, "cannot read an object of the demonstration");
        }
    }
}

/// Returns the number of the object that is read in this step.
fn object_at(step: u64) -> u64 {
    let step = step % (OBJECTS + HOT_READS);
    if step < OBJECTS { step } else { OBJECTS / 4 }
}

async fn read(gateway: &Gateway, number: u64) -> Result<(), Error> {
    // A user may have deleted it.
    let Ok(object) = gateway.account(FIRST_ACCOUNT).object(CONTAINER, &object_name(number)) else {
        return Ok(());
    };
    let mut body = gateway.read(&object, None).await?;
    while body.try_next().await?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ameles_gateway::Options;
    use ameles_gateway::testing::{Event, MemoryDevice};
    use std::collections::BTreeSet;
    use std::sync::Arc;

    #[test]
    fn a_sweep_over_all_objects_is_followed_by_one_that_is_hot() {
        let steps: Vec<u64> = (0..OBJECTS + HOT_READS + 2).map(object_at).collect();
        assert!(steps[..48].iter().copied().eq(0..48));
        assert_eq!(steps[48..80], [12; 32]);
        assert_eq!(steps[80..], [0, 1]);
    }

    #[tokio::test]
    async fn objects_are_stored_in_the_order_of_their_names_so_that_a_sweep_is_a_line() {
        let device = Arc::new(MemoryDevice::new(256, 1024, 8));
        let gateway = Gateway::open(Arc::clone(&device), Options::default()).await.unwrap();
        put_objects(&gateway, || ()).await.unwrap();
        device.take_log();
        for number in 0..OBJECTS {
            read(&gateway, number).await.unwrap();
            let read = device.take_log().into_iter().flat_map(|event| match event {
                Event::Read(blocks) => blocks,
                _ => Vec::new(),
            });
            // Batches of one object may arrive in any order.
            let blocks: BTreeSet<u64> = read.collect();
            assert!(blocks.iter().copied().eq(number * 16..number * 16 + 16), "{number}: {blocks:?}");
        }
    }
}
