//! Lifecycle rules of a bucket, and the headers of answers about them.

use super::conversions::{size, timestamp, unix_millis};
use super::settings::{get, set};
use super::tagging;
use crate::catalogue::{
    ContainerSettings, DAY_MILLIS, Expiry, FilterForm, LifecycleFilter, LifecycleRule as Rule, Object,
    OldVersions, UnixMillis,
};
use crate::error::Error;
use crate::http::percent::encode_path;
use crate::objects::account::Account;
use crate::objects::random::random_bytes;
use base16ct::lower::encode_string as hex;
use s3s::dto::*;
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::SystemTime;

/// S3's largest number of rules of a bucket.
const MAX_RULES: usize = 1000;
/// S3's longest name of a rule, in characters.
const MAX_ID_CHARS: usize = 255;
/// S3's largest number of old versions that a rule keeps.
const MAX_OLD_VERSIONS: i32 = 100;
/// The largest number of bytes of all rules of a bucket together. They are stored in one row of the catalogue, which
/// has limited room.
const MAX_BYTES: usize = 256 << 10;
/// The first time that an HTTP date cannot show.
const YEAR_10000: UnixMillis = UnixMillis(253_402_300_800_000);

fn invalid(text: impl Into<std::borrow::Cow<'static, str>>) -> S3Error {
    S3Error::with_message(S3ErrorCode::InvalidArgument, text)
}

fn positive(days: i32, name: &str, action: &str) -> S3Result<u32> {
    let days = u32::try_from(days).ok().filter(|&days| days > 0);
    days.ok_or_else(|| invalid(format!("'{name}' for {action} action must be a positive integer")))
}

fn from_s3(rule: LifecycleRule) -> S3Result<Rule> {
    if rule.transitions.is_some() || rule.noncurrent_version_transitions.is_some() {
        return Err(s3_error!(
            NotImplemented,
            "Objects stay where they are: there is one class of storage. Leave Transition and NoncurrentVersionTransition \
             out of the rules."
        ));
    }
    let is_enabled = match rule.status.as_str() {
        ExpirationStatus::ENABLED => true,
        ExpirationStatus::DISABLED => false,
        _ => return Err(s3_error!(MalformedXML)),
    };
    let id = rule.id.filter(|id| !id.is_empty()).map_or_else(new_id, Ok)?;
    if id.chars().count() > MAX_ID_CHARS {
        return Err(invalid(format!("ID length should not exceed allowed limit of {MAX_ID_CHARS}")));
    }
    let filter = filter_from_s3(rule.filter, rule.prefix)?;
    let expiry = rule.expiration.map(expiry_from_s3).transpose()?;
    let old = rule.noncurrent_version_expiration.map(old_versions_from_s3).transpose()?;
    let abort = rule.abort_incomplete_multipart_upload;
    let abort = abort.map(|abort| abort.days_after_initiation.ok_or_else(|| s3_error!(MalformedXML)));
    let abort_after_days = abort
        .transpose()?
        .map(|days| positive(days, "DaysAfterInitiation", "AbortIncompleteMultipartUpload"))
        .transpose()?;
    if expiry.is_none() && old.is_none() && abort_after_days.is_none() {
        return Err(s3_error!(InvalidRequest, "At least one action needs to be specified in a rule"));
    }
    check_about_objects(&filter, expiry, abort_after_days)?;
    Ok(Rule { id, is_enabled, filter, expiry, old, abort_after_days })
}

/// Refuses conditions on tags or sizes for delete markers and unfinished uploads, which have neither.
fn check_about_objects(
    filter: &LifecycleFilter,
    expiry: Option<Expiry>,
    abort_after_days: Option<u32>,
) -> S3Result<()> {
    let of_marker = matches!(expiry, Some(Expiry::Markers(_))).then_some("ExpiredObjectDeleteMarker");
    let action = abort_after_days.map(|_| "AbortIncompleteMultipartUpload").or(of_marker);
    let condition = if !filter.tags.is_empty() {
        Some("Tags")
    } else {
        filter.more_than.or(filter.less_than).map(|_| "Object Size")
    };
    match (action, condition) {
        (Some(action), Some(condition)) => {
            Err(s3_error!(InvalidRequest, "{action} cannot be specified with {condition}"))
        }
        _ => Ok(()),
    }
}

/// Returns a name for a rule without one.
fn new_id() -> S3Result<String> {
    let id: [u8; 16] = random_bytes().map_err(Error::from)?;
    Ok(hex(&id))
}

