//! The administrative listener over loopback.

use crate::raw::{Answer, ask};
use ameles_gateway::http::admin::{Figure, FigureKind, router, serve};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::net::TcpListener;

async fn get(address: SocketAddr, path: &str) -> Answer {
    ask(address, "GET", path, &[("host", "admin")], b"").await
}

#[tokio::test]
async fn health_and_figures_are_those_of_the_closures_and_nothing_else() {
    let healthy = Arc::new(AtomicBool::new(true));
    let seen = Arc::clone(&healthy);
    let figures = || {
        let figure = |name: &str, kind, value| Figure {
            name: name.into(),
            help: "Bytes that the provider sent.".into(),
            kind,
            value,
        };
        vec![
            figure("ameles_store_read_bytes", FigureKind::Counter, 65536.0),
            figure("ameles_store_objects", FigureKind::Gauge, 3.0),
        ]
    };
    let routes = router(move || seen.load(Ordering::Relaxed), figures);
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("bound");
    let address = listener.local_addr().expect("bound");
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let server = tokio::spawn(serve(listener, routes, async {
        let _ = stopped.await;
    }));

    get(address, "/healthz").await.expect(200);
    healthy.store(false, Ordering::Relaxed);
    get(address, "/healthz").await.expect(503);

    let metrics = get(address, "/metrics").await;
    let expected = "\
# HELP ameles_store_read_bytes Bytes that the provider sent.
# TYPE ameles_store_read_bytes counter
ameles_store_read_bytes_total 65536.0
# HELP ameles_store_objects Bytes that the provider sent.
# TYPE ameles_store_objects gauge
ameles_store_objects 3.0
# EOF
";
    assert_eq!(metrics.text(), expected);
    get(address, "/").await.expect(404);
    drop(stop);
    server.await.expect("joined").expect("a gentle end");
}
