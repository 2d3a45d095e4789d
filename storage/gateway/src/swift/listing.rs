//! Listings: the parameters of a request, and the three forms of the answer.

use super::query::Query;
use super::refusal::{Outcome, Refusal};
use crate::objects::listing::ListRequest;
use http::header::ACCEPT;
use http::{HeaderMap, StatusCode};
use quick_xml::escape::escape;
use serde_json::{Map, Value};

/// The largest number of entries of a page.
pub(super) const MAX_ENTRIES: usize = 10_000;

/// The form of a listing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListingForm {
    Plain,
    Json,
    Xml,
}

impl ListingForm {
    /// Returns the form in a parameter, or else in the `Accept` header.
    ///
    /// # Errors
    /// 406 if none of the three is accepted.
    pub(super) fn of(query: &Query, headers: &HeaderMap) -> Outcome<ListingForm> {
        match query.get("format") {
            Some("json") => return Ok(ListingForm::Json),
            Some("xml") => return Ok(ListingForm::Xml),
            Some(_) => return Ok(ListingForm::Plain),
            None => {}
        }
        let accept = headers.get(ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
        // The first known type is used; clients of Swift do not need the others.
        let kinds: Vec<&str> =
            accept.split(',').filter_map(|item| item.split(';').next()).map(str::trim).collect();
        for kind in &kinds {
            match *kind {
                "text/plain" | "text/*" | "*/*" | "" => return Ok(ListingForm::Plain),
                "application/json" | "application/*" => return Ok(ListingForm::Json),
                "application/xml" | "text/xml" => return Ok(ListingForm::Xml),
                _ => {}
            }
        }
        Err(Refusal::new(
            StatusCode::NOT_ACCEPTABLE,
            "A listing is text/plain, application/json or application/xml.",
        ))
    }

    pub(super) fn content_type(self) -> &'static str {
        match self {
            ListingForm::Plain => "text/plain; charset=utf-8",
            ListingForm::Json => "application/json; charset=utf-8",
            ListingForm::Xml => "application/xml; charset=utf-8",
        }
    }
}

/// The parameters of a listing.
#[derive(Clone, Debug)]
pub(super) struct ListingQuery {
    pub(super) request: ListRequest,
    /// The value of `path`. With it, the answer omits groups and the path itself.
    pub(super) path: Option<String>,
}

/// Parses the parameters of a listing.
///
/// # Errors
/// 412 for a limit that is malformed or too large.
pub(super) fn parse_query(query: &Query) -> Outcome<ListingQuery> {
    let limit = match query.get("limit").filter(|limit| !limit.is_empty()) {
        None => MAX_ENTRIES,
        Some(limit) => limit.parse().ok().filter(|limit| *limit <= MAX_ENTRIES).ok_or_else(|| {
            Refusal::precondition_failed(format!("Maximum limit is {MAX_ENTRIES}, and a limit is a number"))
        })?,
    };
    let text = |name: &str| query.get(name).unwrap_or_default().to_owned();
    let mut request = ListRequest {
        prefix: text("prefix"),
        delimiter: text("delimiter"),
        after: text("marker"),
        until: text("end_marker"),
        reverse: query.is_true("reverse"),
        limit,
    };
    let path = query.get("path").map(|path| match path.trim_end_matches('/') {
        "" => String::new(),
        path => format!("{path}/"),
    });
    if let Some(path) = &path {
        request.prefix.clone_from(path);
        request.delimiter = "/".into();
    }
    Ok(ListingQuery { request, path })
}

/// A line of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Entry {
    /// An object or a container, with its fields by name, `name` among them.
    Item(Vec<(&'static str, Field)>),
    /// A group of names.
    Group(String),
}

/// A field of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Field {
    Text(String),
    Number(u64),
}

impl Entry {
    pub(super) fn name(&self) -> &str {
        match self {
            Entry::Group(name) => name,
            Entry::Item(fields) => fields
                .iter()
                .find_map(|(name, fact)| match fact {
                    Field::Text(text) if *name == "name" => Some(text.as_str()),
                    _ => None,
                })
                .unwrap_or_default(),
        }
    }
}

/// The root element of an XML listing.
#[derive(Clone, Copy, Debug)]
pub(super) struct ListingRoot<'a> {
    /// `account` or `container`.
    pub(super) element: &'static str,
    /// The element of an entry.
    pub(super) item: &'static str,
    pub(super) name: &'a str,
}

/// Writes a listing of ordered entries.
pub(super) fn write(form: ListingForm, root: ListingRoot<'_>, entries: &[Entry]) -> String {
    match form {
        ListingForm::Plain => entries.iter().map(|entry| format!("{}\n", entry.name())).collect(),
        ListingForm::Json => Value::Array(entries.iter().map(json).collect()).to_string(),
        ListingForm::Xml => xml(root, entries),
    }
}

