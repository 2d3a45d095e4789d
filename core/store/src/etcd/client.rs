//! The client of etcd.

use super::{EtcdAddress, EtcdError, EtcdTls};
use crate::blobs::{Blob, BlobError, Blobs, check_name};
use crate::tls::install_tls_provider;
use ameles_core::store::UntrustedError;
use ameles_core::types::Bytes;
use etcd_client::{
    Certificate, Client, Compare, CompareOp, ConnectOptions, Error, GetOptions, Identity, KvClient,
    TlsOptions, Txn, TxnOp,
};
use std::io::{self, ErrorKind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use tokio::time::timeout;

/// The time in which a server must answer. Then another one is asked: a server that is cut off or stopped accepts requests
/// and answers none.
const TIMEOUT: Duration = Duration::from_secs(2);
/// The time between two signs of life of a connection.
const KEEP_ALIVE: Duration = Duration::from_secs(2);
/// The codes of gRPC after which the same request fails again: a bad argument, a lack of rights, an unknown call, an unknown
/// user.
const REFUSALS: [i32; 4] = [3, 7, 12, 16];
/// The number of keys in a part of a list.
const PAGE: i64 = 1000;

/// Blobs in etcd.
pub struct Etcd {
    /// A client for each server.
    clients: Vec<Client>,
    /// The server that has answered last.
    preferred: AtomicUsize,
    prefix: String,
}

impl Etcd {
    /// Prepares the connection. A server that cannot be reached is an error of the calls that follow.
    ///
    /// # Errors
    /// [`EtcdError`].
    pub async fn open(address: &EtcdAddress, tls: EtcdTls) -> Result<Self, EtcdError> {
        install_tls_provider();
        let mut options = ConnectOptions::new()
            .with_connect_timeout(TIMEOUT)
            .with_timeout(TIMEOUT)
            .with_keep_alive(KEEP_ALIVE, TIMEOUT)
            .with_keep_alive_while_idle(true);
        if address.uses_tls() {
            options = options.with_tls(tls_options(tls));
        } else if tls.ca.is_some() || tls.identity.is_some() {
            return Err(EtcdError::TlsWithoutHttps);
        }
        let mut clients = Vec::new();
        for endpoint in address.endpoints() {
            let client = Client::connect([endpoint], Some(options.clone())).await;
            clients.push(client.map_err(|error| EtcdError::Refused(Box::new(error)))?);
        }
        Ok(Etcd { clients, preferred: AtomicUsize::new(0), prefix: address.prefix().to_owned() })
    }

    /// Sends a request to the server that has answered last, and then to the others, until one of them answers. A server
    /// that gave no answer may have carried it out.
    async fn ask<T>(&self, request: impl AsyncFn(KvClient) -> Result<T, Error>) -> Result<T, BlobError> {
        let (first, servers) = (self.preferred.load(Ordering::Relaxed), self.clients.len());
        let mut failed = None;
        for server in (0..servers).map(|nth| (first + nth) % servers) {
            let answer = timeout(TIMEOUT, request(self.clients[server].kv_client())).await;
            match answer.map(|answer| answer.map_err(failure)) {
                Ok(Err(BlobError::Store(UntrustedError::Unavailable(why)))) => failed = Some(why),
                Err(elapsed) => failed = failed.or(Some(Box::new(elapsed))),
                Ok(answer) => {
                    self.preferred.store(server, Ordering::Relaxed);
                    return answer;
                }
            }
        }
        let none = || "etcd has no server".into();
        Err(BlobError::Store(UntrustedError::Unavailable(failed.unwrap_or_else(none))))
    }

    /// The key of a blob's bytes.
    fn data_key(&self, name: &str) -> String {
        format!("{}/data/{name}", self.prefix)
    }

    /// The key of a blob's size.
    fn size_key(&self, name: &str) -> String {
        format!("{}/size/{name}", self.prefix)
    }

    /// The changes that store a blob.
    fn puts(&self, name: &str, bytes: &[u8]) -> [TxnOp; 2] {
        let size = TxnOp::put(self.size_key(name), bytes.len().to_string(), None);
        [TxnOp::put(self.data_key(name), bytes, None), size]
    }
}

fn tls_options(tls: EtcdTls) -> TlsOptions {
    let mut options = TlsOptions::new().with_enabled_roots();
    if let Some(ca) = tls.ca {
        options = TlsOptions::new().ca_certificate(Certificate::from_pem(ca));
    }
    if let Some((chain, key)) = tls.identity {
        options = options.identity(Identity::from_pem(chain, key));
    }
    options
}

impl Blobs for Etcd {
    async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), BlobError> {
        check_name(name)?;
        let puts = Txn::new().and_then(self.puts(name, bytes));
        self.ask(async |mut kv| kv.txn(puts.clone()).await).await.map(drop)
    }

    async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, BlobError> {
        check_name(name)?;
        let is_absent = Compare::create_revision(self.data_key(name), CompareOp::Equal, 0);
        let creation = Txn::new().when([is_absent]).and_then(self.puts(name, bytes));
        Ok(self.ask(async |mut kv| kv.txn(creation.clone()).await).await?.succeeded())
    }

    async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, BlobError> {
        check_name(name)?;
        let answer = self.ask(async |mut kv| kv.get(self.data_key(name), None).await).await?;
        match answer.kvs().first() {
            None => Ok(None),
            Some(found) if found.value().len() > max => {
                Err(BlobError::TooLarge { name: name.to_owned(), max })
            }
            Some(found) => Ok(Some(found.value().to_vec())),
        }
    }

    async fn list(&self, prefix: &str) -> Result<Vec<Blob>, BlobError> {
        let (base, first) = (self.size_key(""), self.size_key(prefix));
        let end = after_prefix(&first);
        let (mut from, mut listed) = (first.into_bytes(), Vec::new());
        loop {
            let options = GetOptions::new().with_range(end.clone()).with_limit(PAGE);
            let answer = self.ask(async |mut kv| kv.get(from.clone(), Some(options.clone())).await).await?;
            for found in answer.kvs() {
                let name = found.key_str().ok().and_then(|key| key.strip_prefix(&base));
                let size = found.value_str().ok().and_then(|size| size.parse().ok());
                if let (Some(name), Some(size)) = (name, size) {
                    listed.push(Blob { name: name.to_owned(), size: Bytes(size) });
                }
            }
            match answer.kvs().last() {
                Some(last) if answer.more() => {
                    from = last.key().to_vec();
                    from.push(0);
                }
                _ => return Ok(listed),
            }
        }
    }

    async fn remove(&self, name: &str) -> Result<(), BlobError> {
        check_name(name)?;
        let removals = [self.data_key(name), self.size_key(name)].map(|key| TxnOp::delete(key, None));
        let removal = Txn::new().and_then(removals);
        self.ask(async |mut kv| kv.txn(removal.clone()).await).await.map(drop)
    }
}

/// The first key after all keys with this prefix. The prefix ends in ASCII.
fn after_prefix(prefix: &str) -> Vec<u8> {
    let mut end = prefix.as_bytes().to_vec();
    end.iter_mut().next_back().into_iter().for_each(|last| *last += 1);
    end
}

/// Maps an error. A database without space is reported like a full disk.
fn failure(error: Error) -> BlobError {
    let error = match error {
        Error::GRpcStatus(status) => {
            let code = status.code() as i32;
            let is_full = status.message().contains("database space exceeded");
            if is_full {
                UntrustedError::Refused(Box::new(io::Error::new(ErrorKind::StorageFull, status)))
            } else if REFUSALS.contains(&code) {
                UntrustedError::Refused(Box::new(Error::GRpcStatus(status)))
            } else {
                UntrustedError::Unavailable(Box::new(Error::GRpcStatus(status)))
            }
        }
        error @ (Error::InvalidArgs(_) | Error::InvalidUri(_) | Error::InvalidMetadataValue(_)) => {
            UntrustedError::Refused(Box::new(error))
        }
        error => UntrustedError::Unavailable(Box::new(error)),
    };
    BlobError::Store(error)
}
