//! An opening that was cut off: the owner reopens the vault, and nothing is lost.

use super::{FILL, again, claims, cut_off, cuts, written};
use crate::promises::fixture::{VaultFixture, check, read_all};

async fn opens(fixture: &VaultFixture, when: &str) {
    let opened = fixture.open(async |vault| {
        read_all(vault, FILL).await.unwrap();
        assert!(check(vault).await.unwrap().faults.is_empty(), "{when}");
    });
    opened.await.unwrap_or_else(|error| panic!("{when}: {error}"));
}

#[tokio::test(start_paused = true)]
async fn an_opening_that_is_cut_off_anywhere_is_followed_by_one_that_opens() {
    let scene = written().await;
    for cut in cuts(&scene).await {
        let fixture = again(&scene);
        assert!(cut_off(&fixture, cut).await);
        opens(&fixture, &format!("{cut:?}")).await;
    }
}

#[tokio::test(start_paused = true)]
async fn openings_that_are_cut_off_one_after_the_other_do_not_lock_their_owner_out() {
    let scene = written().await;
    let cuts = cuts(&scene).await;
    for first in 0..cuts.len() {
        let fixture = again(&scene);
        // Each one at another point than the previous one.
        for nth in 0..4 {
            cut_off(&fixture, cuts[(first + 7 * nth) % cuts.len()]).await;
        }
        opens(&fixture, &format!("{:?} and others", cuts[first])).await;
    }
}

#[tokio::test(start_paused = true)]
async fn an_opening_never_goes_on_under_the_claim_of_another() {
    let scene = written().await;
    let before = claims(&scene).await;
    for cut in cuts(&scene).await {
        let fixture = again(&scene);
        cut_off(&fixture, cut).await;
        let left = claims(&fixture).await - before;
        opens(&fixture, &format!("{cut:?}")).await;
        assert_eq!(claims(&fixture).await - before, left + 1, "{cut:?}");
    }
}
