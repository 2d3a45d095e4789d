//! The live page: the requests of the applications next to the view of the provider.
//!
//! It shows what the vault hides, so it is for the owner only. The administrative listener serves it to a browser with
//! the token of this run. The token is first in a link, and then in a cookie that scripts cannot read. Requests with a
//! foreign `Host` are refused, so that a foreign name that points here opens nothing. The page loads nothing from
//! elsewhere, and may not be framed.

mod guard;
mod history;
mod messages;
mod request_counters;
mod row;

pub use guard::{Guard, GuardError};
pub use messages::{Costs, Demonstration, Figures, PageUpdate, PriceSource, StoreView};
pub use request_counters::{CountingDevice, RequestCells, RequestCounters};
pub use row::Row;

use axum::Router;
use axum::extract::State;
use axum::http::{HeaderName, StatusCode, header};
use axum::middleware::map_response;
use axum::response::sse::{Event, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use futures::stream::{self, Stream, StreamExt};
use history::History;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The interval between updates.
const INTERVAL: Duration = Duration::from_millis(500);

/// The data sources of the page, and its switch.
#[derive(Clone)]
pub struct Page {
    /// Reads the counters.
    pub read: Arc<dyn Fn() -> PageUpdate + Send + Sync>,
    /// Switches the ORAM of a demonstration vault off or on; other vaults have no such switch.
    pub set_oblivious: Option<Arc<dyn Fn(bool) + Send + Sync>>,
    /// Ends the streams of open pages, which nothing else does.
    pub ended: CancellationToken,
}

impl std::fmt::Debug for Page {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Page(..)")
    }
}

impl Page {
    fn update_json(&self) -> String {
        serde_json::to_string(&(self.read)()).unwrap_or_default()
    }
}

/// A page, and the updates from before it was opened.
#[derive(Clone)]
struct PageState {
    page: Page,
    history: Arc<History>,
}

/// Returns the routes of the page, all behind the guard. From now on until the page's end, the updates of the last
/// minute are kept.
///
/// # Panics
/// Outside of a runtime.
pub fn router(page: Page, guard: Guard) -> Router {
    let asset =
        |kind: &'static str, text: &'static str| get(async move || ([(header::CONTENT_TYPE, kind)], text));
    let script = |text| asset("text/javascript; charset=utf-8", text);
    let routes = Router::new()
        .route("/page/", asset("text/html; charset=utf-8", include_str!("assets/index.html")))
        .route("/page/page.css", asset("text/css; charset=utf-8", include_str!("assets/page.css")))
        .route("/page/page.js", script(include_str!("assets/page.js")))
        .route("/page/heat.js", script(include_str!("assets/heat.js")))
        .route("/page/expected.js", script(include_str!("assets/expected.js")))
        .route("/page/tree.js", script(include_str!("assets/tree.js")))
        .route("/page/paint.js", script(include_str!("assets/paint.js")))
        .route("/page/units.js", script(include_str!("assets/units.js")))
        .route("/page/stream", get(stream))
        .route("/page/oblivious", post(set_oblivious))
        .with_state(PageState { history: record_history(page.clone()), page });
    guard.protect(routes).layer(map_response(add_security_headers))
}

/// The rights of the page in a browser: it loads only its own files.
const SECURITY_HEADERS: [(HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

async fn add_security_headers(mut response: Response) -> Response {
    for (name, value) in SECURITY_HEADERS {
        response.headers_mut().insert(name, header::HeaderValue::from_static(value));
    }
    response
}

/// Records the updates of the last minute.
fn record_history(page: Page) -> Arc<History> {
    let history = Arc::new(History::default());
    let kept = Arc::clone(&history);
    tokio::spawn(async move {
        let mut ticks = tokio::time::interval(INTERVAL);
        while page.ended.run_until_cancelled(ticks.tick()).await.is_some() {
            kept.push(page.update_json());
        }
    });
    history
}

async fn stream(State(served): State<PageState>) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let PageState { page, history } = served;
    let ended = page.ended.clone().cancelled_owned();
    let before = stream::once(async move { Ok(Event::default().event("history").data(history.all())) });
    let ticks = stream::unfold(tokio::time::interval(INTERVAL), |mut interval| async {
        interval.tick().await;
        Some(((), interval))
    });
    let events = ticks.map(move |()| Ok(Event::default().data(page.update_json())));
    Sse::new(before.chain(events).take_until(ended))
}

async fn set_oblivious(State(served): State<PageState>, body: String) -> Response {
    match (served.page.set_oblivious, body.parse::<bool>()) {
        (None, _) => {
            let why = "Only a demonstration vault can do without its ORAM: `ameles serve --demonstration`.\n";
            (StatusCode::CONFLICT, why).into_response()
        }
        (Some(_), Err(_)) => (StatusCode::BAD_REQUEST, "Send true or false.\n").into_response(),
        (Some(set), Ok(oblivious)) => {
            set(oblivious);
            StatusCode::NO_CONTENT.into_response()
        }
    }
}
