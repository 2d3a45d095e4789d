//! The control of ownership (`OwnershipControls`): whether grants of a bucket count. In a new bucket they do not, as in
//! S3.

use super::settings::set;
use crate::catalogue::Ownership;
use crate::objects::account::Account;
use s3s::dto::*;
use s3s::{S3Result, s3_error};

/// Parses the ownership in a request to create a bucket.
///
/// # Errors
/// `InvalidArgument`; `NotImplemented` for an unsupported ownership.
pub(super) fn parse(name: &str) -> S3Result<Ownership> {
    match name {
        ObjectOwnership::BUCKET_OWNER_ENFORCED => Ok(Ownership::Enforced),
        ObjectOwnership::BUCKET_OWNER_PREFERRED => Ok(Ownership::Preferred),
        ObjectOwnership::OBJECT_WRITER => Err(s3_error!(
            NotImplemented,
            "Objects are always the bucket owner's: the ownerships are BucketOwnerEnforced and BucketOwnerPreferred."
        )),
        _ => Err(s3_error!(InvalidArgument, "Invalid x-amz-object-ownership header: {name}")),
    }
}

pub(super) async fn get_bucket_ownership_controls(
    account: &Account,
    input: GetBucketOwnershipControlsInput,
) -> S3Result<GetBucketOwnershipControlsOutput> {
    let view = account.container(&input.bucket)?;
    let name = match view.settings.ownership {
        Some(Ownership::Enforced) => ObjectOwnership::BUCKET_OWNER_ENFORCED,
        Some(Ownership::Preferred) => ObjectOwnership::BUCKET_OWNER_PREFERRED,
        None => {
            return Err(s3_error!(
                OwnershipControlsNotFoundError,
                "The bucket ownership controls were not found."
            ));
        }
    };
    let rule = OwnershipControlsRule { object_ownership: ObjectOwnership::from_static(name) };
    let ownership_controls = Some(OwnershipControls { rules: vec![rule] });
    Ok(GetBucketOwnershipControlsOutput { ownership_controls })
}

pub(super) async fn put_bucket_ownership_controls(
    account: &Account,
    input: PutBucketOwnershipControlsInput,
) -> S3Result<PutBucketOwnershipControlsOutput> {
    let settings = account.container(&input.bucket)?.settings;
    let [rule] = &input.ownership_controls.rules[..] else { return Err(malformed()) };
    let ownership = match rule.object_ownership.as_str() {
        ObjectOwnership::OBJECT_WRITER
        | ObjectOwnership::BUCKET_OWNER_ENFORCED
        | ObjectOwnership::BUCKET_OWNER_PREFERRED => parse(rule.object_ownership.as_str())?,
        _ => return Err(malformed()),
    };
    if ownership == Ownership::Enforced && !settings.grants.is_empty() {
        return Err(s3_error!(
            InvalidBucketAclWithObjectOwnership,
            "Bucket cannot have ACLs set with ObjectOwnership's BucketOwnerEnforced setting"
        ));
    }
    set(account, &input.bucket, move |settings| settings.ownership = Some(ownership)).await?;
    Ok(PutBucketOwnershipControlsOutput::default())
}

fn malformed() -> s3s::S3Error {
    s3_error!(MalformedXML)
}
