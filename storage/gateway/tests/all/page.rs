//! The live page over loopback: who may open it, and the updates that it gets.

use ameles_gateway::page::{
    Costs, Demonstration, Figures, Guard, Page, PageUpdate, PriceSource, RequestCounters, StoreView, router,
};
use axum::Router;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::sync::CancellationToken;

struct TestPage {
    address: SocketAddr,
    link: String,
    oblivious: Arc<AtomicBool>,
    ended: CancellationToken,
}

async fn serve(demonstration: bool) -> TestPage {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let (counters, oblivious) = (RequestCounters::new(64), Arc::new(AtomicBool::new(true)));
    let (shown, switched) = (Arc::clone(&oblivious), Arc::clone(&oblivious));
    let read = move || PageUpdate {
        time: 5,
        requests: counters.cells(),
        store: StoreView::default(),
        figures: Figures { accesses: 42, ..Figures::default() },
        baseline: Costs::default(),
        stated_per_byte: 2.5,
        recovery: vec![("recovery point".into(), "nothing would be lost".into())],
        prices: PriceSource::default(),
        demonstration: demonstration
            .then(|| Demonstration { oblivious: shown.load(Ordering::Relaxed), turned: 7 }),
        warnings: vec!["the store is full".into()],
    };
    let set: Arc<dyn Fn(bool) + Send + Sync> = Arc::new(move |on| switched.store(on, Ordering::Relaxed));
    let ended = CancellationToken::new();
    let page =
        Page { read: Arc::new(read), set_oblivious: demonstration.then_some(set), ended: ended.clone() };
    let guard = Guard::generate(address).expect("generated");
    let link = guard.link(address).strip_prefix(&format!("http://{address}")).expect("its own").to_owned();
    let routes: Router = router(page, guard);
    tokio::spawn(async move { axum::serve(listener, routes).await });
    TestPage { address, link, oblivious, ended }
}

impl TestPage {
    /// Sends a request; returns the whole answer, head and body.
    async fn ask(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("connected");
        let own = self.address.to_string();
        let mut request =
            format!("{method} {path} HTTP/1.1\r\nconnection: close\r\ncontent-length: {}\r\n", body.len());
        if !headers.iter().any(|(name, _)| *name == "host") {
            request += &format!("host: {own}\r\n");
        }
        for (name, value) in headers {
            request += &format!("{name}: {value}\r\n");
        }
        stream.write_all(format!("{request}\r\n{body}").as_bytes()).await.expect("sent");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("an answer");
        answer
    }

    async fn get(&self, path: &str, headers: &[(&str, &str)]) -> String {
        self.ask("GET", path, headers, "").await
    }

    /// Opens the link as the owner does, and keeps the cookie.
    async fn enter(&self) -> String {
        let answer = self.get(&self.link, &[]).await;
        assert!(answer.starts_with("HTTP/1.1 303"), "{answer}");
        let set = answer.lines().find_map(|line| line.strip_prefix("set-cookie: ")).expect("a cookie");
        assert!(set.contains("HttpOnly") && set.contains("SameSite=Strict"), "{set}");
        set.split(';').next().expect("a pair").to_owned()
    }
}

const PATHS: [&str; 4] = ["/page/", "/page/page.js", "/page/stream", "/page/page.css"];

#[tokio::test]
async fn nothing_is_shown_without_the_cookie() {
    let page = serve(false).await;
    let session = page.enter().await;
    let token = page.link.split_once('=').expect("a token").1;
    let foreign =
        [String::new(), "ameles-page=".into(), format!("ameles-page={token}"), format!("{session}x")];
    for cookie in &foreign {
        for path in PATHS {
            let answer = page.get(path, &[("cookie", cookie)]).await;
            assert!(answer.starts_with("HTTP/1.1 401"), "{path} with {cookie:?}: {answer}");
        }
        let switch = page.ask("POST", "/page/oblivious", &[("cookie", cookie)], "false").await;
        assert!(switch.starts_with("HTTP/1.1 401"), "{switch}");
    }
    for link in ["/", "/?token=", "/?token=AAAA", &format!("{}x", page.link)] {
        assert!(page.get(link, &[]).await.starts_with("HTTP/1.1 401"), "{link}");
    }
}

#[tokio::test]
async fn the_link_gives_a_cookie_that_opens_the_page() {
    let page = serve(false).await;
    let cookie = page.enter().await;
    assert!(!cookie.contains(page.link.split_once('=').expect("a token").1), "the cookie is the token");
    let page = page.get("/page/", &[("cookie", &format!("other=1; {cookie}"))]).await;
    assert!(page.starts_with("HTTP/1.1 200") && page.contains("What the provider saw"), "{page}");
    for expected in
        ["content-security-policy: default-src 'none'", "x-frame-options: DENY", "cache-control: no-store"]
    {
        assert!(page.contains(expected), "{page}");
    }
    assert!(!page.contains("http://") && !page.contains("https://"), "something is loaded from elsewhere");
}

