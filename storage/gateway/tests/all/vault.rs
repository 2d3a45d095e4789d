//! A gateway over a device in memory, without a server, and the steps that most of its tests take.

use ameles_gateway::catalogue::{ContainerSettings, Details, Object, Part, UploadId};
use ameles_gateway::objects::conditions::WriteConditions;
use ameles_gateway::objects::listing::ListRequest;
use ameles_gateway::objects::multipart::{ExpectedObject, NamedPart};
use ameles_gateway::testing::{Event, MemoryDevice};
use ameles_gateway::{Account, Error, FIRST_ACCOUNT, Gateway, Options, Reader, Written};
use bytes::Bytes;
use futures::TryStreamExt;
use std::ops::Range;
use std::sync::Arc;

/// A gateway, and its first account with the container `container`.
#[derive(Clone)]
pub struct Vault {
    pub device: Arc<MemoryDevice>,
    pub options: Options,
    pub gateway: Gateway,
    pub account: Account,
}

impl Vault {
    /// A gateway over a new device, whose log is empty.
    pub async fn new(block_bytes: usize, blocks: u64, options: Options) -> Self {
        let vault = Self::over(Arc::new(MemoryDevice::new(block_bytes, blocks, 4)), options).await;
        vault.account.create_container("container", ContainerSettings::default()).await.expect("made");
        vault.device.take_log();
        vault
    }

    /// A gateway over what is on this device.
    pub async fn over(device: Arc<MemoryDevice>, options: Options) -> Self {
        let gateway = Gateway::open(Arc::clone(&device), options.clone()).await.expect("opened");
        Vault { account: gateway.account(FIRST_ACCOUNT), device, options, gateway }
    }

    /// Another gateway over the same device.
    pub async fn reopen(&self) -> Self {
        Self::over(Arc::clone(&self.device), self.options.clone()).await
    }

    pub async fn write(&self, body: &[u8]) -> Result<Written, Error> {
        write(&self.gateway, body).await
    }

    pub async fn begin_upload(&self, key: &str) -> Result<UploadId, Error> {
        self.account.begin_upload("container", key, Details::default(), None, None).await
    }

    pub async fn put_part(
        &self,
        key: &str,
        id: UploadId,
        number: u16,
        body: &[u8],
    ) -> Result<Arc<Part>, Error> {
        let written = self.write(body).await?;
        self.account.link_part("container", key, id, number, written).await
    }

    /// Completes an upload of the parts with these numbers.
    pub async fn complete(&self, key: &str, id: UploadId, numbers: &[u16]) -> Result<Arc<Object>, Error> {
        let named = numbers.iter().map(|&number| NamedPart { number, ..NamedPart::default() }).collect();
        let (expected, free) = (ExpectedObject::default(), WriteConditions::default());
        self.account.complete_upload("container", key, id, named, expected, free).await
    }

    pub async fn link(&self, key: &str, written: Written) -> Result<Arc<Object>, Error> {
        let conditions = WriteConditions::default();
        self.account.link("container", key, written, Details::default(), conditions).await
    }

    pub async fn put(&self, key: &str, body: &[u8]) -> Result<Arc<Object>, Error> {
        self.put_if(key, body, WriteConditions::default()).await
    }

    pub async fn put_if(
        &self,
        key: &str,
        body: &[u8],
        conditions: WriteConditions,
    ) -> Result<Arc<Object>, Error> {
        let written = self.write(body).await?;
        self.account.link("container", key, written, Details::default(), conditions).await
    }

    pub fn object(&self, key: &str) -> Result<Arc<Object>, Error> {
        self.account.object("container", key)
    }

    pub async fn get(&self, key: &str) -> Result<Vec<u8>, Error> {
        self.get_range(key, None).await
    }

    pub async fn get_range(&self, key: &str, range: Option<Range<u64>>) -> Result<Vec<u8>, Error> {
        drain(self.gateway.read(&self.object(key)?, range).await?).await
    }

    /// Deletes an object, and says whether it was there.
    pub async fn delete(&self, key: &str) -> Result<bool, Error> {
        let keys = vec![(key.into(), WriteConditions::default())];
        self.account.delete("container", keys).await?.pop().expect("one for each key")
    }

    /// The blocks that nothing holds once all work has ended.
    pub async fn free_blocks(&self) -> u64 {
        self.gateway.settle().await;
        self.gateway.usage().free_blocks
    }

    /// The blocks of each batch of reads or writes since the last call: an observer of the device sees no more.
    pub fn take_batch_sizes(&self) -> Vec<usize> {
        let log = self.device.take_log().into_iter();
        log.filter_map(|event| match event {
            Event::Read(blocks) | Event::Write(blocks) => Some(blocks.len()),
            Event::Rows(_) => None,
        })
        .collect()
    }
}

/// Writes a body whose length is announced.
pub async fn write(gateway: &Gateway, body: &[u8]) -> Result<Written, Error> {
    let mut writer = gateway.writer(Some(body.len() as u64), None)?;
    writer.push(Bytes::copy_from_slice(body)).await?;
    writer.finish().await
}

/// Reads to the end.
pub async fn drain(reader: Reader) -> Result<Vec<u8>, Error> {
    Ok(reader.try_collect::<Vec<Bytes>>().await?.concat())
}

/// A list of all that the containers of these tests hold.
pub fn everything() -> ListRequest {
    ListRequest { limit: 10_000, ..ListRequest::default() }
}
