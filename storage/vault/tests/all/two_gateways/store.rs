//! The store that two gateways share: every object of a request is scheduled, and no name ever has two contents.

use super::scheduler::{GatewayId, Scheduler};
use crate::simulation::violation::Violation;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError, split_buckets};
use ameles_core::tree::layout::Layout;
use ameles_store::{Blob, BlobError, Blobs, Inventory, VersionedMemory};
use futures::future::join_all;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A flaw that both gateways have, as seen by the store: it proves that the tests check the promises.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// An existing claim counts as the opening's own: openings are not distinguished.
    ClaimsAreShared,
    /// A gateway that has claimed no longer checks the claims: it continues with those that were there.
    StopsChecking,
}

/// The store itself. Clones share it.
#[derive(Clone)]
pub struct Shared {
    pub memory: VersionedMemory,
    pub violation: Violation,
    /// The contents that each name was ever given.
    contents: Rc<RefCell<HashMap<String, [u8; 32]>>>,
}

impl Shared {
    pub fn over(memory: VersionedMemory) -> Self {
        Shared { memory, violation: Violation::default(), contents: Rc::default() }
    }

    /// Records that a name is given contents. Claims do not count: two gateways may want the same one, and one gets it.
    fn record_contents(&self, name: String, bytes: &[u8]) {
        let these: [u8; 32] = Sha256::digest(bytes).into();
        let first = *self.contents.borrow_mut().entry(name.clone()).or_insert(these);
        self.violation.check(first == these, || format!("{name} was written twice, with other contents"));
    }
}

/// The store as one of the gateways reaches it.
pub struct ScheduledStore {
    shared: Shared,
    scheduler: Scheduler,
    gateway_id: GatewayId,
    flaw: Option<Flaw>,
    /// The claims that were there when this gateway had made its own.
    seen: RefCell<Option<Vec<Blob>>>,
    /// The number of checks of the claims that no deletion has followed yet.
    unused_checks: Cell<u64>,
}

impl ScheduledStore {
    pub fn new(shared: &Shared, scheduler: &Scheduler, gateway_id: GatewayId, flaw: Option<Flaw>) -> Self {
        ScheduledStore {
            shared: shared.clone(),
            scheduler: scheduler.clone(),
            gateway_id,
            flaw,
            seen: RefCell::default(),
            unused_checks: Cell::new(0),
        }
    }

    /// Waits for a turn before the effect, and for another before the answer.
    async fn in_turn<T>(&self, effect: impl Future<Output = T>) -> T {
        self.scheduler.wait(self.gateway_id).await;
        let answer = effect.await;
        self.scheduler.wait(self.gateway_id).await;
        answer
    }
}

impl Untrusted for ScheduledStore {
    fn layout(&self) -> &Layout {
        self.shared.memory.layout()
    }

    async fn read(&self, places: &[Place], into: &mut [u8]) -> Result<(), UntrustedError> {
        self.in_turn(self.shared.memory.read(places, into)).await
    }

    async fn write(&self, buckets: &[BucketVersion], from: &[u8]) -> Result<(), UntrustedError> {
        let answers = split_buckets(self.layout(), buckets, from).map(|(of, bytes)| {
            self.in_turn(async move {
                self.shared.record_contents(format!("{} {}", of.bucket, of.version), bytes);
                self.shared.memory.write(&[of], bytes).await
            })
        });
        join_all(answers).await.into_iter().collect()
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let unused_checks = self.unused_checks.get();
        self.shared
            .violation
            .check(unused_checks > 0, || "buckets were deleted without a check of the claims".into());
        self.unused_checks.set(unused_checks.saturating_sub(1));
        let delete = |of| self.in_turn(async move { Untrusted::delete(&self.shared.memory, &[of]).await });
        join_all(buckets.iter().copied().map(delete)).await.into_iter().collect()
    }
}

impl Blobs for ScheduledStore {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        self.in_turn(self.shared.memory.put(name, bytes)).await
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        let effect = async {
            let is_claim = name.starts_with("epoch/");
            if !is_claim {
                self.shared.record_contents(name.to_owned(), bytes);
            }
            let is_new = self.shared.memory.put_if_absent(name, bytes).await?;
            if is_claim {
                // The opening's own checks do not count for what is served afterwards.
                self.unused_checks.set(0);
            }
            if is_claim && is_new && self.flaw == Some(Flaw::StopsChecking) {
                *self.seen.borrow_mut() = Some(self.shared.memory.list("epoch/").await?);
            }
            Ok(is_new || (is_claim && self.flaw == Some(Flaw::ClaimsAreShared)))
        };
        self.in_turn(effect).await
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        self.in_turn(self.shared.memory.get(name, max)).await
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let listed = self.in_turn(self.shared.memory.list(prefix)).await?;
        self.unused_checks.update(|unused_checks| unused_checks + u64::from(prefix == "epoch/"));
        let seen = self.seen.borrow().clone().filter(|_| prefix == "epoch/");
        Ok(seen.unwrap_or(listed))
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        self.in_turn(Blobs::remove(&self.shared.memory, name)).await
    }
}

impl Inventory for ScheduledStore {
    async fn list_bucket_versions(
        &self,
        found: &mut dyn FnMut(BucketVersion, ameles_core::types::Bytes),
    ) -> Result<u64, UntrustedError> {
        self.in_turn(self.shared.memory.list_bucket_versions(found)).await
    }

    async fn sweep_unfinished(&self) -> Result<u64, UntrustedError> {
        self.in_turn(self.shared.memory.sweep_unfinished()).await
    }
}
