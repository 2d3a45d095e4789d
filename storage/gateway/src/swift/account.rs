//! The verbs of accounts.

use super::answer::{PLAIN_TEXT, empty};
use super::dates::{iso, timestamp};
use super::listing::{self, Entry, Field, ListingForm, ListingRoot};
use super::metadata::{self, ResourceKind, put};
use super::refusal::{Outcome, Refusal};
use super::rights;
use super::target::PREFIX;
use super::{Swift, VerbContext, info};
use crate::auth::rights::Action;
use crate::catalogue::{AccountView, ContainerView};
use crate::objects::gateway::Gateway;
use axum::body::Body;
use http::header::{ACCEPT_RANGES, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};

impl Swift {
    pub(super) async fn on_account(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        let check = || self.check(context.claim, &context.target.account, None, Action::Own);
        match context.head.method {
            Method::GET => {
                context.verb.name("ListAccount");
                check()?;
                list(context)
            }
            Method::HEAD => {
                context.verb.name("HeadAccount");
                check()?;
                let mut answer = empty(StatusCode::NO_CONTENT);
                describe(answer.headers_mut(), context, &context.account.view());
                answer.headers_mut().insert(CONTENT_TYPE, PLAIN_TEXT);
                Ok(answer)
            }
            Method::POST => {
                context.verb.name("ChangeAccount");
                check()?;
                change(context).await
            }
            // Accounts are created with their users.
            Method::PUT | Method::DELETE => {
                check()?;
                Err(Refusal::forbidden(
                    "An account exists as long as it has users: this verb cannot create or delete one.",
                ))
            }
            _ => Err(Refusal::no_such_method()),
        }
    }
}

async fn change(context: &VerbContext<'_>) -> Outcome<Response<Body>> {
    let mut changes = metadata::changes(&context.head.headers, ResourceKind::Account)?;
    // Newer clients set quotas by headers of their own.
    for quota in rights::ACCOUNT_QUOTAS {
        if context.head.headers.contains_key(format!("x-remove-account-{quota}")) {
            changes.entry(quota.to_owned()).or_insert(None);
        }
        if let Some(value) = metadata::header(&context.head.headers, &format!("x-account-{quota}"))? {
            changes.insert(quota.to_owned(), (!value.is_empty()).then_some(value));
        }
    }
    rights::check_quotas(context.claim, &changes)?;
    for quota in rights::ACCOUNT_QUOTAS {
        if let Some(Some(value)) = changes.get(quota)
            && value.parse::<u64>().is_err()
        {
            return Err(Refusal::bad_request("A quota is a number."));
        }
    }
    context.account.update(move |settings| metadata::apply(&mut settings.metadata, changes)).await?;
    Ok(empty(StatusCode::NO_CONTENT))
}

fn list(context: &VerbContext<'_>) -> Outcome<Response<Body>> {
    let form = ListingForm::of(&context.head.query, &context.head.headers)?;
    let listing_query = listing::parse_query(&context.head.query)?;
    let page = context.account.containers(&listing_query.request);
    let items = page.entries.into_iter().map(|(name, view)| entry(name, &view)).collect();
    let entries = listing::merge(items, page.prefixes, listing_query.request.reverse);
    let name = format!("{PREFIX}{}", context.target.account);
    let root = ListingRoot { element: "account", item: "container", name: &name };
    let mut answer = listed(context.account.gateway(), form, listing::write(form, root, &entries))?;
    describe(answer.headers_mut(), context, &context.account.view());
    Ok(answer)
}

fn entry(name: String, view: &ContainerView) -> Entry {
    Entry::Item(vec![
        ("name", Field::Text(name)),
        ("count", Field::Number(view.totals.objects)),
        ("bytes", Field::Number(view.totals.bytes)),
        ("last_modified", Field::Text(iso(view.settings.created))),
    ])
}

/// Returns an answer with a listing; a plain one without entries has no body.
///
/// # Errors
/// 503 if too little memory is free for it.
pub(super) fn listed(gateway: &Gateway, form: ListingForm, text: String) -> Outcome<Response<Body>> {
    let mut answer = if text.is_empty() {
        empty(StatusCode::NO_CONTENT)
    } else {
        let share = gateway.inner.memory.take_bytes(text.len() as u64)?;
        Response::new(Body::from(share.holding(text)))
    };
    answer.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(form.content_type()));
    Ok(answer)
}

fn describe(headers: &mut HeaderMap, context: &VerbContext<'_>, view: &AccountView) {
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    let policy = info::POLICY.to_ascii_lowercase();
    for (name, number) in [
        ("container-count", view.containers),
        ("object-count", view.totals.objects),
        ("bytes-used", view.totals.bytes),
    ] {
        put(headers, &format!("x-account-{name}"), &number.to_string());
        put(headers, &format!("x-account-storage-policy-{policy}-{name}"), &number.to_string());
    }
    put(headers, "x-timestamp", &timestamp(view.settings.created));
    let settings = &view.settings.metadata;
    let owner = context.is_owner();
    metadata::show(headers, ResourceKind::Account, settings, |name| {
        name == "quota-count" || !owner && rights::is_private(name)
    });
    for quota in rights::ACCOUNT_QUOTAS {
        if let Some(value) = settings.get(quota) {
            put(headers, &format!("x-account-{quota}"), value);
        }
    }
}
