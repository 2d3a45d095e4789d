//! A device of any kind behind one type, so that the layers above are compiled once and not for each kind of device.

use crate::device::{Device, DeviceError, DeviceShape, Flow, Row, RowChange};
use bytes::Bytes;
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;

type Answer<'a, T> = Pin<Box<dyn Future<Output = Result<T, DeviceError>> + Send + 'a>>;

/// A device whose futures have one type.
trait Boxed: Send + Sync {
    fn boxed_shape(&self) -> DeviceShape;
    fn free_for_rows(&self) -> u64;
    fn boxed_read(&self, flow: Flow, blocks: Vec<u64>) -> Answer<'_, Vec<Bytes>>;
    fn boxed_write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Answer<'_, ()>;
    fn boxed_load_rows(&self) -> Answer<'_, Vec<Row>>;
    fn boxed_commit_rows(&self, changes: Vec<RowChange>) -> Answer<'_, ()>;
    fn boxed_settle_reads(&self) -> Answer<'_, ()>;
}

impl<D: Device> Boxed for D {
    fn boxed_shape(&self) -> DeviceShape {
        self.shape()
    }

    fn free_for_rows(&self) -> u64 {
        self.rows_free()
    }

    fn boxed_read(&self, flow: Flow, blocks: Vec<u64>) -> Answer<'_, Vec<Bytes>> {
        Box::pin(self.read(flow, blocks))
    }

    fn boxed_write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Answer<'_, ()> {
        Box::pin(self.write(flow, writes))
    }

    fn boxed_load_rows(&self) -> Answer<'_, Vec<Row>> {
        Box::pin(self.load_rows())
    }

    fn boxed_commit_rows(&self, changes: Vec<RowChange>) -> Answer<'_, ()> {
        Box::pin(self.commit_rows(changes))
    }

    fn boxed_settle_reads(&self) -> Answer<'_, ()> {
        Box::pin(self.settle_reads())
    }
}

/// A device of any kind behind one type. Clones are the same device.
#[derive(Clone)]
pub struct AnyDevice {
    inner: Arc<dyn Boxed>,
}

impl AnyDevice {
    /// Wraps a device.
    pub fn new(inner: impl Device) -> Self {
        AnyDevice { inner: Arc::new(inner) }
    }
}

impl fmt::Debug for AnyDevice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("AnyDevice(..)")
    }
}

impl Device for AnyDevice {
    fn shape(&self) -> DeviceShape {
        self.inner.boxed_shape()
    }

    fn rows_free(&self) -> u64 {
        self.inner.free_for_rows()
    }

    async fn read(&self, flow: Flow, blocks: Vec<u64>) -> Result<Vec<Bytes>, DeviceError> {
        self.inner.boxed_read(flow, blocks).await
    }

    async fn write(&self, flow: Flow, writes: Vec<(u64, Bytes)>) -> Result<(), DeviceError> {
        self.inner.boxed_write(flow, writes).await
    }

    async fn load_rows(&self) -> Result<Vec<Row>, DeviceError> {
        self.inner.boxed_load_rows().await
    }

    async fn commit_rows(&self, changes: Vec<RowChange>) -> Result<(), DeviceError> {
        self.inner.boxed_commit_rows(changes).await
    }

    async fn settle_reads(&self) -> Result<(), DeviceError> {
        self.inner.boxed_settle_reads().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Event, MemoryDevice};

    #[tokio::test]
    async fn a_device_of_any_kind_answers_as_the_device_itself() {
        let inner = Arc::new(MemoryDevice::new(16, 640, 8));
        let any = AnyDevice::new(Arc::clone(&inner));
        assert_eq!(any.shape(), inner.shape());
        any.write(Flow(1), vec![(3, Bytes::from(vec![7; 16]))]).await.expect("written");
        assert_eq!(any.read(Flow(1), vec![3, 4]).await.expect("read"), [vec![7; 16], vec![0; 16]]);
        assert!(any.read(Flow(1), vec![640]).await.is_err(), "beyond the device");
        any.commit_rows(vec![(b"key".to_vec(), Some(b"value".to_vec()))]).await.expect("committed");
        assert_eq!(any.load_rows().await.expect("rows"), [(b"key".to_vec(), b"value".to_vec())]);
        let asked = [Event::Write(vec![3]), Event::Read(vec![3, 4]), Event::Rows(1)];
        assert_eq!(inner.take_log(), asked, "one batch for each call, as it came");
    }
}
