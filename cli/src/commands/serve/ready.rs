//! A vault that is open, its listeners bound, and no client served yet.

use crate::config::names::{ADMIN, LISTEN, SWIFT};
use crate::config::{Settings, VaultConfig};
use crate::report::banner::{Addresses, VaultSummary};
use crate::report::provider::Provider;
use crate::runtime::interrupt::Interrupts;
use crate::runtime::listen::listen;
use crate::users::file::UsersFile;
use crate::vault::device::VaultDevice;
use crate::vault::home::Home;
use crate::vault::open_vault::{self, ReplacedVault, Successor};
use crate::vault::parameters::summary;
use ameles_gateway::Tls;
use ameles_gateway::auth::identity::User;
use ameles_store::{Prices, Versioning};
use ameles_vault::VaultParameters;
use anyhow::{Context, Result};
use std::net::TcpListener;
use zeroize::Zeroizing;

/// See the module.
pub(super) struct Ready {
    /// The settings, with the store and the key that the vault has now.
    pub(super) settings: Settings,
    pub(super) device: VaultDevice,
    pub(super) parameters: VaultParameters,
    pub(super) provider: Provider,
    pub(super) versioning: Versioning,
    pub(super) summary: VaultSummary,
    pub(super) prices: Option<Prices>,
    pub(super) users: Vec<User>,
    /// The first user's, if it was made just now.
    pub(super) password: Option<Zeroizing<String>>,
    pub(super) file: UsersFile,
    pub(super) listeners: Listeners,
    pub(super) tls: Option<Tls>,
    pub(super) interrupts: Interrupts,
    pub(super) following: Option<Successor>,
    pub(super) left: Option<ReplacedVault>,
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

    pub(super) fn addresses<'a>(&self, settings: &'a Settings) -> Result<Addresses<'a>> {
        Ok(Addresses {
            tls: settings.serve.tls.is_some(),
            s3: self.clients.local_addr()?,
            swift: self.swift.as_ref().map(|listener| listener.local_addr()).transpose()?,
            swift_url: settings.serve.swift_url.as_deref(),
            admin: self.administration.local_addr()?,
        })
    }
}

/// Binds, opens or makes the vault, and makes the first user if there is none.
///
/// # Errors
/// Everything that can be wrong with addresses, files, key, store or vault; Ctrl-C.
pub(super) async fn open(settings: &Settings, requested: &VaultConfig) -> Result<Ready> {
    let tls = settings.serve.tls.as_ref().map(|files| Tls::load(&files.cert, &files.key)).transpose();
    let tls = tls.context("--tls-cert and --tls-key")?;
    // The addresses first: a port that is taken should not cost the time of opening a vault.
    let listeners = Listeners::bind(settings)?;
    let home = Home::new(settings);
    let prices = home.prices()?;
    // Those that cannot be used are refused before anything is claimed in the store.
    let file = UsersFile::new(settings.data.credentials());
    let users = file.load()?;
    let open_vault::OpenVaults {
        settings,
        parameters,
        fresh,
        device,
        meter,
        touches,
        versioning,
        interrupts,
        following,
        left,
    } = open_vault::open(settings, requested).await?;
    let (users, password) = match users {
        Some(users) => (users, None),
        None => file.create_first().map(|(users, password)| (users, Some(password)))?,
    };
    let store = Home::new(&settings).store_name();
    let summary = summary(&parameters, store, fresh, prices.as_ref(), settings.serve.pace, &settings.serve);
    let provider = Provider { meter, touches };
    Ok(Ready {
        settings,
        device,
        parameters,
        provider,
        versioning,
        summary,
        prices,
        users,
        password,
        file,
        listeners,
        tls,
        interrupts,
        following,
        left,
    })
}