fn json(entry: &Entry) -> Value {
    let value = |fact: &Field| match fact {
        Field::Text(text) => Value::from(text.as_str()),
        Field::Number(number) => Value::from(*number),
    };
    let fields: Map<String, Value> = match entry {
        Entry::Group(name) => [("subdir".to_owned(), Value::from(name.as_str()))].into_iter().collect(),
        Entry::Item(fields) => fields.iter().map(|(name, fact)| ((*name).to_owned(), value(fact))).collect(),
    };
    Value::Object(fields)
}

fn xml(root: ListingRoot<'_>, entries: &[Entry]) -> String {
    let ListingRoot { element, item, name } = root;
    let mut text =
        format!("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<{element} name=\"{}\">", escape(name));
    for entry in entries {
        match entry {
            Entry::Group(name) => {
                let name = escape(name.as_str());
                text += &format!("<subdir name=\"{name}\"><name>{name}</name></subdir>");
            }
            Entry::Item(fields) => {
                text += &format!("<{item}>");
                for (name, fact) in fields {
                    let value = match fact {
                        Field::Text(text) => escape(text.as_str()).into_owned(),
                        Field::Number(number) => number.to_string(),
                    };
                    text += &format!("<{name}>{value}</{name}>");
                }
                text += &format!("</{item}>");
            }
        }
    }
    text + &format!("</{element}>")
}

/// Merges entries and groups of a page into one order.
pub(super) fn merge(mut items: Vec<Entry>, groups: Vec<String>, reverse: bool) -> Vec<Entry> {
    items.extend(groups.into_iter().map(Entry::Group));
    items.sort_by(|one, other| one.name().cmp(other.name()));
    if reverse {
        items.reverse();
    }
    items
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    fn item(name: &str, bytes: u64) -> Entry {
        Entry::Item(vec![("name", Field::Text(name.into())), ("bytes", Field::Number(bytes))])
    }

    fn query(text: &str) -> Query {
        Query::parse(Some(text)).unwrap()
    }

    #[test]
    fn the_three_forms_say_the_same() {
        let entries = [item("a&b", 5), Entry::Group("c/<\"".into())];
        let root = ListingRoot { element: "container", item: "object", name: "x'y" };
        assert_eq!(write(ListingForm::Plain, root, &entries), "a&b\nc/<\"\n");
        assert_eq!(
            write(ListingForm::Json, root, &entries),
            r#"[{"bytes":5,"name":"a&b"},{"subdir":"c/<\""}]"#
        );
        assert_eq!(
            write(ListingForm::Xml, root, &entries),
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<container name=\"x&apos;y\"><object><name>a&amp;b</name>\
             <bytes>5</bytes></object><subdir name=\"c/&lt;&quot;\"><name>c/&lt;&quot;</name></subdir></container>"
        );
        assert_eq!(write(ListingForm::Json, root, &[]), "[]");
    }

    #[test]
    fn the_form_is_asked_for_by_parameter_or_header() {
        let form = |text: &str, accept: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(ACCEPT, HeaderValue::try_from(accept).unwrap());
            ListingForm::of(&query(text), &headers).ok()
        };
        assert_eq!(form("format=json", "application/xml"), Some(ListingForm::Json));
        assert_eq!(form("", "application/xml;q=0.9, text/plain"), Some(ListingForm::Xml));
        assert_eq!(form("", "application/json"), Some(ListingForm::Json));
        assert_eq!(form("", "image/png, */*"), Some(ListingForm::Plain));
        assert_eq!(form("", "image/png"), None);
        assert_eq!(ListingForm::of(&query(""), &HeaderMap::new()).ok(), Some(ListingForm::Plain));
    }

    #[test]
    fn a_limit_is_at_most_ten_thousand() {
        assert_eq!(parse_query(&query("limit=10000")).unwrap().request.limit, 10_000);
        assert_eq!(parse_query(&query("")).unwrap().request.limit, 10_000);
        for bad in ["limit=10001", "limit=x", "limit=-1"] {
            assert_eq!(
                parse_query(&query(bad)).unwrap_err().status(),
                StatusCode::PRECONDITION_FAILED,
                "{bad}"
            );
        }
    }

    #[test]
    fn a_path_is_a_prefix_up_to_the_next_slash() {
        let listing_query = parse_query(&query("path=a/b/&prefix=x&delimiter=y")).unwrap();
        assert_eq!(
            (listing_query.request.prefix.as_str(), listing_query.request.delimiter.as_str()),
            ("a/b/", "/")
        );
        assert_eq!(listing_query.path.as_deref(), Some("a/b/"));
        assert_eq!(parse_query(&query("path=")).unwrap().path.as_deref(), Some(""));
    }

    #[test]
    fn groups_stand_between_items() {
        let merged = merge(vec![item("a", 1), item("c", 1)], vec!["b/".into()], false);
        assert_eq!(merged.iter().map(Entry::name).collect::<Vec<_>>(), ["a", "b/", "c"]);
        let merged = merge(vec![item("c", 1), item("a", 1)], vec!["b/".into()], true);
        assert_eq!(merged.iter().map(Entry::name).collect::<Vec<_>>(), ["c", "b/", "a"]);
    }
}
