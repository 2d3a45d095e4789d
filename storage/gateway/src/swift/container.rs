//! The verbs of containers.

use super::account::listed;
use super::answer::{PLAIN_TEXT, empty};
use super::dates::{http_date, iso, timestamp};
use super::listing::{self, Entry, Field, ListingForm, ListingRoot};
use super::metadata::{self, ResourceKind, put};
use super::refusal::{Outcome, Refusal};
use super::rights;
use super::target::{Target, decode};
use super::{Swift, VerbContext, form_post, info};
use crate::auth::rights::Action;
use crate::auth::rights::{Acl, AclUse};
use crate::catalogue::{Archive, ContainerSettings, ContainerView, Manifest, Object, OnDelete};
use crate::error::Error;
use axum::body::Body;
use http::header::{ACCEPT_RANGES, CONTENT_TYPE, LAST_MODIFIED};
use http::{HeaderMap, HeaderValue, Method, Response, StatusCode};
use std::sync::Arc;

impl Swift {
    pub(super) async fn on_container(
        &self,
        context: &VerbContext<'_>,
        body: Body,
    ) -> Outcome<Response<Body>> {
        let check = |name, right| {
            context.verb.name(name);
            self.check(context.claim, &context.target.account, Some(context.container()), right)
        };
        match context.head.method {
            Method::GET => {
                check("ListContainer", Action::List)?;
                self.list(context)
            }
            Method::HEAD => {
                check("HeadContainer", Action::List)?;
                let view = context.account.container(context.container())?;
                let mut answer = empty(StatusCode::NO_CONTENT);
                describe(answer.headers_mut(), context, &view);
                answer.headers_mut().insert(CONTENT_TYPE, PLAIN_TEXT);
                Ok(answer)
            }
            Method::PUT => {
                check("PutContainer", Action::Own)?;
                make(context).await
            }
            Method::POST if form_post::is_form(&context.head.headers) => self.form_post(context, body).await,
            Method::POST => {
                check("ChangeContainer", Action::Own)?;
                let changes = SettingsChanges::read(&context.head.headers, context.target)?;
                context
                    .account
                    .update_container(context.container(), move |settings| changes.apply(settings))
                    .await?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            Method::DELETE => {
                check("DeleteContainer", Action::Own)?;
                context.account.delete_container(context.container()).await?;
                Ok(empty(StatusCode::NO_CONTENT))
            }
            _ => Err(Refusal::no_such_method()),
        }
    }

    fn list(&self, context: &VerbContext<'_>) -> Outcome<Response<Body>> {
        let view = context.account.container(context.container())?;
        let form = ListingForm::of(&context.head.query, &context.head.headers)?;
        let listing_query = listing::parse_query(&context.head.query)?;
        let page = context.account.list(context.container(), &listing_query.request)?;
        let items = page.entries.into_iter();
        let items = items.filter(|(name, _)| listing_query.path.as_ref() != Some(name));
        let items = items.map(|(name, object)| entry(name, &object)).collect();
        let groups = match &listing_query.path {
            // A name that ends with the slash is the folder itself; deeper names are omitted.
            Some(_) => return self.list_path(context, form, &listing_query, &view, items, page.prefixes),
            None => page.prefixes,
        };
        let entries = listing::merge(items, groups, listing_query.request.reverse);
        answer(context, form, &view, &entries)
    }

    fn list_path(
        &self,
        context: &VerbContext<'_>,
        form: ListingForm,
        listing_query: &listing::ListingQuery,
        view: &ContainerView,
        mut items: Vec<Entry>,
        groups: Vec<String>,
    ) -> Outcome<Response<Body>> {
        for group in groups {
            match context.account.object(context.container(), &group) {
                Ok(object) => items.push(entry(group, &object)),
                Err(Error::NoSuchKey) => {}
                Err(error) => return Err(error.into()),
            }
        }
        answer(context, form, view, &listing::merge(items, Vec::new(), listing_query.request.reverse))
    }
}

fn answer(
    context: &VerbContext<'_>,
    form: ListingForm,
    view: &ContainerView,
    entries: &[Entry],
) -> Outcome<Response<Body>> {
    let root = ListingRoot { element: "container", item: "object", name: context.container() };
    let mut answer = listed(context.account.gateway(), form, listing::write(form, root, entries))?;
    describe(answer.headers_mut(), context, view);
    Ok(answer)
}

async fn make(context: &VerbContext<'_>) -> Outcome<Response<Body>> {
    context.target.check_lengths()?;
    if let Some(policy) = context.head.header("x-storage-policy")
        && !policy.eq_ignore_ascii_case(info::POLICY)
    {
        return Err(Refusal::bad_request("There is one storage policy: see /info."));
    }
    let changes = SettingsChanges::read(&context.head.headers, context.target)?;
    let mut settings = ContainerSettings::default();
    changes.clone().apply(&mut settings)?;
    match context.account.create_container(context.container(), settings).await {
        Ok(()) => Ok(empty(StatusCode::CREATED)),
        Err(Error::ContainerExists) => {
            context
                .account
                .update_container(context.container(), move |settings| changes.apply(settings))
                .await?;
            Ok(empty(StatusCode::ACCEPTED))
        }
        Err(error) => Err(error.into()),
    }
}

/// The changes of a container's settings in the headers of a request.
#[derive(Clone)]
struct SettingsChanges {
    metadata: metadata::MetadataChanges,
    read_acl: Option<String>,
    write_acl: Option<String>,
    archive: Option<Option<Archive>>,
}

impl SettingsChanges {
    fn read(headers: &HeaderMap, target: &Target) -> Outcome<SettingsChanges> {
        let metadata = metadata::changes(headers, ResourceKind::Container)?;
        for quota in ["quota-bytes", "quota-count"] {
            if let Some(Some(value)) = metadata.get(quota)
                && value.parse::<u64>().is_err()
            {
                return Err(Refusal::bad_request("A quota is a number."));
            }
        }
        Ok(SettingsChanges {
            metadata,
            read_acl: acl(headers, "x-container-read", "x-remove-container-read", AclUse::Reading)?,
            write_acl: acl(headers, "x-container-write", "x-remove-container-write", AclUse::Writing)?,
            archive: archive(headers, target)?,
        })
    }

