//! S3's server-side encryption. Everything is sealed with the vault's key anyway. So a request for encryption with keys
//! of the server (`AES256`) is stored and returned, and changes nothing. There are no other keys.

use super::refusal::not_found;
use super::settings::set;
use crate::catalogue::Encryption;
use crate::objects::account::Account;
use s3s::dto::*;
use s3s::{S3ErrorCode, S3Result, s3_error};

/// Returns the encryption of a new object: the requested one, or the bucket's default.
///
/// # Errors
/// `NotImplemented` for keys of a key service; `NoSuchBucket`.
pub(super) fn for_new_object(
    account: &Account,
    bucket: &str,
    requested: Option<&ServerSideEncryption>,
) -> S3Result<Option<Encryption>> {
    match requested {
        Some(name) => parse(name).map(Some),
        None => Ok(account.container(bucket)?.settings.encryption),
    }
}

fn parse(name: &ServerSideEncryption) -> S3Result<Encryption> {
    match name.as_str() {
        ServerSideEncryption::AES256 => Ok(Encryption::OfServer),
        ServerSideEncryption::AWS_KMS | ServerSideEncryption::AWS_KMS_DSSE => Err(s3_error!(
            NotImplemented,
            "This gateway has no key service: everything is encrypted with the vault's key. Request AES256, or leave it out."
        )),
        _ => Err(s3_error!(InvalidArgument, "The encryption algorithm is AES256.")),
    }
}

/// Returns an encryption in S3's form.
pub(super) fn to_s3(encryption: Option<Encryption>) -> Option<ServerSideEncryption> {
    encryption.map(|Encryption::OfServer| ServerSideEncryption::from_static(ServerSideEncryption::AES256))
}

pub(super) async fn put_bucket_encryption(
    account: &Account,
    input: PutBucketEncryptionInput,
) -> S3Result<PutBucketEncryptionOutput> {
    let rules = input.server_side_encryption_configuration.rules;
    let [rule] = &rules[..] else { return Err(s3_error!(MalformedXML)) };
    let default =
        rule.apply_server_side_encryption_by_default.as_ref().ok_or_else(|| s3_error!(MalformedXML))?;
    let encryption = parse(&default.sse_algorithm)?;
    if default.kms_master_key_id.is_some() {
        return Err(s3_error!(InvalidArgument, "A KMSMasterKeyID belongs to aws:kms, not to AES256."));
    }
    set(account, &input.bucket, move |settings| settings.encryption = Some(encryption)).await?;
    Ok(PutBucketEncryptionOutput::default())
}

pub(super) async fn get_bucket_encryption(
    account: &Account,
    input: GetBucketEncryptionInput,
) -> S3Result<GetBucketEncryptionOutput> {
    let view = account.container(&input.bucket)?;
    let Some(sse_algorithm) = to_s3(view.settings.encryption) else {
        let code = S3ErrorCode::ServerSideEncryptionConfigurationNotFoundError;
        return Err(not_found(code, "The server side encryption configuration was not found"));
    };
    let default = ServerSideEncryptionByDefault { sse_algorithm, kms_master_key_id: None };
    let rule = ServerSideEncryptionRule {
        apply_server_side_encryption_by_default: Some(default),
        ..ServerSideEncryptionRule::default()
    };
    let configuration = ServerSideEncryptionConfiguration { rules: vec![rule] };
    Ok(GetBucketEncryptionOutput { server_side_encryption_configuration: Some(configuration) })
}
