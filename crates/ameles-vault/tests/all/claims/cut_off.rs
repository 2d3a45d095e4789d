//! An opening that was cut off: the owner opens the vault again, and nothing is lost.

use super::{FILL, again, claims, cut_off, cuts, is_displaced, written};
use crate::promises::desk::{Desk, check, read_all};
use ameles_store::Blobs;
use redb::{ReadableDatabase, TableDefinition};

const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");

async fn opens(desk: &Desk, when: &str) {
    let opened = desk.open(async |vault| {
        read_all(vault, FILL).await.unwrap();
        assert!(check(vault).await.unwrap().complaints.is_empty(), "{when}");
    });
    opened.await.unwrap_or_else(|error| panic!("{when}: {error}"));
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_cut_off_anywhere_is_followed_by_one_that_opens() {
    let scene = written().await;
    for cut in cuts(&scene).await {
        let desk = again(&scene);
        assert!(cut_off(&desk, cut).await);
        opens(&desk, &format!("{cut:?}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn openings_that_are_cut_off_one_after_the_other_do_not_lock_their_owner_out() {
    let scene = written().await;
    let cuts = cuts(&scene).await;
    for first in 0..cuts.len() {
        let desk = again(&scene);
        // Each at another moment than the one before.
        for nth in 0..4 {
            cut_off(&desk, cuts[(first + 7 * nth) % cuts.len()]).await;
        }
        opens(&desk, &format!("{:?} and others", cuts[first])).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_never_goes_on_under_the_claim_of_another() {
    let scene = written().await;
    let before = claims(&scene).await;
    for cut in cuts(&scene).await {
        let desk = again(&scene);
        cut_off(&desk, cut).await;
        let left = claims(&desk).await - before;
        opens(&desk, &format!("{cut:?}")).await;
        assert_eq!(claims(&desk).await - before, left + 1, "{cut:?}");
    }
}

/// An older Ameles noted one claim, and made it again at the next opening.
#[tokio::test(start_paused = true)]
async fn an_opening_of_an_older_ameles_that_was_cut_off_after_its_claim_is_followed_by_one_that_opens() {
    let scene = written().await;
    let before = claims(&scene).await;
    let mut converted = 0;
    for cut in cuts(&scene).await {
        let desk = again(&scene);
        cut_off(&desk, cut).await;
        converted += u32::from(note_as_before(&desk) && claims(&desk).await > before);
        let other = desk.with_copied_disk();
        opens(&desk, &format!("{cut:?}")).await;
        assert!(is_displaced(&other.open_and_crash(async |_| {}).await), "{cut:?}");
        let newest = desk.store.list("epoch/").await.unwrap();
        assert!(newest.is_sorted_by(|one, other| one.name < other.name));
    }
    assert!(converted > 5, "{converted} openings were cut off after their claim");
}

/// Rewrites the notes as the older Ameles had them; tells whether there were any.
fn note_as_before(desk: &Desk) -> bool {
    let database = desk.disk.database().unwrap();
    let read = database.begin_read().unwrap().open_table(META).unwrap();
    let notes = read.get("claims").unwrap().map(|notes| notes.value().to_vec());
    drop(read);
    let notes: Vec<(u32, Vec<u8>)> = notes.map_or(Vec::new(), |notes| borsh::from_slice(&notes).unwrap());
    let change = database.begin_write().unwrap();
    if let Some(last) = notes.last() {
        let mut meta = change.open_table(META).unwrap();
        meta.insert("claim", borsh::to_vec(last).unwrap().as_slice()).unwrap();
        meta.remove("claims").unwrap();
    }
    change.commit().unwrap();
    drop(database);
    desk.disk.unplug();
    !notes.is_empty()
}
