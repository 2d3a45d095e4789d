//! The policy of a form: the uploads that its signer allows.

use super::fields::Fields;
use crate::catalogue::UnixMillis;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use s3s::post_policy::{PostPolicy, PostPolicyCondition};
use s3s::{S3Error, S3ErrorCode, S3Result, s3_error};
use serde::Deserialize;
use std::ops::RangeInclusive;
use time::PrimitiveDateTime;
use time::format_description::BorrowedFormatItem;
use time::macros::format_description;

/// The format `2030-01-01T00:00:00.000Z`, with or without fractions of a second.
const DATE: &[BorrowedFormatItem<'_>] = format_description!(
    version = 2,
    "[year]-[month]-[day]T[hour]:[minute]:[second][optional [.[subsecond]]]Z"
);

/// A policy that has not expired.
pub(super) struct Policy {
    policy: PostPolicy,
}

impl Policy {
    /// Parses a policy from base64 and JSON.
    ///
    /// # Errors
    /// `InvalidPolicyDocument`; `AccessDenied` if it has expired.
    pub(super) fn read(text: &str, now: UnixMillis) -> S3Result<Self> {
        let policy = PostPolicy::from_base64(text)
            .map_err(|_| s3_error!(InvalidPolicyDocument, "Invalid Policy: Invalid JSON or Base64."))?;
        let invalid = || {
            s3_error!(
                InvalidPolicyDocument,
                "Invalid Policy: its expiration is not a date such as 2030-01-01T00:00:00.000Z."
            )
        };
        if expiration(text).ok_or_else(invalid)? <= now {
            return Err(denied("Policy expired."));
        }
        Ok(Policy { policy })
    }

    /// Checks that every condition holds, and that every field has a condition.
    ///
    /// # Errors
    /// `AccessDenied`.
    pub(super) fn check(&self, fields: &Fields, bucket: &str) -> S3Result<()> {
        if fields.get("bucket").is_some_and(|named| named != bucket) {
            return Err(denied("The bucket of the form is not the one that it was sent to."));
        }
        // In addition to its fields, a form has the bucket that it was sent to.
        let key = fields.key()?;
        let value = |name: &str| match name {
            "bucket" => Some(bucket),
            // The key of the object, with the name of the file in it.
            "key" => Some(key.as_str()),
            name => fields.get(name),
        };
        for condition in &self.policy.conditions {
            let holds = match condition {
                // A condition may also be on the key with the placeholder for the file's name.
                PostPolicyCondition::Eq { field, value: expected } => {
                    value(field) == Some(expected) || (field == "key" && fields.get("key") == Some(expected))
                }
                PostPolicyCondition::StartsWith { field, prefix } => starts_with(field, value(field), prefix),
                PostPolicyCondition::ContentLengthRange { .. } => true,
            };
            if !holds {
                return Err(denied("A condition of the policy does not hold."));
            }
        }
        let names = fields.iter().map(|(name, _)| name).chain(["bucket"]);
        for name in names.filter(|name| !needs_no_condition(name)) {
            if !self.has_condition_on(name) {
                return Err(denied("Extra input fields: every field must be in a condition of the policy."));
            }
        }
        Ok(())
    }

    fn has_condition_on(&self, name: &str) -> bool {
        self.policy.conditions.iter().any(|condition| match condition {
            PostPolicyCondition::Eq { field, .. } | PostPolicyCondition::StartsWith { field, .. } => {
                field == name
            }
            PostPolicyCondition::ContentLengthRange { .. } => false,
        })
    }

    /// Returns the allowed sizes of the file: the intersection of all ranges.
    pub(super) fn bytes(&self) -> RangeInclusive<u64> {
        let ranges = self.policy.conditions.iter().filter_map(|condition| match condition {
            PostPolicyCondition::ContentLengthRange { min, max } => Some((*min, *max)),
            _ => None,
        });
        let (min, max) = ranges.fold((0, u64::MAX), |(low, high), (min, max)| (min.max(low), max.min(high)));
        min..=max
    }
}

/// Parses the time at which a policy expires, in S3's form. s3s accepts other forms too.
fn expiration(text: &str) -> Option<UnixMillis> {
    #[derive(Deserialize)]
    struct PolicyDocument {
        expiration: String,
    }
    let json = BASE64.decode(text).ok()?;
    let PolicyDocument { expiration } = serde_json::from_slice(&json).ok()?;
    let date = PrimitiveDateTime::parse(&expiration, DATE).ok()?.assume_utc();
    u64::try_from(date.unix_timestamp_nanos() / 1_000_000).ok().map(UnixMillis)
}

/// Checks a prefix. A content type may be a list, and then each item needs the prefix.
fn starts_with(field: &str, value: Option<&str>, prefix: &str) -> bool {
    let Some(value) = value else { return false };
    if field == "content-type" {
        return value.split(',').all(|part| part.trim().starts_with(prefix));
    }
    value.starts_with(prefix)
}

/// Returns whether a field needs no condition.
fn needs_no_condition(name: &str) -> bool {
    matches!(name, "policy" | "x-amz-signature" | "signature" | "awsaccesskeyid" | "file" | "submit")
        || name.starts_with("x-ignore-")
}

