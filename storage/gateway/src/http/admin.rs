//! The administrative listener: `/healthz`, and `/metrics` for Prometheus.
//!
//! Any client may reach it. It shows only the values of the caller's closures. These must show no more than the
//! provider of the store sees anyway: requests, bytes and dollars of the store, never verbs or objects.

use axum::Router;
use axum::http::{StatusCode, header};
use axum::response::IntoResponse;
use axum::routing::get;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use std::sync::Arc;
use tokio::net::TcpListener;

/// The kind of a figure: whether it only grows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FigureKind {
    /// The figure only grows, from 0 at the start. Its name ends in `_total`.
    Counter,
    /// The figure goes up and down.
    Gauge,
}

/// A figure that everybody may see.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The name in snake case, with the unit at the end, for example `ameles_store_read_bytes`.
    pub name: String,
    /// A sentence that explains it.
    pub help: String,
    /// The kind: whether it only grows.
    pub kind: FigureKind,
    /// The present value.
    pub value: f64,
}

type Read = Box<dyn Fn() -> Vec<Figure> + Send + Sync>;

struct FigureCollector(Read);

impl std::fmt::Debug for FigureCollector {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("FigureCollector(..)")
    }
}

impl Collector for FigureCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        for figure in (self.0)() {
            let metric: &dyn Fn(&mut DescriptorEncoder<'_>) -> std::fmt::Result = match figure.kind {
                FigureKind::Counter => &|encoder| {
                    let metric = ConstCounter::new(figure.value);
                    let kind = metric.metric_type();
                    metric.encode(encoder.encode_descriptor(&figure.name, &figure.help, None, kind)?)
                },
                FigureKind::Gauge => &|encoder| {
                    let metric = ConstGauge::new(figure.value);
                    let kind = metric.metric_type();
                    metric.encode(encoder.encode_descriptor(&figure.name, &figure.help, None, kind)?)
                },
            };
            metric(&mut encoder)?;
        }
        Ok(())
    }
}

/// Returns the routes. They call `healthy` for each `/healthz` (200 or 503, and nothing else), and `figures` for each
/// `/metrics`.
pub fn router(
    healthy: impl Fn() -> bool + Send + Sync + 'static,
    figures: impl Fn() -> Vec<Figure> + Send + Sync + 'static,
) -> Router {
    let mut registry = Registry::default();
    registry.register_collector(Box::new(FigureCollector(Box::new(figures))));
    let registry = Arc::new(registry);
    let healthy = Arc::new(healthy);
    let health = move || {
        let answer = if healthy() {
            (StatusCode::OK, "ok\n")
        } else {
            (StatusCode::SERVICE_UNAVAILABLE, "unavailable\n")
        };
        async move { answer }
    };
    let metrics = move || {
        let registry = Arc::clone(&registry);
        async move {
            let mut text = String::new();
            match prometheus_client::encoding::text::encode(&mut text, &registry) {
                Ok(()) => ([(header::CONTENT_TYPE, OPENMETRICS)], text).into_response(),
                Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
            }
        }
    };
    Router::new().route("/healthz", get(health)).route("/metrics", get(metrics))
}

const OPENMETRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Serves the routes until `shutdown` is ready.
///
/// # Errors
/// The listener fails permanently.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    shutdown: impl Future<Output = ()> + Send + 'static,
) -> std::io::Result<()> {
    axum::serve(listener, router).with_graceful_shutdown(shutdown).await
}
