//! Access control lists of buckets and objects: canned ones, grants in headers and in XML, and their form in answers.
//!
//! Objects belong to the bucket's owner, even if others put them. The owner has full control under any list, and every
//! list in an answer says so.

use super::access;
use super::conversions::owner;
use super::principal::principal;
use super::settings::set;
use super::versions;
use crate::auth::identity::Users;
use crate::catalogue::{ContainerSettings, Grant, Grantee, Ownership, Permission};
use crate::error::Error;
use crate::objects::account::Account;
use http::{Extensions, HeaderMap};
use s3s::dto::{self, *};
use s3s::{S3Error, S3ErrorCode, S3Request, S3Response, S3Result, s3_error};

const EVERYBODY: &str = "http://acs.amazonaws.com/groups/global/AllUsers";
const AUTHENTICATED: &str = "http://acs.amazonaws.com/groups/global/AuthenticatedUsers";

/// The headers that grant, with their permissions.
const HEADERS: [(&str, Permission); 5] = [
    ("x-amz-grant-full-control", Permission::FullControl),
    ("x-amz-grant-read", Permission::Read),
    ("x-amz-grant-write", Permission::Write),
    ("x-amz-grant-read-acp", Permission::ReadGrants),
    ("x-amz-grant-write-acp", Permission::WriteGrants),
];

const PERMISSIONS: [(&str, Permission); 5] = [
    (dto::Permission::FULL_CONTROL, Permission::FullControl),
    (dto::Permission::READ, Permission::Read),
    (dto::Permission::WRITE, Permission::Write),
    (dto::Permission::READ_ACP, Permission::ReadGrants),
    (dto::Permission::WRITE_ACP, Permission::WriteGrants),
];

/// The largest number of grants of one list, as in S3. They are in rows, whose space is limited.
const MAX_GRANTS: usize = 100;

/// Parses the grants in a request's headers, without those to the owner; `None` if there are none.
///
/// # Errors
/// The list has an unknown name, an unknown group or an e-mail address.
pub(super) fn parse_headers(headers: &HeaderMap, owner: &str, users: &Users) -> S3Result<Option<Vec<Grant>>> {
    let canned = headers.get("x-amz-acl").map(|value| value.to_str().unwrap_or_default());
    if canned.is_some() && HEADERS.iter().any(|(name, _)| headers.contains_key(*name)) {
        return Err(s3_error!(
            InvalidRequest,
            "Specifying both Canned ACLs and Header Grants is not allowed."
        ));
    }
    if let Some(canned) = canned {
        return parse_canned(canned).map(Some);
    }
    let mut listed = Vec::new();
    for (name, permission) in HEADERS {
        for value in headers.get_all(name) {
            for grantee in value.to_str().unwrap_or_default().split(',') {
                listed.push((parse_grantee(grantee, users)?, permission));
            }
        }
    }
    if listed.is_empty() { Ok(None) } else { without_owner(listed, owner).map(Some) }
}

fn parse_canned(name: &str) -> S3Result<Vec<Grant>> {
    let grant = |grantee, permission| Grant { grantee, permission };
    Ok(match name {
        "private" | "bucket-owner-read" | "bucket-owner-full-control" => vec![],
        "public-read" => vec![grant(Grantee::Everybody, Permission::Read)],
        "public-read-write" => {
            let permissions = [Permission::Read, Permission::Write];
            permissions.map(|permission| grant(Grantee::Everybody, permission)).to_vec()
        }
        "authenticated-read" => vec![grant(Grantee::Authenticated, Permission::Read)],
        "aws-exec-read" | "log-delivery-write" => {
            return Err(s3_error!(
                NotImplemented,
                "This canned ACL grants rights to services of AWS, which do not exist here."
            ));
        }
        _ => {
            return Err(s3_error!(
                InvalidArgument,
                "The canned ACLs are private, public-read, public-read-write, authenticated-read, bucket-owner-read and \
                 bucket-owner-full-control."
            ));
        }
    })
}

/// Parses `id="…"` or `uri="…"`.
fn parse_grantee(text: &str, users: &Users) -> S3Result<Grantee> {
    let (kind, value) = text.trim().split_once('=').unwrap_or(("", ""));
    let value = value.trim().trim_matches('"');
    match kind.trim() {
        "id" => account(value, users),
        "uri" => group(value),
        "emailAddress" => Err(no_address()),
        _ => Err(s3_error!(
            InvalidArgument,
            "A grantee in a header reads id=\"account\" or uri=\"group\"; several of them are parted by commas."
        )),
    }
}

fn no_address() -> S3Error {
    s3_error!(
        UnresolvableGrantByEmailAddress,
        "Accounts have no e-mail address here. Name the account by its id."
    )
}

fn account(id: &str, users: &Users) -> S3Result<Grantee> {
    if users.has_account(id) {
        Ok(Grantee::Account(id.to_owned()))
    } else {
        Err(s3_error!(InvalidArgument, "Invalid id"))
    }
}

