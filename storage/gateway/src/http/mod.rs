//! The HTTP server: connections and their bounds, TLS, bodies, loopback, and the administrative listener.

pub mod admin;
pub(crate) mod admission;
pub(crate) mod answer_body;
pub(crate) mod answer_check;
pub(crate) mod body_timeout;
pub(crate) mod connections;
pub(crate) mod fair_permits;
pub mod listener;
pub mod loopback;
pub(crate) mod pace;
pub(crate) mod paced_stream;
pub(crate) mod parse_budget;
pub(crate) mod percent;
pub mod protocol;
pub mod server;
pub(crate) mod tls;
