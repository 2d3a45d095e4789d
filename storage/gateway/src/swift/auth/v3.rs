//! Version 3 of Keystone: passwords and tokens, scoped to a project, with a service catalogue.
//!
//! An account is a project, in the only domain (`default`). A user has a name within the account and an id of its own
//! ([`Identity::id`](crate::auth::identity::Identity::id)).

use super::super::Swift;
use super::super::dates::iso_utc;
use super::super::refusal::{Outcome, Refusal};
use super::super::request_head::RequestHead;
use super::{Login, catalogue, refused};
use crate::auth::identity::{Role, Token, TokenInfo};
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

#[derive(Deserialize)]
struct Request {
    auth: Auth,
}

#[derive(Deserialize)]
struct Auth {
    identity: IdentitySection,
    scope: Option<Scope>,
}

#[derive(Deserialize)]
struct IdentitySection {
    methods: Vec<String>,
    password: Option<Password>,
    token: Option<OldToken>,
}

#[derive(Deserialize)]
struct Password {
    user: UserSection,
}

#[derive(Deserialize)]
struct UserSection {
    id: Option<String>,
    name: Option<String>,
    domain: Option<Domain>,
    password: Zeroizing<String>,
}

#[derive(Deserialize)]
struct OldToken {
    id: String,
}

#[derive(Deserialize)]
struct Domain {
    id: Option<String>,
    name: Option<String>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum Scope {
    /// `"unscoped"`
    Word(String),
    Of(ScopeOf),
}

#[derive(Deserialize)]
struct ScopeOf {
    project: Option<Project>,
}

#[derive(Deserialize)]
struct Project {
    id: Option<String>,
    name: Option<String>,
    domain: Option<Domain>,
}

impl Domain {
    fn is_known(&self) -> bool {
        let id = self.id.as_deref().is_none_or(|id| id == "default");
        id && self.name.as_deref().is_none_or(|name| name.eq_ignore_ascii_case("default"))
    }
}

/// The requested scope of a token.
enum RequestedScope {
    /// No scope: the user's own project.
    Own,
    /// Explicitly unscoped.
    Unscoped,
    Project(String),
}

fn requested_scope(scope: Option<Scope>) -> Outcome<RequestedScope> {
    match scope {
        None => Ok(RequestedScope::Own),
        Some(Scope::Word(word)) if word == "unscoped" => Ok(RequestedScope::Unscoped),
        Some(Scope::Of(ScopeOf { project: Some(Project { id, name, domain }) })) => {
            if !domain.is_none_or(|domain| domain.is_known()) {
                return Err(refused());
            }
            id.or(name)
                .map(RequestedScope::Project)
                .ok_or_else(|| Refusal::bad_request("The scope names no project."))
        }
        // No user has a role in a domain or in the system.
        Some(_) => Err(refused()),
    }
}

/// Logs in, and returns the token for a header of the answer.
pub(in super::super) async fn log_in(
    swift: &Swift,
    head: &RequestHead,
    body: &[u8],
) -> Outcome<(Token, Value)> {
    let request: Request = serde_json::from_slice(body)
        .map_err(|_| Refusal::bad_request("The body is not a login of version 3."))?;
    let Auth { identity, scope } = request.auth;
    let requested_scope = requested_scope(scope)?;
    let is = |method: &str| identity.methods.iter().any(|known| known == method);
    let (method, (token, issued)) = match (identity.password, identity.token) {
        (Some(Password { user }), _) if is("password") => {
            let project = match &requested_scope {
                RequestedScope::Project(project) => Some(project.as_str()),
                RequestedScope::Own | RequestedScope::Unscoped => None,
            };
            let login = login(swift, user, project);
            ("password", swift.log_in(login, head.now).await?)
        }
        (_, Some(OldToken { id })) if is("token") => {
            let known = swift.tokens.look_up(&swift.users, &id, head.now).ok_or_else(refused)?;
            if let RequestedScope::Project(project) = &requested_scope
                && project != known.identity.account.as_str()
            {
                return Err(refused());
            }
            ("token", swift.exchange(&id, head.now)?)
        }
        _ => return Err(Refusal::bad_request("Log in by the method `password` or `token`.")),
    };
    let scoped = !matches!(requested_scope, RequestedScope::Unscoped);
    Ok((token, describe(head, &issued, &[method], scoped)))
}

/// Returns the login of a user. A malformed name becomes a user that does not exist, so that it costs the same time.
fn login(swift: &Swift, user: UserSection, project: Option<&str>) -> Login {
    let UserSection { id, name, domain, password } = user;
    let domain_is_known = domain.is_none_or(|domain| domain.is_known());
    let (account, user) = match (id, name) {
        (Some(id), _) => match swift.users.by_id(&id) {
            Some(identity) if project.is_none_or(|project| project == identity.account.as_str()) => {
                (identity.account.as_str().to_owned(), identity.user.as_str().to_owned())
            }
            _ => (String::new(), String::new()),
        },
        (None, Some(name)) if domain_is_known => swift.users.full_name(project, &name),
        _ => (String::new(), String::new()),
    };
    Login { account, user, password: Zeroizing::new(password.as_bytes().to_vec()) }
}

fn describe(head: &RequestHead, issued: &TokenInfo, methods: &[&str], scoped: bool) -> Value {
    let TokenInfo { identity, issued: since, expires } = issued;
    let (account, user, role) = (identity.account.as_str(), identity.user.as_str(), identity.role.name());
    let domain = json!({"id": "default", "name": "Default"});
    let mut token = json!({
        "methods": methods,
        "user": {"id": identity.id(), "name": user, "domain": domain, "password_expires_at": null},
        "audit_ids": [catalogue::id(&[&identity.id(), &since.0.to_string()])],
        "issued_at": iso_utc(*since),
        "expires_at": iso_utc(*expires),
    });
    if scoped && let Some(fields) = token.as_object_mut() {
        fields.insert("project".into(), json!({"id": account, "name": account, "domain": domain}));
        fields.insert("is_domain".into(), false.into());
        fields.insert("roles".into(), json!([{"id": catalogue::id(&["role", role]), "name": role}]));
        if !head.query.has("nocatalog") {
            fields.insert("catalog".into(), head.base.v3(&identity.account));
        }
    }
    json!({"token": token})
}

/// Describes a token, for its own user and for an admin.
pub(in super::super) fn show(swift: &Swift, head: &RequestHead) -> Outcome<Value> {
    let subject = subject(swift, head)?;
    Ok(describe(head, &subject, &["password"], true))
}

/// Revokes a token.
pub(in super::super) fn revoke(swift: &Swift, head: &RequestHead) -> Outcome<()> {
    subject(swift, head)?;
    if let Some(token) = head.subject_token() {
        swift.tokens.revoke(token);
    }
    Ok(())
}

fn subject(swift: &Swift, head: &RequestHead) -> Outcome<TokenInfo> {
    let look_up = |token: Option<&str>| swift.tokens.look_up(&swift.users, token?, head.now);
    let identity = look_up(head.token()).ok_or_else(refused)?.identity;
    let subject = look_up(head.subject_token()).ok_or_else(Refusal::not_found)?;
    if subject.identity == identity || identity.role == Role::Admin {
        Ok(subject)
    } else {
        // The same answer as for an invalid token, which shows nothing about its user.
        Err(Refusal::not_found())
    }
}