#[tokio::test]
async fn a_name_that_is_not_the_listeners_opens_nothing() {
    let page = serve(false).await;
    let cookie = page.enter().await;
    let port = page.address.port();
    for host in ["evil.example", &format!("evil.example:{port}"), "127.0.0.1", "127.0.0.1:1", ""] {
        for path in ["/page/", page.link.as_str()] {
            let answer = page.get(path, &[("host", host), ("cookie", &cookie)]).await;
            assert!(answer.starts_with("HTTP/1.1 421"), "{path} as {host:?}: {answer}");
        }
    }
    let local = page.get("/page/", &[("host", &format!("localhost:{port}")), ("cookie", &cookie)]).await;
    assert!(local.starts_with("HTTP/1.1 200"), "{local}");
}

#[tokio::test]
async fn the_stream_sends_the_counters_until_the_server_ends() {
    let page = serve(true).await;
    let cookie = page.enter().await;
    let mut stream = TcpStream::connect(page.address).await.expect("connected");
    let request = format!("GET /page/stream HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", page.address);
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut returned = String::new();
    // The history and two updates: the first of them is complete.
    while returned.matches("data: ").count() < 3 {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.expect("more");
        assert!(count > 0, "the stream ended early: {returned}");
        returned += &String::from_utf8_lossy(&piece[..count]);
    }
    assert!(
        returned.contains(r#""accesses":42"#)
            && returned.contains(r#""warnings":["the store is full"]"#)
            && returned.contains(r#""demonstration":{"oblivious":true,"turned":7}"#),
        "{returned}"
    );
    page.ended.cancel();
    let mut rest = Vec::new();
    // Returns only once the answer has ended.
    while !rest.ends_with(b"0\r\n\r\n") {
        let mut piece = [0; 4096];
        let count = stream.read(&mut piece).await.expect("the end");
        assert!(count > 0, "cut off");
        rest.extend_from_slice(&piece[..count]);
    }
}

#[tokio::test]
async fn the_page_gets_the_history_first() {
    let page = serve(false).await;
    let cookie = page.enter().await;
    loop {
        let mut stream = TcpStream::connect(page.address).await.expect("connected");
        let request =
            format!("GET /page/stream HTTP/1.1\r\nhost: {}\r\ncookie: {cookie}\r\n\r\n", page.address);
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut returned = String::new();
        // The history, and then an update.
        while returned.matches("data: ").count() < 2 {
            let mut piece = [0; 4096];
            let count = stream.read(&mut piece).await.expect("more");
            returned += &String::from_utf8_lossy(&piece[..count]);
        }
        let (before, now) = (
            returned.find("event: history").expect("a history"),
            returned.rfind("data: ").expect("an event"),
        );
        if returned[before..now].matches(r#""accesses":42"#).count() >= 3 {
            return;
        }
    }
}

#[tokio::test]
async fn only_a_demonstration_vault_has_a_switch() {
    let plain_vault = serve(false).await;
    let cookie = plain_vault.enter().await;
    let refused = plain_vault.ask("POST", "/page/oblivious", &[("cookie", &cookie)], "false").await;
    assert!(refused.starts_with("HTTP/1.1 409") && refused.contains("--demonstration"), "{refused}");

    let demonstration = serve(true).await;
    let cookie = demonstration.enter().await;
    let malformed = demonstration.ask("POST", "/page/oblivious", &[("cookie", &cookie)], "perhaps").await;
    assert!(malformed.starts_with("HTTP/1.1 400"), "{malformed}");
    let done = demonstration.ask("POST", "/page/oblivious", &[("cookie", &cookie)], "false").await;
    assert!(done.starts_with("HTTP/1.1 204"), "{done}");
    assert!(!demonstration.oblivious.load(Ordering::Relaxed));
}

#[tokio::test]
async fn a_page_of_another_port_turns_no_switch() {
    let demonstration = serve(true).await;
    let cookie = demonstration.enter().await;
    let own = format!("http://{}", demonstration.address);
    for origin in ["http://127.0.0.1:1", "http://localhost", "null", "https://example.org"] {
        let headers = [("cookie", cookie.as_str()), ("origin", origin)];
        let refused = demonstration.ask("POST", "/page/oblivious", &headers, "false").await;
        assert!(refused.starts_with("HTTP/1.1 403"), "{origin}: {refused}");
    }
    assert!(demonstration.oblivious.load(Ordering::Relaxed));
    let headers = [("cookie", cookie.as_str()), ("origin", own.as_str())];
    let done = demonstration.ask("POST", "/page/oblivious", &headers, "false").await;
    assert!(done.starts_with("HTTP/1.1 204"), "{done}");
}
