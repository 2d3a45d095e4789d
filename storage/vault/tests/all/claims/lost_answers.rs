//! The answer to a claim may be lost, and the claim itself may arrive late. Its contents tell its sender from a copy of
//! the folder.

use super::{FILL, again, claims, written};
use crate::promises::fixture::{VaultFixture, read_all};
use crate::support::stepped::Claiming;
use ameles_core::store::UntrustedError;
use ameles_store::{BlobError, Blobs, VersionedMemory};
use ameles_vault::{Vault, VaultError};
use std::cell::RefCell;
use std::rc::Rc;

/// The result of a claim in flight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ClaimFate {
    /// The claim never arrives.
    Lost,
    /// The claim arrives, but its answer does not.
    Unanswered,
    /// The claim arrives, its answer does not, and the claim is sent again.
    SentTwice,
    /// The claim arrives during the next opening, just before that opening's own claim.
    Late,
}

type Claim = (String, Vec<u8>);

fn lost() -> BlobError {
    UntrustedError::Unavailable("the line was cut".into()).into()
}

/// Opens the vault with this result of its claim, and kills the vault.
async fn open(
    fixture: &VaultFixture,
    fate: ClaimFate,
    under_way: &Rc<RefCell<Vec<Claim>>>,
) -> Result<(), VaultError> {
    let late = under_way.clone();
    let sent = async move |store: &VersionedMemory, name: &str, bytes: &[u8]| {
        let arrived = late.take();
        for (name, bytes) in arrived {
            store.put_if_absent(&name, &bytes).await?;
        }
        match fate {
            ClaimFate::Lost => Err(lost()),
            ClaimFate::Unanswered => store.put_if_absent(name, bytes).await.and(Err(lost())),
            ClaimFate::SentTwice => {
                store.put_if_absent(name, bytes).await?;
                store.put_if_absent(name, bytes).await
            }
            ClaimFate::Late => {
                late.borrow_mut().push((name.to_owned(), bytes.to_vec()));
                Err(lost())
            }
        }
    };
    let disk = fixture.disk.mount()?;
    let opened = Vault::start(fixture.setup_over(&disk, Claiming::over(fixture.store.clone(), sent))).await;
    fixture.disk.unplug();
    opened.map(drop)
}

#[tokio::test(start_paused = true)]
async fn a_claim_that_was_sent_twice_is_recognised_as_the_openings_own() {
    let fixture = written().await;
    open(&fixture, ClaimFate::SentTwice, &Rc::default()).await.unwrap();
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn whatever_became_of_the_claims_of_earlier_openings_the_owner_opens_the_vault() {
    let scene = written().await;
    let fates = [ClaimFate::Lost, ClaimFate::Unanswered, ClaimFate::Late];
    for first in fates {
        for second in fates {
            let (fixture, under_way) = (again(&scene), Rc::default());
            for fate in [first, second] {
                let refused = open(&fixture, fate, &under_way).await.unwrap_err();
                assert!(matches!(refused, VaultError::Unavailable(_)), "{first:?}, {second:?}: {refused}");
            }
            open(&fixture, ClaimFate::SentTwice, &under_way)
                .await
                .unwrap_or_else(|error| panic!("{first:?}, {second:?}: {error}"));
            fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_twin_whose_claim_came_first_is_not_taken_for_the_openings_own() {
    for fate in [ClaimFate::Lost, ClaimFate::Unanswered, ClaimFate::Late] {
        let (fixture, under_way) = (written().await, Rc::default());
        open(&fixture, fate, &under_way).await.unwrap_err();
        let twin = fixture.with_copied_disk();
        open(&twin, ClaimFate::SentTwice, &under_way).await.unwrap();
        let refused = open(&fixture, ClaimFate::SentTwice, &under_way).await.unwrap_err();
        assert!(matches!(refused, VaultError::Displaced { .. }), "{fate:?}: {refused}");
        twin.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn an_object_planted_under_the_name_of_the_next_claim_is_no_gateway() {
    let fixture = written().await;
    let before = claims(&fixture).await;
    let planted = async move |store: &VersionedMemory, name: &str, bytes: &[u8]| {
        store.put(name, &[7; 88]).await?;
        store.put_if_absent(name, bytes).await
    };
    let disk = fixture.disk.mount().unwrap();
    let opened =
        Vault::start(fixture.setup_over(&disk, Claiming::over(fixture.store.clone(), planted))).await;
    let error = opened.err().unwrap();
    fixture.disk.unplug();
    assert!(error.is_tampering() && error.to_string().contains("epoch/"), "{error}");
    let name = fixture.store.list("epoch/").await.unwrap().pop().unwrap().name;
    Blobs::remove(&fixture.store, &name).await.unwrap();
    assert_eq!(claims(&fixture).await, before);
    fixture.open(async |vault| read_all(vault, FILL).await.unwrap()).await.unwrap();
}
