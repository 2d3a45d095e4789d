//! A workload: a number of clients that put or get objects of one size.

use super::options::GatewayOptions;
use crate::bench::report::bytes;
use crate::bench::{BenchError, Sample};
use ameles_vault::Vault;
use futures::future::try_join_all;
use futures::{StreamExt, TryStreamExt};
use object_store::aws::AmazonS3;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt, PutPayload};
use std::fmt;
use std::time::{Duration, Instant};

/// The request that clients make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    Put,
    Get,
}

/// The measurement to make.
#[derive(Clone, Copy, Debug)]
pub(super) struct Workload {
    pub(super) operation: Operation,
    /// The number of bytes of an object.
    pub(super) size: usize,
    pub(super) clients: usize,
}

/// The measurements.
#[derive(Debug)]
pub(super) struct Measurement {
    /// The megabits of objects a second.
    pub(super) megabits: f64,
    /// The time that each request took.
    pub(super) seconds: Vec<f64>,
    /// The number of evictions that were pending when the last request was answered.
    pub(super) pending_evictions: u64,
}

impl Measurement {
    pub(super) fn quantile(&self, share: f64) -> f64 {
        Sample::quantile(&self.seconds, share)
    }
}

impl fmt::Display for Measurement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.1} Mbit/s, {:.1} ms", self.megabits, 1000.0 * self.quantile(0.5))
    }
}

impl Workload {
    pub(super) fn name(&self) -> String {
        let operation = match self.operation {
            Operation::Put => "put",
            Operation::Get => "get",
        };
        let plural = if self.clients == 1 { "client" } else { "clients" };
        format!("{operation} {}, {} {plural}", bytes(self.size as u64), self.clients)
    }

    /// Measures over the gateway of a client. `vault` is the vault below the gateway, if there is one.
    pub(super) async fn measure(
        self,
        store: &AmazonS3,
        options: &GatewayOptions,
        vault: Option<&Vault>,
    ) -> Result<Measurement, BenchError> {
        delete_all(store).await?;
        let payload = PutPayload::from(vec![7; self.size]);
        let objects = (options.max_bytes / self.size as u64).clamp(1, self.clients as u64);
        if self.operation == Operation::Get {
            for number in 0..objects {
                let path = Path::from(number.to_string());
                store.put(&path, payload.clone()).await.map_err(BenchError::failed)?;
            }
        }
        let is_settled = || vault.is_none_or(|vault| vault.status().evictions_pending == 0);
        while !is_settled() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        let min = options.requests.div_ceil(self.clients).max(1);
        let start = Instant::now();
        let clients = (0..self.clients as u64).map(|number| {
            let (store, payload) = (store.clone(), payload.clone());
            let name = if self.operation == Operation::Get { number % objects } else { number };
            let (path, time) = (Path::from(name.to_string()), options.time);
            let client = async move {
                let mut seconds = Vec::new();
                while seconds.len() < min || start.elapsed() < time {
                    let sent = Instant::now();
                    match self.operation {
                        Operation::Put => self.put(&store, &path, payload.clone()).await?,
                        Operation::Get => self.get(&store, &path).await?,
                    }
                    seconds.push(sent.elapsed().as_secs_f64());
                    if self.operation == Operation::Put && self.is_large() {
                        // The new object is deleted to make room: a vault holds no more than this many at once.
                        store.delete(&path).await.map_err(BenchError::failed)?;
                    }
                }
                Ok::<_, BenchError>(seconds)
            };
            async { tokio::spawn(client).await.map_err(BenchError::failed)? }
        });
        let seconds: Vec<f64> = try_join_all(clients).await?.into_iter().flatten().collect();
        let elapsed = start.elapsed().as_secs_f64();
        let pending_evictions = vault.map_or(0, |vault| vault.status().evictions_pending);
        let megabits = (seconds.len() * self.size * 8) as f64 / elapsed / 1e6;
        Ok(Measurement { megabits, seconds, pending_evictions })
    }

    fn is_large(self) -> bool {
        self.size > 1 << 20
    }

    async fn put(self, store: &AmazonS3, path: &Path, payload: PutPayload) -> Result<(), BenchError> {
        store.put(path, payload).await.map(drop).map_err(BenchError::failed)
    }

    async fn get(self, store: &AmazonS3, path: &Path) -> Result<(), BenchError> {
        let mut body = store.get(path).await.map_err(BenchError::failed)?.into_stream();
        let mut received = 0;
        while let Some(piece) = body.next().await {
            received += piece.map_err(BenchError::failed)?.len();
        }
        if received != self.size {
            return Err(BenchError::failed("an object came back with another length"));
        }
        Ok(())
    }
}

async fn delete_all(store: &AmazonS3) -> Result<(), BenchError> {
    let objects: Vec<_> = store.list(None).try_collect().await.map_err(BenchError::failed)?;
    for object in objects {
        store.delete(&object.location).await.map_err(BenchError::failed)?;
    }
    Ok(())
}
