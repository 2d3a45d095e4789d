//! Macros that forward calls of a wrapper to the store below.

/// Implements [`Blobs`](crate::Blobs) for a wrapper by the store in its field:
/// `forward_blobs!([S: Blobs] Wrapper<S>, inner)`.
#[macro_export]
macro_rules! forward_blobs {
    ([$($generics:tt)*] $wrapper:ty, $field:tt) => {
        impl<$($generics)*> $crate::Blobs for $wrapper {
            async fn put(&self, name: &str, bytes: &[u8]) -> Result<(), $crate::BlobError> {
                $crate::Blobs::put(&self.$field, name, bytes).await
            }
            async fn put_if_absent(&self, name: &str, bytes: &[u8]) -> Result<bool, $crate::BlobError> {
                $crate::Blobs::put_if_absent(&self.$field, name, bytes).await
            }
            async fn get(&self, name: &str, max: usize) -> Result<Option<Vec<u8>>, $crate::BlobError> {
                $crate::Blobs::get(&self.$field, name, max).await
            }
            async fn list(&self, prefix: &str) -> Result<Vec<$crate::Blob>, $crate::BlobError> {
                $crate::Blobs::list(&self.$field, prefix).await
            }
            async fn remove(&self, name: &str) -> Result<(), $crate::BlobError> {
                $crate::Blobs::remove(&self.$field, name).await
            }
        }
    };
}

/// Implements [`Inventory`](crate::Inventory) for a wrapper by the store in its field:
/// `forward_inventory!([S: Inventory] Wrapper<S>, inner)`.
#[macro_export]
macro_rules! forward_inventory {
    ([$($generics:tt)*] $wrapper:ty, $field:tt) => {
        impl<$($generics)*> $crate::Inventory for $wrapper {
            async fn list_bucket_versions(
                &self,
                found: &mut dyn FnMut(::ameles_core::store::BucketVersion, ::ameles_core::types::Bytes),
            ) -> Result<u64, ::ameles_core::store::UntrustedError> {
                $crate::Inventory::list_bucket_versions(&self.$field, found).await
            }
            async fn sweep_unfinished(&self) -> Result<u64, ::ameles_core::store::UntrustedError> {
                $crate::Inventory::sweep_unfinished(&self.$field).await
            }
        }
    };
}
