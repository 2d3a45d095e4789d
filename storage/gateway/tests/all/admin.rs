//! The administrative listener over loopback.

use ameles_gateway::http::admin::{Figure, FigureKind, router, serve};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

async fn get(address: std::net::SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connected");
    let request = format!("GET {path} HTTP/1.1\r\nhost: admin\r\nconnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.expect("sent");
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.expect("an answer");
    answer
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

    assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 200"));
    healthy.store(false, Ordering::Relaxed);
    assert!(get(address, "/healthz").await.starts_with("HTTP/1.1 503"));

    let answer = get(address, "/metrics").await;
    let (_, text) = answer.split_once("\r\n\r\n").expect("a body");
    let expected = "\
# HELP ameles_store_read_bytes Bytes that the provider sent.
# TYPE ameles_store_read_bytes counter
ameles_store_read_bytes_total 65536.0
# HELP ameles_store_objects Bytes that the provider sent.
# TYPE ameles_store_objects gauge
ameles_store_objects 3.0
# EOF
";
    assert_eq!(text, expected);
    assert!(get(address, "/").await.starts_with("HTTP/1.1 404"));
    drop(stop);
    server.await.expect("joined").expect("a gentle end");
}
