//! The store that two gateways share: every object of a request takes turns, and no name ever stands for two contents.

use super::scheduler::{GatewayId, Scheduler};
use crate::simulation::violation::Violation;
use ameles_core::store::{BucketVersion, Place, Untrusted, UntrustedError};
use ameles_core::tree::layout::Layout;
use ameles_store::{Blob, BlobError, Blobs, Inventory, VersionedMemory};
use futures::future::join_all;
use sha2::{Digest, Sha256};
use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;

/// A flaw that both gateways have, seen from the store: a proof that the promises are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flaw {
    /// A claim that is there already passes for the opening's own: openings are not told from one another.
    ClaimsAreShared,
    /// A gateway that has claimed looks at the claims no more: it goes on with those that were there.
    LooksNoMore,
}

/// The store itself; clones share it.
#[derive(Clone)]
pub struct Shared {
    pub memory: VersionedMemory,
    pub violation: Violation,
    /// The contents that each name was ever given.
    given: Rc<RefCell<HashMap<String, [u8; 32]>>>,
}

impl Shared {
    pub fn over(memory: VersionedMemory) -> Self {
        Shared { memory, violation: Violation::default(), given: Rc::default() }
    }

    /// Records that somebody gives a name contents. A claim is no name of this kind: two may want it, and one gets it.
    fn gives(&self, name: String, bytes: &[u8]) {
        let these: [u8; 32] = Sha256::digest(bytes).into();
        let first = *self.given.borrow_mut().entry(name.clone()).or_insert(these);
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
    /// Looks at the claims that no deletion has followed yet.
    looks: Cell<u64>,
}

impl ScheduledStore {
    pub fn new(shared: &Shared, scheduler: &Scheduler, gateway_id: GatewayId, flaw: Option<Flaw>) -> Self {
        ScheduledStore {
            shared: shared.clone(),
            scheduler: scheduler.clone(),
            gateway_id,
            flaw,
            seen: RefCell::default(),
            looks: Cell::new(0),
        }
    }

    /// Takes a turn before the effect, and another before the answer.
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
        let mut rest = from;
        let mut answers = Vec::new();
        for of in buckets.iter().copied() {
            let (bytes, after) = rest.split_at(self.layout().bucket_bytes(of.bucket));
            rest = after;
            answers.push(self.in_turn(async move {
                self.shared.gives(format!("{} {}", of.bucket, of.version), bytes);
                self.shared.memory.write(&[of], bytes).await
            }));
        }
        join_all(answers).await.into_iter().collect()
    }

    async fn delete(&self, buckets: &[BucketVersion]) -> Result<(), UntrustedError> {
        let looks = self.looks.get();
        self.shared.violation.check(looks > 0, || "buckets were deleted without a look at the claims".into());
        self.looks.set(looks.saturating_sub(1));
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
                self.shared.gives(name.to_owned(), bytes);
            }
            let is_new = self.shared.memory.put_if_absent(name, bytes).await?;
            if is_claim {
                // Those of the opening are no looks of what is served afterwards.
                self.looks.set(0);
            }
            if is_claim && is_new && self.flaw == Some(Flaw::LooksNoMore) {
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
        self.looks.update(|looks| looks + u64::from(prefix == "epoch/"));
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
