//! Version 1, as in TempAuth: names, password and token in headers.

use super::super::Swift;
use super::super::metadata::put;
use super::super::refusal::Outcome;
use super::super::request_head::RequestHead;
use super::{Login, refused};
use axum::body::Body;
use http::{HeaderMap, Response};
use zeroize::Zeroizing;

pub(in super::super) async fn log_in(swift: &Swift, head: &RequestHead) -> Outcome<Response<Body>> {
    let login = login(&head.headers).ok_or_else(refused)?;
    let (token, issued) = swift.log_in(login, head.now).await?;
    let mut answer = Response::new(Body::empty());
    let headers = answer.headers_mut();
    put(headers, "x-storage-url", &head.base.storage(&issued.identity.account));
    for name in ["x-auth-token", "x-storage-token"] {
        put(headers, name, token.as_str());
        if let Some(value) = headers.get_mut(name) {
            value.set_sensitive(true);
        }
    }
    let seconds = issued.expires.seconds().saturating_sub(head.now.seconds());
    put(headers, "x-auth-token-expires", &seconds.to_string());
    Ok(answer)
}

fn login(headers: &HeaderMap) -> Option<Login> {
    let user = headers.get("x-auth-user").or_else(|| headers.get("x-storage-user"))?.to_str().ok()?;
    let password = headers.get("x-auth-key").or_else(|| headers.get("x-storage-pass"))?;
    let (account, user) = user.split_once(':')?;
    Some(Login {
        account: account.to_owned(),
        user: user.to_owned(),
        password: Zeroizing::new(password.as_bytes().to_vec()),
    })
}