    fn apply(self, settings: &mut ContainerSettings) -> Result<(), Error> {
        metadata::apply(&mut settings.metadata, self.metadata)?;
        if let Some(acl) = self.read_acl {
            settings.read_acl = acl;
        }
        if let Some(acl) = self.write_acl {
            settings.write_acl = acl;
        }
        if let Some(archive) = self.archive {
            if archive.is_some() && settings.versioning.is_some() {
                return Err(Error::OtherVersions);
            }
            settings.archive = archive;
        }
        Ok(())
    }
}

fn acl(headers: &HeaderMap, set: &str, remove: &str, purpose: AclUse) -> Outcome<Option<String>> {
    match metadata::header(headers, set)? {
        Some(text) => match Acl::parse(&text, purpose) {
            Ok(acl) => Ok(Some(acl.to_string())),
            Err(error) => Err(Refusal::bad_request(error.to_string())),
        },
        None => Ok(headers.contains_key(remove).then(String::new)),
    }
}

fn archive(headers: &HeaderMap, target: &Target) -> Outcome<Option<Option<Archive>>> {
    let value_of = |name: &str| -> Outcome<Option<String>> {
        match metadata::header(headers, name)? {
            Some(text) => Ok(Some(decode(text.trim())?)),
            None => Ok(None),
        }
    };
    let removed = ["x-remove-versions-location", "x-remove-history-location"];
    let (container, on_delete) = match (value_of("x-versions-location")?, value_of("x-history-location")?) {
        (Some(_), Some(_)) => {
            return Err(Refusal::bad_request(
                "Only one of X-Versions-Location and X-History-Location can be set.",
            ));
        }
        (Some(container), None) => (container, OnDelete::Restore),
        (None, Some(container)) => (container, OnDelete::Keep),
        (None, None) => return Ok(removed.iter().any(|name| headers.contains_key(*name)).then_some(None)),
    };
    if container.is_empty() {
        return Ok(Some(None));
    }
    if container.contains('/') || Some(&container) == target.container.as_ref() {
        return Err(Refusal::bad_request(
            "Old versions go to another container of the same account, named without a slash.",
        ));
    }
    Ok(Some(Some(Archive { container, on_delete })))
}

fn entry(name: String, object: &Arc<Object>) -> Entry {
    let bytes = match &object.details.manifest {
        Some(Manifest::Static { bytes, .. }) => *bytes,
        _ => object.bytes(),
    };
    let mut fields = vec![
        ("name", Field::Text(name)),
        ("hash", Field::Text(object.etag.clone())),
        ("bytes", Field::Number(bytes)),
        ("content_type", Field::Text(super::describe::content_type(object).to_owned())),
        ("last_modified", Field::Text(iso(object.modified))),
    ];
    if let Some(Manifest::Static { etag, .. }) = &object.details.manifest {
        fields.push(("slo_etag", Field::Text(format!("\"{etag}\""))));
    }
    Entry::Item(fields)
}

fn describe(headers: &mut HeaderMap, context: &VerbContext<'_>, view: &ContainerView) {
    let ContainerView { settings, totals } = view;
    headers.insert(ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    put(headers, "x-container-object-count", &totals.objects.to_string());
    put(headers, "x-container-bytes-used", &totals.bytes.to_string());
    put(headers, "x-timestamp", &timestamp(settings.created));
    put(headers, LAST_MODIFIED.as_str(), &http_date(settings.created));
    put(headers, "x-storage-policy", info::POLICY);
    if let Some(archive) = &settings.archive {
        let name = match archive.on_delete {
            OnDelete::Restore => "x-versions-location",
            OnDelete::Keep => "x-history-location",
        };
        put(headers, name, &archive.container);
    }
    let owner = context.is_owner();
    if owner {
        for (name, acl) in
            [("x-container-read", &settings.read_acl), ("x-container-write", &settings.write_acl)]
        {
            if !acl.is_empty() {
                put(headers, name, acl);
            }
        }
    }
    metadata::show(headers, ResourceKind::Container, &settings.metadata, |name| {
        !owner && rights::is_private(name)
    });
}
