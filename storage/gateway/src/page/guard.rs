//! The guard of the page: it accepts requests with the token, sent to one of the listener's own names.

use axum::Router;
use axum::extract::{Query, Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{Next, from_fn_with_state};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::get;
use base64ct::{Base64UrlUnpadded, Encoding as _};
use serde::Deserialize;
use std::net::SocketAddr;
use std::sync::Arc;
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// The cookie that replaces the token once the link was opened.
const COOKIE: &str = "ameles-page";

/// Lets only the owner in. Clones are the same guard.
#[derive(Clone)]
pub struct Guard {
    secrets: Arc<Secrets>,
    hosts: Arc<Vec<String>>,
}

struct Secrets {
    /// The secret in the link, which may end up in the terminal's history.
    token: Zeroizing<String>,
    /// The secret in the cookie: another one, so that neither reveals the other.
    session: Zeroizing<String>,
}

/// The system returned no random numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the system returned no random numbers for the page's token")]
pub struct GuardError;

impl std::fmt::Debug for Guard {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Guard(..)")
    }
}

#[derive(Deserialize)]
struct LinkQuery {
    token: Option<String>,
}

impl Guard {
    /// Generates the secrets for the page at this address.
    ///
    /// # Errors
    /// [`GuardError`].
    pub fn generate(address: SocketAddr) -> Result<Self, GuardError> {
        let port = address.port();
        let mut hosts = vec![address.to_string()];
        if address.ip().is_loopback() {
            hosts.extend(["127.0.0.1", "[::1]", "localhost"].map(|name| format!("{name}:{port}")));
        }
        let secrets = Secrets { token: random()?, session: random()? };
        Ok(Guard { secrets: Arc::new(secrets), hosts: Arc::new(hosts) })
    }

    /// Returns the link that opens the page. It is secret.
    pub fn link(&self, address: SocketAddr) -> Zeroizing<String> {
        Zeroizing::new(format!("http://{address}/?token={}", self.secrets.token.as_str()))
    }

    /// Puts routes behind the cookie, and adds the route that sets it.
    pub(super) fn protect(self, routes: Router) -> Router {
        let guarded = routes.layer(from_fn_with_state(self.clone(), require_cookie));
        let entry = Router::new().route("/", get(enter)).with_state(self.clone());
        entry.merge(guarded).layer(from_fn_with_state(self, require_own_host))
    }

    /// Returns whether a request comes from the page itself, or from no page. To a browser, all ports of a machine are
    /// one site: it sends the cookie also with requests of another listener's page.
    fn is_from_page(&self, headers: &HeaderMap) -> bool {
        headers.get_all(header::ORIGIN).iter().all(|origin| {
            let host = origin.to_str().ok().and_then(|origin| origin.strip_prefix("http://"));
            host.is_some_and(|host| self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)))
        })
    }

    fn has_session(&self, headers: &HeaderMap) -> bool {
        let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|value| value.split(';')).filter_map(|pair| pair.trim().split_once('='));
        pairs.any(|(name, value)| name == COOKIE && is_same(value, &self.secrets.session))
    }
}

fn random() -> Result<Zeroizing<String>, GuardError> {
    let mut bytes = Zeroizing::new([0; 32]);
    getrandom::fill(&mut *bytes).map_err(|_| GuardError)?;
    Ok(Zeroizing::new(Base64UrlUnpadded::encode_string(&*bytes)))
}

fn is_same(given: &str, secret: &str) -> bool {
    given.as_bytes().ct_eq(secret.as_bytes()).into()
}

const LINK_NEEDED: &str =
    "Only the owner may open this page. Open the link that `ameles serve` printed when it started.\n";

async fn enter(State(guard): State<Guard>, Query(link): Query<LinkQuery>, headers: HeaderMap) -> Response {
    if link.token.is_some_and(|token| is_same(&token, &guard.secrets.token)) {
        let session = guard.secrets.session.as_str();
        let cookie = format!("{COOKIE}={session}; HttpOnly; SameSite=Strict; Path=/");
        // The token must not stay in the address bar.
        return ([(header::SET_COOKIE, cookie)], Redirect::to("/page/")).into_response();
    }
    if guard.has_session(&headers) {
        return Redirect::to("/page/").into_response();
    }
    (StatusCode::UNAUTHORIZED, LINK_NEEDED).into_response()
}

async fn require_cookie(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    if !request.method().is_safe() && !guard.is_from_page(request.headers()) {
        let why =
            "The page accepts no changes from another origin. Open the link that `ameles serve` printed.\n";
        return (StatusCode::FORBIDDEN, why).into_response();
    }
    if guard.has_session(request.headers()) {
        return next.run(request).await;
    }
    (StatusCode::UNAUTHORIZED, LINK_NEEDED).into_response()
}

/// Refuses other host names: a foreign name that points at this machine must not open the page in the owner's browser.
async fn require_own_host(State(guard): State<Guard>, request: Request, next: Next) -> Response {
    let mut hosts = request.headers().get_all(header::HOST).iter();
    let host = hosts.next().and_then(|host| host.to_str().ok()).filter(|_| hosts.next().is_none());
    if host.is_some_and(|host| guard.hosts.iter().any(|own| own.eq_ignore_ascii_case(host))) {
        return next.run(request).await;
    }
    let why = "The page is not served under this name. Open the link that `ameles serve` printed.\n";
    (StatusCode::MISDIRECTED_REQUEST, why).into_response()
}
