//! Changes of a bucket's settings.

use crate::catalogue::ContainerSettings;
use crate::objects::account::Account;
use s3s::S3Result;

/// Changes the settings of a bucket. Makes no access.
///
/// # Errors
/// Those of S3 for a bucket that does not exist, and for a vault that has failed.
pub(super) async fn set(
    account: &Account,
    bucket: &str,
    change: impl FnOnce(&mut ContainerSettings) + Send + 'static,
) -> S3Result<()> {
    let changed = account.update_container(bucket, |settings| {
        change(settings);
        Ok(())
    });
    Ok(changed.await?)
}
