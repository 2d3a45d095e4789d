//! The administrative listener: health, metrics and the owner's page.

use crate::config::Settings;
use crate::demonstration::Switch;
use crate::report::banner::{self, Reader};
use crate::report::page::{Sources, write_link};
use crate::runtime::output::print_line;
use ameles_gateway::http::admin;
use ameles_gateway::page::{self, Guard, Page};
use anyhow::{Context, Result};
use axum::Router;
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The time limit for closing. Responses are immediate, so a connection that is still open is idle.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(1);

/// The administrative server.
pub(super) struct Administration {
    task: JoinHandle<std::io::Result<()>>,
}

impl Administration {
    /// Starts the server; `stop` closes it.
    ///
    /// # Errors
    /// The error of the listener.
    pub(super) fn open(listener: TcpListener, router: Router, stop: &CancellationToken) -> Result<Self> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let task = tokio::spawn(admin::serve(listener, router, stop.clone().cancelled_owned()));
        Ok(Administration { task })
    }

    /// Waits until the server has closed, for at most [`CLOSE_TIMEOUT`].
    ///
    /// # Errors
    /// The server panicked, or its listener failed.
    pub(super) async fn wait_closed(mut self) -> Result<()> {
        match tokio::time::timeout(CLOSE_TIMEOUT, &mut self.task).await {
            Ok(ended) => Ok(ended.context("the administrative listener")??),
            Err(_) => {
                self.task.abort();
                Ok(())
            }
        }
    }
}

/// Returns true if the owner's page is served. It uses plain HTTP, so only on loopback.
pub(super) fn shows_page(settings: &Settings) -> bool {
    settings.serve.admin.ip().is_loopback()
}

/// Returns the owner's page. Its link is printed at a terminal and written to the trusted folder. `stop` ends its
/// streams.
///
/// # Errors
/// The system returned no random numbers.
pub(super) fn owners_page(
    settings: &Settings,
    address: SocketAddr,
    sources: Sources,
    stop: &CancellationToken,
) -> Result<Router> {
    let set_oblivious = sources.switch.clone().map(|switch: Switch| -> Arc<dyn Fn(bool) + Send + Sync> {
        Arc::new(move |oblivious| switch.set(oblivious))
    });
    let guard = Guard::generate(address)?;
    let link = guard.link(address);
    match write_link(&settings.data, &link) {
        Ok(file) => print_line!("{}", banner::page(&link, Reader::of_output(&file))),
        Err(error) => {
            // The gateway serves clients without it.
            tracing::warn!("{error:#}");
            if let Reader::Terminal = Reader::of_output(Path::new("")) {
                print_line!("{}", banner::page(&link, Reader::Terminal));
            }
        }
    }
    let read = Arc::new(move || sources.read());
    Ok(page::router(Page { read, set_oblivious, ended: stop.clone() }, guard))
}