fn filter_from_s3(filter: Option<LifecycleRuleFilter>, prefix: Option<String>) -> S3Result<LifecycleFilter> {
    let filter = match (filter, prefix) {
        (None, Some(prefix)) => {
            let (form, prefix) = (FilterForm::Prefix, Some(prefix));
            return Ok(LifecycleFilter { form, prefix, ..LifecycleFilter::default() });
        }
        (Some(filter), None) => filter,
        _ => return Err(s3_error!(MalformedXML)),
    };
    let conditions = usize::from(filter.and.is_some())
        + usize::from(filter.prefix.is_some())
        + usize::from(filter.tag.is_some())
        + usize::from(filter.object_size_greater_than.is_some())
        + usize::from(filter.object_size_less_than.is_some());
    if conditions > 1 {
        return Err(s3_error!(MalformedXML));
    }
    let (form, prefix, tags, more, less) = match filter.and {
        Some(and) => {
            let tags = and.tags.unwrap_or_default();
            (FilterForm::And, and.prefix, tags, and.object_size_greater_than, and.object_size_less_than)
        }
        None => {
            let tags = filter.tag.into_iter().collect();
            let (more, less) = (filter.object_size_greater_than, filter.object_size_less_than);
            (FilterForm::Filter, filter.prefix, tags, more, less)
        }
    };
    // An empty `And` would be a rule for everything.
    let restricts = prefix.is_some() || !tags.is_empty() || more.is_some() || less.is_some();
    if form == FilterForm::And && !restricts {
        return Err(s3_error!(MalformedXML));
    }
    let bytes = |bytes: i64, name: &str| {
        u64::try_from(bytes).map_err(|_| invalid(format!("'{name}' must not be negative")))
    };
    let more_than = more.map(|more| bytes(more, "ObjectSizeGreaterThan")).transpose()?;
    let less_than = less.map(|less| bytes(less, "ObjectSizeLessThan")).transpose()?;
    if less_than == Some(0) || more_than.zip(less_than).is_some_and(|(more, less)| more >= less) {
        return Err(s3_error!(
            InvalidRequest,
            "'ObjectSizeLessThan' must be larger than 'ObjectSizeGreaterThan'"
        ));
    }
    Ok(LifecycleFilter { form, prefix, tags: tagging::rule_tags(tags)?, more_than, less_than })
}

fn expiry_from_s3(expiration: LifecycleExpiration) -> S3Result<Expiry> {
    match (expiration.days, expiration.date, expiration.expired_object_delete_marker) {
        (Some(days), None, None) => Ok(Expiry::Days(positive(days, "Days", "Expiration")?)),
        (None, Some(date), None) => {
            let date = unix_millis(&date);
            if !date.0.is_multiple_of(DAY_MILLIS) {
                return Err(invalid("'Date' must be at midnight GMT"));
            }
            Ok(Expiry::Date(date))
        }
        (None, None, Some(go)) => Ok(Expiry::Markers(go)),
        _ => Err(s3_error!(MalformedXML)),
    }
}

fn old_versions_from_s3(expiration: NoncurrentVersionExpiration) -> S3Result<OldVersions> {
    let days = expiration.noncurrent_days.ok_or_else(|| s3_error!(MalformedXML))?;
    let days = positive(days, "NoncurrentDays", "NoncurrentVersionExpiration")?;
    let kept = expiration.newer_noncurrent_versions;
    if kept.is_some_and(|kept| !(1..=MAX_OLD_VERSIONS).contains(&kept)) {
        return Err(invalid(format!("'NewerNoncurrentVersions' must be between 1 and {MAX_OLD_VERSIONS}")));
    }
    Ok(OldVersions { days, kept: kept.and_then(|kept| u32::try_from(kept).ok()) })
}

fn to_s3(rule: &Rule) -> LifecycleRule {
    let days = |days: u32| i32::try_from(days).unwrap_or(i32::MAX);
    let status = if rule.is_enabled { ExpirationStatus::ENABLED } else { ExpirationStatus::DISABLED };
    let mut expiration = LifecycleExpiration::default();
    match rule.expiry {
        Some(Expiry::Days(after)) => expiration.days = Some(days(after)),
        Some(Expiry::Date(date)) => expiration.date = Some(timestamp(date)),
        Some(Expiry::Markers(go)) => expiration.expired_object_delete_marker = Some(go),
        None => {}
    }
    let is_legacy = rule.filter.form == FilterForm::Prefix;
    LifecycleRule {
        abort_incomplete_multipart_upload: rule
            .abort_after_days
            .map(|after| AbortIncompleteMultipartUpload { days_after_initiation: Some(days(after)) }),
        expiration: rule.expiry.map(|_| expiration),
        filter: (!is_legacy).then(|| filter_to_s3(&rule.filter)),
        id: Some(rule.id.clone()),
        noncurrent_version_expiration: rule.old.map(|old| NoncurrentVersionExpiration {
            newer_noncurrent_versions: old.kept.map(days),
            noncurrent_days: Some(days(old.days)),
        }),
        noncurrent_version_transitions: None,
        prefix: rule.filter.prefix.clone().filter(|_| is_legacy),
        status: ExpirationStatus::from_static(status),
        transitions: None,
    }
}

