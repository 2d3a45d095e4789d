//! The servers for clients: S3 and Swift.

use crate::config::Settings;
use ameles_gateway::auth::identity::Users;
use ameles_gateway::http::server::{Limits, Options, Serving};
use ameles_gateway::swift::Address;
use ameles_gateway::{Admission, AnswerCheck, Gateway, Tls, serve_s3, serve_swift};
use anyhow::{Context, Result};
use std::net::TcpListener;
use std::sync::Arc;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

/// The S3 and Swift servers. Their requests share one admission limit.
pub(super) struct Servers {
    s3: JoinHandle<bool>,
    swift: Option<JoinHandle<bool>>,
}

impl Servers {
    /// Starts the servers; `stop` closes them.
    ///
    /// # Errors
    /// The error of a listener.
    pub(super) fn open(
        settings: &Settings,
        (s3, swift): (TcpListener, Option<TcpListener>),
        gateway: &Gateway,
        answer_check: AnswerCheck,
        users: &Arc<Users>,
        tls: Option<Tls>,
        stop: &CancellationToken,
    ) -> Result<Servers> {
        let address = match &settings.serve.swift_url {
            Some(url) => Address::Named(url.clone()),
            None => Address::OfHost { tls: tls.is_some() },
        };
        let admission = Admission::new(settings.serve.requests as usize);
        let options = Options { limits: Limits::default(), admission, tls, answer_check };
        let swift = match swift {
            Some(swift) => {
                let swift = tokio::net::TcpListener::from_std(swift)?;
                let (gateway, users, stop) = (gateway.clone(), Arc::clone(users), stop_signal(stop));
                Some(tokio::spawn(serve_swift(swift, gateway, users, address, options.clone(), stop)))
            }
            None => None,
        };
        let s3 = tokio::net::TcpListener::from_std(s3)?;
        let s3 = tokio::spawn(serve_s3(s3, gateway.clone(), Arc::clone(users), options, stop_signal(stop)));
        Ok(Servers { s3, swift })
    }

    /// Waits until the last client has disconnected. Returns true if no running request was aborted.
    ///
    /// # Errors
    /// A server panicked.
    pub(super) async fn wait_closed(self) -> Result<bool> {
        let have_finished = self.s3.await.context("the S3 server")?;
        match self.swift {
            Some(swift) => Ok(swift.await.context("the Swift server")? && have_finished),
            None => Ok(have_finished),
        }
    }
}

fn stop_signal(stop: &CancellationToken) -> Serving {
    Box::pin(stop.clone().cancelled_owned())
}