fn group(uri: &str) -> S3Result<Grantee> {
    match uri {
        EVERYBODY => Ok(Grantee::Everybody),
        AUTHENTICATED => Ok(Grantee::Authenticated),
        _ => Err(s3_error!(
            InvalidArgument,
            "Invalid group uri: the groups are AllUsers and AuthenticatedUsers."
        )),
    }
}

/// Returns each grant once, without those to the owner.
fn without_owner(listed: Vec<(Grantee, Permission)>, owner: &str) -> S3Result<Vec<Grant>> {
    let grants = listed.into_iter().map(|(grantee, permission)| Grant { grantee, permission });
    let mut grants: Vec<Grant> =
        grants.filter(|grant| !matches!(&grant.grantee, Grantee::Account(name) if name == owner)).collect();
    grants.sort();
    grants.dedup();
    if grants.len() > MAX_GRANTS {
        return Err(malformed());
    }
    Ok(grants)
}

fn malformed() -> S3Error {
    s3_error!(
        MalformedACLError,
        "The XML you provided was not well-formed or did not validate against our published schema."
    )
}

/// Parses the grants of an XML list, without those to the owner.
fn parse_xml(policy: AccessControlPolicy, owner: &str, users: &Users) -> S3Result<Vec<Grant>> {
    let named = policy.owner.and_then(|owner| owner.id).filter(|id| !id.is_empty()).ok_or_else(malformed)?;
    if named != owner {
        return Err(s3_error!(InvalidArgument, "Invalid id"));
    }
    let mut grants = Vec::new();
    for grant in policy.grants.unwrap_or_default() {
        let grantee = grant.grantee.ok_or_else(malformed)?;
        let name = grant.permission.ok_or_else(malformed)?;
        let permission =
            PERMISSIONS.iter().find(|(known, _)| *known == name.as_str()).ok_or_else(malformed)?.1;
        let named = match grantee.type_.as_str() {
            dto::Type::CANONICAL_USER => grantee.id,
            dto::Type::GROUP => grantee.uri,
            dto::Type::AMAZON_CUSTOMER_BY_EMAIL => grantee.email_address,
            _ => None,
        };
        let named = named.filter(|name| !name.is_empty()).ok_or_else(malformed)?;
        grants.push((grantee.type_, named, permission));
    }
    // A malformed list is refused before any grantee is looked up.
    let mut listed = Vec::with_capacity(grants.len());
    for (kind, named, permission) in grants {
        let grantee = match kind.as_str() {
            dto::Type::CANONICAL_USER => account(&named, users)?,
            dto::Type::GROUP => group(&named)?,
            _ => return Err(no_address()),
        };
        listed.push((grantee, permission));
    }
    without_owner(listed, owner)
}

/// Returns a list in S3's form: the owner's own right first.
fn to_s3(owner: &str, grants: &[Grant]) -> Vec<dto::Grant> {
    let full_control =
        Grant { grantee: Grantee::Account(owner.to_owned()), permission: Permission::FullControl };
    std::iter::once(&full_control).chain(grants).map(grant_to_s3).collect()
}

fn grant_to_s3(grant: &Grant) -> dto::Grant {
    let (kind, id, uri) = match &grant.grantee {
        Grantee::Account(name) => (dto::Type::CANONICAL_USER, Some(name.clone()), None),
        Grantee::Authenticated => (dto::Type::GROUP, None, Some(AUTHENTICATED)),
        Grantee::Everybody => (dto::Type::GROUP, None, Some(EVERYBODY)),
    };
    let permission = PERMISSIONS.iter().find(|(_, permission)| *permission == grant.permission);
    dto::Grant {
        grantee: Some(dto::Grantee {
            display_name: id.clone(),
            email_address: None,
            id,
            type_: dto::Type::from_static(kind),
            uri: uri.map(str::to_owned),
        }),
        permission: permission.map(|(name, _)| dto::Permission::from_static(name)),
    }
}

/// Refuses grants where the bucket does not count them.
///
/// # Errors
/// `AccessControlListNotSupported`.
fn check_ownership(settings: &ContainerSettings, grants: &[Grant]) -> S3Result<()> {
    if grants.is_empty() || settings.ownership == Some(Ownership::Preferred) {
        return Ok(());
    }
    Err(S3Error::with_message(S3ErrorCode::AccessControlListNotSupported, "The bucket does not allow ACLs."))
}

/// Returns the grants that a put, a copy or an upload in parts sets for its object. A principal that may only write
/// cannot set any.
///
/// # Errors
/// The errors of the headers; `AccessControlListNotSupported`; `AccessDenied`.
pub(super) fn for_new_object(
    account: &Account,
    bucket: &str,
    headers: &HeaderMap,
    extensions: &Extensions,
) -> S3Result<Vec<Grant>> {
    let Some(grants) = parse_headers(headers, account.name(), access::users(extensions)?)? else {
        return Ok(vec![]);
    };
    check_ownership(&account.container(bucket)?.settings, &grants)?;
    if !grants.is_empty() && !principal(extensions)?.owns(account.name()) {
        return Err(s3_error!(AccessDenied, "Only the bucket's owner may grant rights to others."));
    }
    Ok(grants)
}

