//! The state of `ameles serve` before it serves the first client: the vault is open and the listeners are bound.

use super::standby::{report, require_users};
use crate::config::names::{ADMIN, LISTEN, SWIFT};
use crate::config::{Settings, VaultConfig};
use crate::report::banner::{Addresses, VaultSummary};
use crate::runtime::listen::listen;
use crate::users::file::UsersFile;
use crate::vault::home::Home;
use crate::vault::open_vault::{self, OpenVaults};
use crate::vault::parameters::summary;
use ameles_gateway::Tls;
use ameles_gateway::auth::identity::User;
use ameles_store::Prices;
use anyhow::{Context, Result};
use std::net::TcpListener;
use zeroize::Zeroizing;

/// The part of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::commands) enum Role {
    /// The machine that serves the vault.
    Gateway,
    /// A machine that follows the vault of another machine, and takes it over.
    Standby,
}

/// An open vault and its bound listeners.
pub(super) struct PreparedServer {
    pub(super) vaults: OpenVaults,
    pub(super) summary: VaultSummary,
    pub(super) prices: Option<Prices>,
    pub(super) users: Vec<User>,
    /// The password of the first user, if this start created the user.
    pub(super) password: Option<Zeroizing<String>>,
    pub(super) file: UsersFile,
    pub(super) listeners: Listeners,
    pub(super) tls: Option<Tls>,
}

pub(super) struct Listeners {
    pub(super) clients: TcpListener,
    pub(super) swift: Option<TcpListener>,
    pub(super) administration: TcpListener,
}

impl Listeners {
    fn bind(settings: &Settings) -> Result<Self> {
        let (serve, origins) = (&settings.serve, &settings.origins);
        Ok(Listeners {
            clients: listen(serve.listen, origins.name(LISTEN))?,
            administration: listen(serve.admin, origins.name(ADMIN))?,
            swift: serve.swift.map(|address| listen(address, origins.name(SWIFT))).transpose()?,
        })
    }

    pub(super) fn addresses<'a>(&self, settings: &'a Settings, data_flag: &'a str) -> Result<Addresses<'a>> {
        Ok(Addresses {
            tls: settings.serve.tls.is_some(),
            s3: self.clients.local_addr()?,
            swift: self.swift.as_ref().map(|listener| listener.local_addr()).transpose()?,
            swift_url: settings.serve.swift_url.as_deref(),
            admin: self.administration.local_addr()?,
            data_flag,
        })
    }
}

/// Binds the listeners, opens or creates the vault, and creates the first user if there is none.
///
/// # Errors
/// Errors of the addresses, the files, the key, the store or the vault; an interruption by Ctrl-C.
pub(super) async fn prepare(
    settings: &Settings,
    requested: &VaultConfig,
    role: Role,
) -> Result<PreparedServer> {
    let tls = settings.serve.tls.as_ref().map(|files| Tls::load(&files.cert, &files.key)).transpose();
    let tls = tls.context("--tls-cert and --tls-key")?;
    // The listeners are bound first: an occupied port must not cost the time of opening a vault.
    let mut listeners = Listeners::bind(settings)?;
    let home = Home::new(settings);
    let prices = home.prices()?;
    // A damaged file of users is refused before the store holds a claim of this opening.
    let file = UsersFile::new(settings.data.credentials());
    let users = file.load()?;
    let vaults = match role {
        Role::Gateway => open_vault::open(settings, requested).await?,
        Role::Standby => {
            require_users(settings, users.as_deref())?;
            // Nobody may connect before the takeover.
            drop(listeners);
            let vaults = open_vault::stand_by(settings, requested, report).await?;
            listeners = Listeners::bind(settings)?;
            vaults
        }
    };
    let (users, password) = match users {
        Some(users) => (users, None),
        None => file.create_first().map(|(users, password)| (users, Some(password)))?,
    };
    let (settings, parameters) = (&vaults.settings, &vaults.parameters);
    let (store, pace) = (Home::new(settings).store_name(), settings.serve.pace);
    let summary = summary(parameters, store, vaults.fresh, prices.as_ref(), pace, &settings.serve);
    Ok(PreparedServer { vaults, summary, prices, users, password, file, listeners, tls })
}
