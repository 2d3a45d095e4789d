//! Version 2 of Keystone: a tenant, a name and a password, or an existing token.

use super::super::Swift;
use super::super::dates::iso_utc;
use super::super::refusal::{Outcome, Refusal};
use super::super::request_head::RequestHead;
use super::{Login, catalogue, refused};
use crate::auth::identity::{Token, TokenInfo};
use crate::catalogue::UnixMillis;
use serde::Deserialize;
use serde_json::{Value, json};
use zeroize::Zeroizing;

#[derive(Deserialize)]
struct Request {
    auth: Auth,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Auth {
    password_credentials: Option<Credentials>,
    token: Option<OldToken>,
    tenant_name: Option<String>,
    tenant_id: Option<String>,
}

#[derive(Deserialize)]
struct Credentials {
    username: String,
    password: Zeroizing<String>,
}

#[derive(Deserialize)]
struct OldToken {
    id: String,
}

pub(in super::super) async fn log_in(swift: &Swift, head: &RequestHead, body: &[u8]) -> Outcome<Value> {
    let request: Request = serde_json::from_slice(body)
        .map_err(|_| Refusal::bad_request("The body is not a login of version 2."))?;
    let Auth { password_credentials, token, tenant_name, tenant_id } = request.auth;
    let tenant = tenant_name.or(tenant_id);
    let (token, issued) = match (password_credentials, token) {
        (Some(Credentials { username, password }), _) => {
            let (account, user) = swift.users.full_name(tenant.as_deref(), &username);
            let password = Zeroizing::new(password.as_bytes().to_vec());
            swift.log_in(Login { account, user, password }, head.now).await?
        }
        (None, Some(OldToken { id })) => {
            let known = swift.tokens.look_up(&swift.users, &id, head.now).ok_or_else(refused)?;
            if tenant.is_some_and(|tenant| tenant != known.identity.account.as_str()) {
                return Err(refused());
            }
            swift.exchange(&id, head.now)?
        }
        (None, None) => return Err(Refusal::bad_request("The login holds neither a password nor a token.")),
    };
    Ok(answer(head, &token, &issued))
}

fn answer(head: &RequestHead, token: &Token, issued: &TokenInfo) -> Value {
    let TokenInfo { identity, issued: since, expires } = issued;
    let (account, user, role) = (identity.account.as_str(), identity.user.as_str(), identity.role.name());
    json!({"access": {
        "token": {
            "id": token.as_str(),
            "issued_at": iso_utc(*since),
            "expires": iso_utc(UnixMillis(expires.0)),
            "tenant": {"id": account, "name": account, "enabled": true, "description": ""},
        },
        "user": {
            "id": identity.id(),
            "name": user,
            "username": user,
            "roles": [{"id": catalogue::id(&["role", role]), "name": role}],
            "roles_links": [],
        },
        "serviceCatalog": head.base.v2(&identity.account),
        "metadata": {"is_admin": 0, "roles": [catalogue::id(&["role", role])]},
    }})
}
