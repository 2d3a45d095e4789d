//! Reads and changes of a bucket's settings.

use super::refusal::not_found;
use crate::catalogue::ContainerSettings;
use crate::objects::account::Account;
use s3s::{S3ErrorCode, S3Result};

/// Returns the entries of a bucket's setting.
///
/// # Errors
/// The error of S3 for a bucket that does not exist; 404 with this code and message if the setting has no entries.
pub(super) fn get<T>(
    account: &Account,
    bucket: &str,
    entries: impl FnOnce(&ContainerSettings) -> Vec<T>,
    (code, message): (S3ErrorCode, &'static str),
) -> S3Result<Vec<T>> {
    let entries = entries(&account.container(bucket)?.settings);
    if entries.is_empty() { Err(not_found(code, message)) } else { Ok(entries) }
}

/// Changes the settings of a bucket. Makes no access.
///
/// # Errors
/// The errors of S3 for a bucket that does not exist, and for a vault that has failed.
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
