//! The routing of a request to its verb, by path and method.

use super::answer::{empty, text, with_json};
use super::auth::{discovery, v1, v2, v3};
use super::full_body::whole;
use super::refusal::{Outcome, Refusal};
use super::request_head::RequestHead;
use super::target::Target;
use super::{Swift, bulk, info};
use crate::http::protocol::Verb;
use axum::body::Body;
use http::{HeaderValue, Method, Response, StatusCode};
use serde_json::json;

/// The largest number of bytes of a login.
const MAX_LOGIN_BYTES: usize = 64 << 10;

impl Swift {
    /// Serves a request, and sets its verb for the log.
    pub(super) async fn route(&self, head: &RequestHead, body: Body, verb: &Verb) -> Outcome<Response<Body>> {
        let path = head.path.trim_end_matches('/');
        let is_read = matches!(head.method, Method::GET | Method::HEAD);
        match path {
            "/info" if is_read => {
                verb.name("Info");
                Ok(with_json(StatusCode::OK, &self.info()))
            }
            "/healthcheck" if is_read => {
                verb.name("HealthCheck");
                Ok(text("text/plain", "OK"))
            }
            "/crossdomain.xml" if is_read => {
                verb.name("CrossDomain");
                Ok(text("application/xml", info::CROSS_DOMAIN))
            }
            "/auth/v1.0" | "/auth/v1" | "/v1.0" | "/auth" if is_read => {
                verb.name("LogInV1");
                v1::log_in(self, head).await
            }
            "" if is_read => {
                verb.name("Versions");
                let versions =
                    json!({"versions": {"values": [discovery::v3(&head.base), discovery::v2(&head.base)]}});
                Ok(with_json(StatusCode::MULTIPLE_CHOICES, &versions))
            }
            "/v2.0" if is_read => {
                verb.name("Versions");
                Ok(with_json(StatusCode::OK, &json!({"version": discovery::v2(&head.base)})))
            }
            "/v3" if is_read => {
                verb.name("Versions");
                Ok(with_json(StatusCode::OK, &json!({"version": discovery::v3(&head.base)})))
            }
            "/v2.0/tokens" if head.method == Method::POST => {
                verb.name("LogInV2");
                let body = whole(body, MAX_LOGIN_BYTES).await?;
                Ok(with_json(StatusCode::OK, &v2::log_in(self, head, &body).await?))
            }
            "/v3/auth/tokens" => self.route_v3(head, body, verb).await,
            _ => self.route_storage(head, body, verb).await,
        }
    }

    async fn route_v3(&self, head: &RequestHead, body: Body, verb: &Verb) -> Outcome<Response<Body>> {
        match head.method {
            Method::POST => {
                verb.name("LogInV3");
                let body = whole(body, MAX_LOGIN_BYTES).await?;
                let (token, described) = v3::log_in(self, head, &body).await?;
                let mut answer = with_json(StatusCode::CREATED, &described);
                if let Ok(mut value) = HeaderValue::try_from(token.as_str()) {
                    value.set_sensitive(true);
                    answer.headers_mut().insert("x-subject-token", value);
                }
                answer.headers_mut().insert("vary", HeaderValue::from_static("X-Auth-Token"));
                Ok(answer)
            }
            Method::GET | Method::HEAD => {
                verb.name("ShowToken");
                let mut answer = with_json(StatusCode::OK, &v3::show(self, head)?);
                if let Some(subject) = head.headers.get("x-subject-token") {
                    answer.headers_mut().insert("x-subject-token", subject.clone());
                }
                Ok(answer)
            }
            Method::DELETE => {
                verb.name("RevokeToken");
                v3::revoke(self, head)?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    async fn route_storage(&self, head: &RequestHead, body: Body, verb: &Verb) -> Outcome<Response<Body>> {
        let Some(target) = Target::read(&head.path) else {
            // A storage path only shows that its caller must log in first.
            return Err(if head.path.starts_with("/v1/") && head.token().is_none() {
                Refusal::unauthorized("This server could not verify that you are authorized.")
            } else {
                Refusal::not_found()
            });
        };
        if head.method == Method::OPTIONS {
            verb.name("Preflight");
            return self.preflight(head, &target);
        }
        let claim = self.claim(head, &target)?;
        // A malformed name belongs to no account.
        let account = self.account_of(&target).ok_or_else(|| claim.refusal())?;
        let context = super::VerbContext { head, account: &account, target: &target, claim: &claim, verb };
        if target.container.is_none()
            && head.query.has("bulk-delete")
            && matches!(head.method, Method::DELETE | Method::POST)
        {
            verb.name("BulkDelete");
            return bulk::delete(self, &context, body).await;
        }
        if head.query.has("extract-archive") && head.method == Method::PUT {
            verb.name("ExtractArchive");
            return bulk::extract(self, &context, body).await;
        }
        match (&target.container, &target.object) {
            (None, _) => self.on_account(&context).await,
            (Some(_), None) => self.on_container(&context, body).await,
            (Some(_), Some(_)) => self.on_object(&context, body).await,
        }
    }
}
