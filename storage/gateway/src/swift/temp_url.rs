//! Temporary URLs: links, signed with a key of the account or the container, that allow one operation.

use super::dates::read_seconds_or_iso;
use super::query::Query;
use super::signature::Signature;
use super::target::{PREFIX, Target};
use crate::catalogue::UnixMillis;
use http::Method;
use ipnet::IpNet;
use std::collections::BTreeMap;
use std::net::IpAddr;

/// The names of the keys in metadata.
pub(super) const KEYS: [&str; 2] = ["temp-url-key", "temp-url-key-2"];

/// Returns whether a request has a temporary URL.
pub(super) fn is_temp_url(query: &Query) -> bool {
    query.has("temp_url_sig") || query.has("temp_url_expires")
}

/// The rights of a valid temporary URL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct TempUrlGrant {
    /// The time at which the URL expires.
    pub(super) expires: UnixMillis,
    /// True if the key is the container's own: the URL then reaches nothing outside of it.
    pub(super) of_container: bool,
}

/// A request with a temporary URL.
pub(super) struct TempUrlRequest<'a> {
    pub(super) method: &'a Method,
    pub(super) query: &'a Query,
    pub(super) target: &'a Target,
    pub(super) peer: Option<IpAddr>,
    pub(super) now: UnixMillis,
}

/// Returns the rights of the URL; `None` if it is invalid for this request, for any reason.
///
/// The metadata are those of account and container; `None` if the container does not exist.
pub(super) fn check(
    request: &TempUrlRequest<'_>,
    account: &BTreeMap<String, String>,
    container: Option<&BTreeMap<String, String>>,
) -> Option<TempUrlGrant> {
    let TempUrlRequest { method, query, target, peer, now } = *request;
    let (holder, object) = (target.container.as_deref()?, target.object.as_deref()?);
    let signature = Signature::parse(query.get("temp_url_sig")?)?;
    let expires = query.get("temp_url_expires")?;
    let seconds = read_seconds_or_iso(expires)?;
    if seconds <= now.seconds() {
        return None;
    }
    let path = match query.get("temp_url_prefix") {
        Some(prefix) if !object.starts_with(prefix) => return None,
        Some(prefix) => format!("prefix:/v1/{PREFIX}{}/{holder}/{prefix}", target.account),
        None => format!("/v1/{PREFIX}{}/{holder}/{object}", target.account),
    };
    let range = match query.get("temp_url_ip_range") {
        Some(range) => {
            let net: IpNet = range.parse().or_else(|_| range.parse::<IpAddr>().map(IpNet::from)).ok()?;
            if !net.contains(&peer?.to_canonical()) {
                return None;
            }
            format!("ip={range}\n")
        }
        None => String::new(),
    };
    let signed = |method: &str| {
        // The signature is over the seconds, in any form that the URL may have.
        format!("{range}{method}\n{seconds}\n{path}")
    };
    let keys = |metadata: &BTreeMap<String, String>, of_container| -> Vec<(String, bool)> {
        let keys = KEYS.iter().filter_map(|name| metadata.get(*name));
        keys.filter(|key| !key.is_empty()).map(|key| (key.clone(), of_container)).collect()
    };
    let mut known = keys(account, false);
    known.extend(container.map(|metadata| keys(metadata, true)).unwrap_or_default());
    // A URL for reading or writing also allows HEAD.
    let methods: &[&str] = match method.as_str() {
        "HEAD" => &["HEAD", "GET", "PUT", "POST"],
        "GET" => &["GET"],
        "PUT" => &["PUT"],
        "POST" => &["POST"],
        "DELETE" => &["DELETE"],
        _ => &[],
    };
    let mut found = None;
    for (key, of_container) in known {
        for method in methods {
            if signature.verifies(&key, &signed(method)) {
                found =
                    Some(TempUrlGrant { expires: UnixMillis(seconds.saturating_mul(1000)), of_container });
            }
        }
    }
    found
}

/// Returns the `Content-Disposition` of the answer: save it under a name, or show it.
pub(super) fn disposition(query: &Query, object: &str) -> String {
    let named = query.get("filename").filter(|name| !name.is_empty());
    if query.has("inline") {
        return match named {
            Some(name) => format!("inline; {}", file_name(name)),
            None => "inline".to_owned(),
        };
    }
    let last = object.trim_end_matches('/').rsplit('/').next().unwrap_or_default();
    format!("attachment; {}", file_name(named.unwrap_or(last)))
}