fn filter_to_s3(filter: &LifecycleFilter) -> LifecycleRuleFilter {
    let tags = filter.tags.iter();
    let mut tags = tags.map(|(key, value)| Tag { key: Some(key.clone()), value: Some(value.clone()) });
    let (more, less) = (filter.more_than.map(size), filter.less_than.map(size));
    if filter.form == FilterForm::And {
        let and = LifecycleRuleAndOperator {
            object_size_greater_than: more,
            object_size_less_than: less,
            prefix: filter.prefix.clone(),
            tags: Some(tags.collect()),
        };
        return LifecycleRuleFilter { and: Some(and), ..LifecycleRuleFilter::default() };
    }
    LifecycleRuleFilter {
        and: None,
        object_size_greater_than: more,
        object_size_less_than: less,
        prefix: filter.prefix.clone(),
        tag: tags.next(),
    }
}

fn bytes(rule: &Rule) -> usize {
    let tags = |tags: &BTreeMap<String, String>| -> usize {
        tags.iter().map(|(key, value)| key.len() + value.len()).sum()
    };
    rule.id.len() + rule.filter.prefix.as_ref().map_or(0, String::len) + tags(&rule.filter.tags)
}

/// Returns S3's default for moves between storage classes, which clients send without meaning it.
fn default_transition_size() -> TransitionDefaultMinimumObjectSize {
    TransitionDefaultMinimumObjectSize::from_static(
        TransitionDefaultMinimumObjectSize::ALL_STORAGE_CLASSES_128K,
    )
}

pub(super) async fn put_bucket_lifecycle_configuration(
    account: &Account,
    input: PutBucketLifecycleConfigurationInput,
) -> S3Result<PutBucketLifecycleConfigurationOutput> {
    account.container(&input.bucket)?;
    if input
        .transition_default_minimum_object_size
        .is_some_and(|requested| requested != default_transition_size())
    {
        return Err(s3_error!(
            NotImplemented,
            "This gateway has no transitions. Leave x-amz-transition-default-minimum-object-size out."
        ));
    }
    let rules = input.lifecycle_configuration.ok_or_else(|| s3_error!(MalformedXML))?.rules;
    if rules.is_empty() || rules.len() > MAX_RULES {
        return Err(s3_error!(MalformedXML));
    }
    let rules = rules.into_iter().map(from_s3).collect::<S3Result<Vec<_>>>()?;
    let ids: BTreeSet<&str> = rules.iter().map(|rule| &*rule.id).collect();
    if ids.len() < rules.len() {
        return Err(invalid("Rule ID must be unique. Found same ID for more than one rule"));
    }
    if rules.iter().map(bytes).sum::<usize>() > MAX_BYTES {
        return Err(s3_error!(InvalidRequest, "The rules of a bucket have at most 256 KB."));
    }
    set(account, &input.bucket, |settings| settings.lifecycle = rules).await?;
    Ok(PutBucketLifecycleConfigurationOutput {
        transition_default_minimum_object_size: Some(default_transition_size()),
    })
}

pub(super) async fn get_bucket_lifecycle_configuration(
    account: &Account,
    input: GetBucketLifecycleConfigurationInput,
) -> S3Result<GetBucketLifecycleConfigurationOutput> {
    let missing = (S3ErrorCode::NoSuchLifecycleConfiguration, "The lifecycle configuration does not exist");
    let rules = |settings: &ContainerSettings| settings.lifecycle.iter().map(to_s3).collect();
    Ok(GetBucketLifecycleConfigurationOutput {
        rules: Some(get(account, &input.bucket, rules, missing)?),
        transition_default_minimum_object_size: Some(default_transition_size()),
    })
}

/// Returns `x-amz-expiration` of an object, if it is the current one of its key and a rule removes it.
pub(super) fn expiration(account: &Account, bucket: &str, key: &str, object: &Arc<Object>) -> Option<String> {
    let (end, id) = account.object_expiry(bucket, key, object).filter(|(end, _)| *end < YEAR_10000)?;
    let date = httpdate::fmt_http_date(SystemTime::from(end));
    Some(format!("expiry-date=\"{date}\", rule-id=\"{}\"", encode_path(&id)))
}

/// Returns the time at which a rule aborts an unfinished upload, and the rule.
pub(super) fn upload_abort(
    account: &Account,
    bucket: &str,
    key: &str,
    started: UnixMillis,
) -> (Option<Timestamp>, Option<String>) {
    let end = account.upload_expiry(bucket, key, started).filter(|(end, _)| *end < YEAR_10000);
    end.map(|(end, id)| (timestamp(end), id)).unzip()
}