fn denied(why: &'static str) -> S3Error {
    S3Error::with_message(S3ErrorCode::AccessDenied, format!("Invalid according to Policy: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(conditions: &str) -> S3Result<Policy> {
        let text = format!(r#"{{"expiration": "1970-01-01T00:00:10.000Z", "conditions": [{conditions}]}}"#);
        Policy::read(&BASE64.encode(text), UnixMillis(9_999))
    }

    fn allows(conditions: &str, fields: &[(&str, &str)]) -> bool {
        policy(conditions).expect("a policy").check(&Fields::of(fields), "photos").is_ok()
    }

    #[test]
    fn a_policy_ends_at_its_expiration() {
        let text = BASE64.encode(r#"{"expiration": "1970-01-01T00:00:10.000Z", "conditions": []}"#);
        assert!(Policy::read(&text, UnixMillis(9_999)).is_ok());
        let late = Policy::read(&text, UnixMillis(10_000)).err().expect("too late");
        assert_eq!(late.code().as_str(), "AccessDenied");
        let nonsense = Policy::read("e30x", UnixMillis(0)).err().expect("nonsense");
        assert_eq!(nonsense.code().as_str(), "InvalidPolicyDocument");
    }

    #[test]
    fn an_expiration_is_a_date_as_s3_writes_it() {
        let verdict = |date: &str| {
            let text = BASE64.encode(format!(r#"{{"expiration": "{date}", "conditions": []}}"#));
            Policy::read(&text, UnixMillis(0)).map(drop).map_err(|error| error.code().as_str().to_owned())
        };
        for date in ["2030-01-01T00:00:00Z", "2030-01-01T00:00:00.5Z", "2030-12-31T23:59:59.123Z"] {
            assert_eq!(verdict(date), Ok(()), "{date}");
        }
        for date in [
            "2030-01-01",
            "2030-01-01 00:00:00Z",
            "2030-01-01T00:00:00",
            "2030-01-01T00:00:00+01:00",
            "2030-13-01T00:00:00Z",
            "Tue, 01 Jan 2030 00:00:00 GMT",
            "1893456000",
            "",
        ] {
            assert_eq!(verdict(date), Err("InvalidPolicyDocument".into()), "{date:?}");
        }
    }

    #[test]
    fn every_field_needs_a_condition_and_every_condition_must_hold() {
        let bucket = r#"{"bucket": "photos"}"#;
        let key = r#"["starts-with", "$key", "user/"]"#;
        let both = format!("{bucket}, {key}");
        assert!(allows(&both, &[("key", "user/1")]));
        assert!(allows(&both, &[("key", "user/1"), ("x-ignore-this", "1"), ("submit", "go")]));
        assert!(!allows(&both, &[("key", "other/1")]));
        assert!(!allows(&both, &[("key", "user/1"), ("acl", "public-read")]), "the acl is in no condition");
        assert!(!allows(&both, &[("key", "user/1"), ("x-amz-server-side-encryption", "AES256")]));
        assert!(!allows(key, &[("key", "user/1")]), "the bucket is in no condition");
        assert!(!allows(&format!(r#"{{"bucket": "other"}}, {key}"#), &[("key", "user/1")]));
        assert!(!allows(&both, &[("key", "user/1"), ("bucket", "other")]));
        let status = format!(r#"{both}, ["eq", "$success_action_status", "201"]"#);
        assert!(!allows(&status, &[("key", "user/1")]), "the field is missing");
        assert!(allows(&status, &[("key", "user/1"), ("success_action_status", "201")]));
        let kind = format!(r#"{both}, ["starts-with", "$Content-Type", "image/"]"#);
        assert!(allows(&kind, &[("key", "user/1"), ("content-type", "image/png, image/gif")]));
        assert!(!allows(&kind, &[("key", "user/1"), ("content-type", "image/png, text/html")]));
    }

    #[test]
    fn conditions_on_the_key_are_about_the_key_that_the_object_gets() {
        let named = |file_name: &str| {
            let fields = Fields::of(&[("key", "user/${filename}")]).with_file_name(file_name);
            let holds = |condition: &str| {
                let conditions = format!(r#"{{"bucket": "photos"}}, {condition}"#);
                policy(&conditions).expect("a policy").check(&fields, "photos").is_ok()
            };
            [
                holds(r#"["starts-with", "$key", "user/a"]"#),
                holds(r#"["eq", "$key", "user/a.png"]"#),
                holds(r#"["eq", "$key", "user/${filename}"]"#),
            ]
        };
        assert_eq!(named("a.png"), [true, true, true]);
        assert_eq!(named("b.png"), [false, false, true]);
    }

    #[test]
    fn all_ranges_of_length_count() {
        let two = r#"["content-length-range", 2, 10], ["content-length-range", 1, 5]"#;
        assert_eq!(policy(two).expect("a policy").bytes(), 2..=5);
        assert_eq!(policy("").expect("a policy").bytes(), 0..=u64::MAX);
    }
}
