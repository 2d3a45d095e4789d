//! Access lists of containers, as Swift writes them: `account:user,.r:*,.rlistings`.

use crate::auth::identity::Identity;
use std::fmt;

/// A list of the principals that may read or write a container.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Acl {
    referrers: Vec<Referrer>,
    listings: bool,
    groups: Vec<String>,
}

/// Pages whose visitors may read.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Referrer {
    denied: bool,
    /// `*`, a host, or `.` and the end of hosts.
    host: String,
}

/// The reason why a text is not an access list. It shows no part of the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AclError {
    #[error("item {0} of the access list begins with a dot and is neither .r:HOST nor .rlistings")]
    Unknown(usize),
    #[error("item {0} of the access list names no host: write .r:HOST, .r:-HOST or .r:*")]
    NoHost(usize),
    #[error("item {0} of the access list lets referrers write, but they may only read")]
    WriteByReferrer(usize),
}

/// The purpose of a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AclUse {
    Reading,
    Writing,
}

impl Acl {
    /// Parses a list.
    ///
    /// # Errors
    /// See [`AclError`]; items are counted from 1.
    pub(crate) fn parse(text: &str, purpose: AclUse) -> Result<Acl, AclError> {
        let mut acl = Acl::default();
        for (index, item) in text.split(',').map(str::trim).enumerate() {
            let number = index + 1;
            if !item.starts_with('.') {
                if !item.is_empty() {
                    acl.groups.push(item.to_owned());
                }
                continue;
            }
            let (word, host) = match item.split_once(':') {
                Some((word, host)) => (word.trim(), Some(host.trim())),
                None => (item, None),
            };
            match (word, host) {
                (".r" | ".ref" | ".referer" | ".referrer", host) => {
                    if purpose == AclUse::Writing {
                        return Err(AclError::WriteByReferrer(number));
                    }
                    let host = host.unwrap_or_default();
                    let (denied, host) = match host.strip_prefix('-') {
                        Some(host) => (true, host.trim()),
                        None => (false, host),
                    };
                    let host = host.strip_prefix('*').filter(|rest| !rest.is_empty()).unwrap_or(host);
                    if host.is_empty() || host == "." {
                        return Err(AclError::NoHost(number));
                    }
                    acl.referrers.push(Referrer { denied, host: host.to_ascii_lowercase() });
                }
                (".rlistings", None) if purpose == AclUse::Reading => acl.listings = true,
                _ => return Err(AclError::Unknown(number)),
            }
        }
        Ok(acl)
    }

    /// Returns whether the list names this user.
    pub(crate) fn admits(&self, identity: &Identity) -> bool {
        let id = identity.id();
        let (account, user) = (identity.account.as_str(), identity.user.as_str());
        self.groups.iter().any(|group| match group.split_once(':') {
            Some((group, name)) => {
                (group == "*" || group == account) && (name == "*" || name == user || name == id)
            }
            None => group == account,
        })
    }

    /// Returns whether a request that comes from this page may read objects.
    pub(crate) fn admits_referrer(&self, referrer: Option<&str>) -> bool {
        let host = referrer.and_then(host_of).unwrap_or_default();
        // The last item that matches decides.
        let matches_host = |item: &&Referrer| match item.host.strip_prefix('.') {
            Some(_) => host.ends_with(&item.host),
            None => item.host == "*" || item.host == host,
        };
        self.referrers.iter().rev().find(matches_host).is_some_and(|item| !item.denied)
    }

    /// Returns whether those who may read may also list.
    pub(crate) fn admits_listings(&self) -> bool {
        self.listings
    }
}

/// The form in which Swift returns a list.
impl fmt::Display for Acl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let referrers = self
            .referrers
            .iter()
            .map(|item| format!(".r:{}{}", if item.denied { "-" } else { "" }, item.host));
        let listings = self.listings.then(|| ".rlistings".to_owned());
        let items: Vec<String> = referrers.chain(listings).chain(self.groups.iter().cloned()).collect();
        f.write_str(&items.join(","))
    }
}

fn host_of(referrer: &str) -> Option<String> {
    let uri: http::Uri = referrer.parse().ok()?;
    uri.host().map(str::to_ascii_lowercase)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::identity::Role;

    fn identity(account: &str, user: &str) -> Identity {
        Identity { account: account.parse().unwrap(), user: user.parse().unwrap(), role: Role::Member }
    }

    fn reading(text: &str) -> Acl {
        Acl::parse(text, AclUse::Reading).unwrap()
    }

    #[test]
    fn a_user_is_named_by_account_and_name_or_id_and_by_stars() {
        let ann = identity("a", "ann");
        for list in ["a:ann", "a", "a:*", "*:ann", "*:*", "b:bob, a:ann", &format!("a:{}", ann.id())] {
            assert!(reading(list).admits(&ann), "{list}");
        }
        for list in ["", "b:ann", "a:bob", "b", "*", "ann", ".r:*", ".rlistings", "b:*", "*:bob"] {
            assert!(!reading(list).admits(&ann), "{list}");
        }
    }

    #[test]
    fn the_last_referrer_that_fits_decides() {
        let from = |list: &str, page: Option<&str>| reading(list).admits_referrer(page);
        assert!(from(".r:*", None) && from(".r:*", Some("http://x.org/p")));
        assert!(from(".r:x.org", Some("http://x.org/p")) && !from(".r:x.org", None));
        assert!(!from(".r:x.org", Some("http://y.org/x.org")));
        assert!(
            from(".r:.x.org", Some("https://www.x.org:8080/")) && !from(".r:.x.org", Some("http://x.org/"))
        );
        assert!(!from(".r:.x.org", Some("http://wwwx.org/")));
        assert!(
            !from(".r:*,.r:-x.org", Some("http://x.org/")) && from(".r:*,.r:-x.org", Some("http://y.org/"))
        );
        assert!(from(".r:-x.org,.r:*", Some("http://x.org/")));
        assert!(!from("", None) && !from("a:b", None));
    }

    #[test]
    fn a_list_comes_back_in_one_form() {
        for (written, kept) in [
            (".r:*,.rlistings", ".r:*,.rlistings"),
            (" .referrer : *.x.org , a:b,, c ", ".r:.x.org,a:b,c"),
            (".ref:-X.org", ".r:-x.org"),
            ("", ""),
        ] {
            assert_eq!(reading(written).to_string(), kept);
            assert_eq!(reading(kept), reading(written));
        }
    }

    #[test]
    fn what_would_not_be_kept_is_refused() {
        let refused = |list: &str, purpose| Acl::parse(list, purpose).unwrap_err();
        assert_eq!(refused("a,.x:y", AclUse::Reading), AclError::Unknown(2));
        assert_eq!(refused(".r:", AclUse::Reading), AclError::NoHost(1));
        assert_eq!(refused(".r", AclUse::Reading), AclError::NoHost(1));
        assert_eq!(refused(".r:-", AclUse::Reading), AclError::NoHost(1));
        assert_eq!(refused("a,.r:*", AclUse::Writing), AclError::WriteByReferrer(2));
        assert_eq!(refused(".rlistings", AclUse::Writing), AclError::Unknown(1));
    }
}
