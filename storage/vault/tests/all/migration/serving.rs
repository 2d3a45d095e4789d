//! Ways to serve a vault and its successor as one, two of them deliberately broken.

use ameles_vault::{Call, Flow, MirroredVaults, Vault};
use bytes::Bytes;

/// The way in which calls reach the two vaults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Serving {
    /// The vault's own mirroring.
    Sound,
    /// The test's own mirroring, without a flaw.
    SoundOutside,
    /// Reads go only to the old vault.
    ReadsSkipTheSuccessor,
    /// Reads are answered when the old vault has answered, and do not wait for the successor's dummy.
    ReadsAreAnsweredEarly,
}

/// The interface that clients use.
#[derive(Clone)]
pub struct ClientApi {
    pub serving: Serving,
    pub both: MirroredVaults,
}

impl ClientApi {
    /// Executes calls of one kind.
    pub async fn access(&self, calls: Vec<Call>) -> Vec<Option<Bytes>> {
        let flow = Flow(0);
        let (old, new) = (self.both.old().clone(), self.both.successor().clone());
        if self.serving == Serving::Sound {
            return self.both.access_in(flow, calls).await.expect("it is carried out");
        }
        let reads = calls.iter().all(|call| matches!(call, Call::Read(_)));
        let mirrored: Vec<Call> = match reads {
            true => vec![Call::Dummy; calls.len()],
            false => calls.clone(),
        };
        let on = async |vault: Vault, calls| vault.access_in(flow, calls).await.expect("it is carried out");
        match self.serving {
            Serving::ReadsSkipTheSuccessor if reads => on(old, calls).await,
            Serving::ReadsAreAnsweredEarly if reads => {
                tokio::spawn(async move { new.access_in(flow, mirrored).await });
                on(old, calls).await
            }
            _ => futures::join!(on(old, calls), on(new, mirrored)).0,
        }
    }
}
