//! The calls that a store of the tests leaves to the memory below.

/// The calls of [`Blobs`](ameles_store::Blobs) that only read, by the store in a field.
macro_rules! forward_blob_reads {
    ($field:ident) => {
        async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, ameles_store::BlobError> {
            self.$field.get(name, max).await
        }

        async fn list(&self, prefix: &str) -> Result<Vec<ameles_store::Blob>, ameles_store::BlobError> {
            self.$field.list(prefix).await
        }
    };
}

pub(crate) use forward_blob_reads;