/// Returns the file name in the old form and in that of RFC 6266.
fn file_name(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|char| match char {
            '"' => "%22".to_owned(),
            char if char.is_control() => "%0A".to_owned(),
            char => char.to_string(),
        })
        .collect();
    let encoded = percent_encoding::utf8_percent_encode(name, percent_encoding::NON_ALPHANUMERIC);
    format!("filename=\"{plain}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use base16ct::lower::encode_string as hex;
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::Sha256;

    const NOW: UnixMillis = UnixMillis(1_000_000);

    fn sign(key: &str, text: &str) -> String {
        let mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key.as_bytes()).unwrap();
        hex(&mac.chain_update(text.as_bytes()).finalize().into_bytes())
    }

    fn keys(pairs: &[(&str, &str)]) -> BTreeMap<String, String> {
        pairs.iter().map(|&(name, key)| (name.to_owned(), key.to_owned())).collect()
    }

    fn granted_from(peer: Option<&str>, method: &Method, path: &str, query: &str) -> Option<bool> {
        let account = keys(&[("temp-url-key", "first"), ("temp-url-key-2", "second"), ("other", "no")]);
        let container = keys(&[("temp-url-key", "of c")]);
        let target = Target::read(path).unwrap();
        let query = Query::parse(Some(query)).unwrap();
        let peer = peer.map(|peer| peer.parse().unwrap());
        let request = TempUrlRequest { method, query: &query, target: &target, peer, now: NOW };
        let held = (target.container.as_deref() == Some("c")).then_some(&container);
        check(&request, &account, held).map(|grant| grant.of_container)
    }

    fn granted(method: &Method, path: &str, query: &str) -> Option<bool> {
        granted_from(None, method, path, query)
    }

    #[test]
    fn a_url_is_good_for_its_method_and_object_until_it_expires() {
        let signature = sign("first", "GET\n1001\n/v1/AUTH_a/c/o");
        let query = format!("temp_url_sig={signature}&temp_url_expires=1001");
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/o", &query), Some(false));
        assert_eq!(granted(&Method::HEAD, "/v1/AUTH_a/c/o", &query), Some(false));
        for method in [Method::PUT, Method::POST, Method::DELETE] {
            assert_eq!(granted(&method, "/v1/AUTH_a/c/o", &query), None, "{method}");
        }
        for path in ["/v1/AUTH_a/c/p", "/v1/AUTH_a/d/o", "/v1/AUTH_b/c/o", "/v1/AUTH_a/c", "/v1/AUTH_a"] {
            assert_eq!(granted(&Method::GET, path, &query), None, "{path}");
        }
        let later = query.replace("1001", "1002");
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/o", &later), None);
        let expired =
            format!("temp_url_sig={}&temp_url_expires=1000", sign("first", "GET\n1000\n/v1/AUTH_a/c/o"));
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/o", &expired), None);
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/o", "temp_url_expires=1001"), None);
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/o", &format!("temp_url_sig={signature}")), None);
    }

    #[test]
    fn each_of_the_four_keys_signs_and_no_other() {
        let of = |key: &str| {
            let signature = sign(key, "PUT\n1001\n/v1/AUTH_a/c/o");
            granted(
                &Method::PUT,
                "/v1/AUTH_a/c/o",
                &format!("temp_url_sig={signature}&temp_url_expires=1001"),
            )
        };
        assert_eq!([of("first"), of("second"), of("of c")], [Some(false), Some(false), Some(true)]);
        assert_eq!([of("no"), of("")], [None, None]);
    }

    #[test]
    fn a_prefix_is_good_for_the_objects_that_begin_so() {
        let signature = sign("first", "GET\n1001\nprefix:/v1/AUTH_a/c/p/");
        let query =
            |prefix: &str| format!("temp_url_sig={signature}&temp_url_expires=1001&temp_url_prefix={prefix}");
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/p/o", &query("p/")), Some(false));
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/q/o", &query("p/")), None);
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/p/o", &query("p")), None);
        assert_eq!(granted(&Method::GET, "/v1/AUTH_a/c/p/o", &query("")), None);
    }

    #[test]
    fn an_address_range_shuts_others_out() {
        let signature = sign("first", "ip=10.1.0.0/16\nGET\n1001\n/v1/AUTH_a/c/o");
        let query = format!("temp_url_sig={signature}&temp_url_expires=1001&temp_url_ip_range=10.1.0.0/16");
        let from =
            |peer: Option<&str>, query: &str| granted_from(peer, &Method::GET, "/v1/AUTH_a/c/o", query);
        assert_eq!(from(Some("10.1.2.3"), &query), Some(false));
        assert_eq!(from(Some("::ffff:10.1.2.3"), &query), Some(false));
        assert_eq!([from(Some("10.2.2.3"), &query), from(None, &query)], [None, None]);
        assert_eq!(from(Some("10.1.2.3"), &query.replace("&temp_url_ip_range=10.1.0.0/16", "")), None);
    }

    #[test]
    fn a_name_for_the_file_is_kept_in_one_header() {
        let of = |query: &str| disposition(&Query::parse(Some(query)).unwrap(), "dir/a b\"c");
        assert_eq!(of(""), "attachment; filename=\"a b%22c\"; filename*=UTF-8''a%20b%22c");
        assert_eq!(of("inline"), "inline");
        assert_eq!(of("filename=x%0Ay"), "attachment; filename=\"x%0Ay\"; filename*=UTF-8''x%0Ay");
        assert!(of("inline&filename=z").starts_with("inline; filename=\"z\""));
    }
}
