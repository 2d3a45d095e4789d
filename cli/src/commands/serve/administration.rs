//! The administrative listener: health, metrics and the owner's page.

use crate::config::Settings;
use crate::demonstration::Switch;
use crate::report::banner::{self, Reader};
use crate::report::page::{Sources, leave_link};
use crate::runtime::output::say;
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

/// The time it may take to end. Its answers are there at once: a client that still holds a connection only holds it.
const GRACE: Duration = Duration::from_secs(1);

/// The administrative server.
pub(super) struct Administration {
    serving: JoinHandle<std::io::Result<()>>,
}

impl Administration {
    /// Opens it; `stop` closes it again.
    ///
    /// # Errors
    /// What the system says of the listener.
    pub(super) fn open(listener: TcpListener, router: Router, stop: &CancellationToken) -> Result<Self> {
        let listener = tokio::net::TcpListener::from_std(listener)?;
        let serving = tokio::spawn(admin::serve(listener, router, stop.clone().cancelled_owned()));
        Ok(Administration { serving })
    }

    /// Waits until it has ended, for a while.
    ///
    /// # Errors
    /// The server panicked, or its listener failed.
    pub(super) async fn closed(mut self) -> Result<()> {
        match tokio::time::timeout(GRACE, &mut self.serving).await {
            Ok(ended) => Ok(ended.context("the administrative listener")??),
            Err(_) => {
                self.serving.abort();
                Ok(())
            }
        }
    }
}

/// Tells whether the owner's page is served. Its secrets go over plain HTTP: not beyond this machine.
pub(super) fn shows_page(settings: &Settings) -> bool {
    settings.serve.admin.ip().is_loopback()
}

/// The owner's page, whose link is printed at a terminal and left in the trusted folder. `stop` ends its streams.
///
/// # Errors
/// The system gives no random numbers.
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
    match leave_link(&settings.data, &link) {
        Ok(file) => say!("{}", banner::page(&link, Reader::of_output(&file))),
        Err(error) => {
            // Clients are served all the same.
            tracing::warn!("{error:#}");
            if let Reader::Terminal = Reader::of_output(Path::new("")) {
                say!("{}", banner::page(&link, Reader::Terminal));
            }
        }
    }
    let read = Arc::new(move || sources.read());
    Ok(page::router(Page { read, set_oblivious, ended: stop.clone() }, guard))
}