pub(super) async fn get_bucket_acl(
    account: &Account,
    input: GetBucketAclInput,
) -> S3Result<GetBucketAclOutput> {
    let view = account.container(&input.bucket)?;
    let grants = Some(to_s3(account.name(), &view.settings.grants));
    Ok(GetBucketAclOutput { grants, owner: Some(owner(account.name())) })
}

/// Returns the grants of a request to set a list: in the headers or in the body, not in both.
fn requested_grants(
    owner: &str,
    headers: &HeaderMap,
    users: &Users,
    policy: Option<AccessControlPolicy>,
) -> S3Result<Vec<Grant>> {
    let has_header =
        headers.contains_key("x-amz-acl") || HEADERS.iter().any(|(name, _)| headers.contains_key(*name));
    match policy {
        Some(_) if has_header => Err(s3_error!(UnexpectedContent, "This request does not support content.")),
        Some(policy) => parse_xml(policy, owner, users),
        None => parse_headers(headers, owner, users)?
            .ok_or_else(|| s3_error!(MissingSecurityHeader, "Your request was missing a required header.")),
    }
}

/// Returns whether a request has grants. If grants do not count, such a request is refused before they are parsed.
fn sets_grants(headers: &HeaderMap, policy: Option<&AccessControlPolicy>) -> bool {
    let quiet = ["private", "bucket-owner-read", "bucket-owner-full-control"];
    let canned = headers.get("x-amz-acl");
    canned.is_some_and(|name| !quiet.iter().any(|quiet| name == *quiet))
        || HEADERS.iter().any(|(name, _)| headers.contains_key(*name))
        || policy.is_some()
}

/// Refuses a request to set a list where none counts. The present list may be set again: that changes nothing.
///
/// # Errors
/// `AccessControlListNotSupported`.
fn check_counts(
    settings: &ContainerSettings,
    headers: &HeaderMap,
    policy: Option<&AccessControlPolicy>,
    is_standing: impl FnOnce(AccessControlPolicy) -> bool,
) -> S3Result<()> {
    let counts = settings.ownership == Some(Ownership::Preferred);
    if counts || !sets_grants(headers, policy) {
        return Ok(());
    }
    match policy.filter(|_| !sets_grants(headers, None)) {
        Some(policy) if is_standing(policy.clone()) => Ok(()),
        _ => Err(s3_error!(AccessControlListNotSupported, "The bucket does not allow ACLs.")),
    }
}

pub(super) async fn put_bucket_acl(
    account: &Account,
    request: S3Request<PutBucketAclInput>,
) -> S3Result<S3Response<PutBucketAclOutput>> {
    let S3Request { input, headers, extensions, .. } = request;
    let settings = account.container(&input.bucket)?.settings;
    let users = access::users(&extensions)?;
    let is_standing =
        |policy| parse_xml(policy, account.name(), users).is_ok_and(|grants| grants == settings.grants);
    check_counts(&settings, &headers, input.access_control_policy.as_ref(), is_standing)?;
    let grants = requested_grants(account.name(), &headers, users, input.access_control_policy)?;
    set(account, &input.bucket, |settings| settings.grants = grants).await?;
    Ok(S3Response::new(PutBucketAclOutput::default()))
}

pub(super) async fn get_object_acl(
    account: &Account,
    input: GetObjectAclInput,
) -> S3Result<GetObjectAclOutput> {
    let object = versions::find(account, &input.bucket, &input.key, input.version_id.as_deref())?;
    Ok(GetObjectAclOutput {
        grants: Some(to_s3(account.name(), &object.details.grants)),
        owner: Some(owner(account.name())),
        request_charged: None,
    })
}

pub(super) async fn put_object_acl(
    account: &Account,
    request: S3Request<PutObjectAclInput>,
) -> S3Result<S3Response<PutObjectAclOutput>> {
    let S3Request { input, headers, extensions, .. } = request;
    let version = versions::parse_id(input.version_id.as_deref())?;
    let settings = account.container(&input.bucket)?.settings;
    let object = account.version(&input.bucket, &input.key, version)?;
    let users = access::users(&extensions)?;
    let is_standing =
        |policy| parse_xml(policy, account.name(), users).is_ok_and(|grants| grants == object.details.grants);
    check_counts(&settings, &headers, input.access_control_policy.as_ref(), is_standing)?;
    let grants = requested_grants(account.name(), &headers, users, input.access_control_policy)?;
    account
        .update_version(&input.bucket, &input.key, version, move |details| {
            details.grants = grants;
            Ok::<(), Error>(())
        })
        .await?;
    Ok(S3Response::new(PutObjectAclOutput::default()))
}
