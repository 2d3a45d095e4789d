//! `lethe serve`

use crate::banner;
use crate::config::origins::{ADMIN, LISTEN};
use crate::config::{Config, Padding, Settings, VaultConfig};
use crate::credentials::Credentials;
use crate::device::VaultDevice;
use crate::exit::Exit;
use crate::flags::{KeyFlags, PriceFlags, ServeFlags, StoreFlags, VaultFlags};
use crate::interrupt::Interrupts;
use crate::listen::listen;
use crate::parameters::summary;
use crate::place::Place;
use crate::public_figures::figures;
use crate::report::{Objects, Report};
use anyhow::{Context, Result};
use clap::Args;
use lethe_gateway::server::Limits;
use lethe_gateway::{Gateway, Options, admin, s3, server};
use lethe_vault::Vault;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;

/// How often the figures of `lethe status` are left in the trusted folder.
const STATUS_EVERY: Duration = Duration::from_secs(2);

#[derive(Args)]
#[command(after_help = "Examples:
  lethe serve
  lethe serve --capacity 10GiB --store s3://my-bucket/lethe
  lethe serve --config lethe.toml --listen 127.0.0.1:9000")]
pub(super) struct Arguments {
    #[command(flatten)]
    serve: ServeFlags,
    #[command(flatten)]
    vault: VaultFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    prices: PriceFlags,
}

impl Arguments {
    pub(super) fn over(self, config: Config) -> Config {
        let config = self.prices.over(config);
        self.serve.over(self.vault.over(self.store.over(self.key.over(config))))
    }
}

pub(super) async fn run(settings: Settings, asked: &VaultConfig) -> Result<Exit> {
    // Both addresses first: a port that is taken should not cost the time of opening a vault.
    let clients = listen(settings.serve.listen, settings.origins.name(LISTEN))?;
    let administration = listen(settings.serve.admin, settings.origins.name(ADMIN))?;
    let (listen_at, admin_at) = (clients.local_addr()?, administration.local_addr()?);
    let place = Place::new(&settings);
    let prices = place.prices()?;
    // Those that cannot be used are refused before anything is claimed in the store.
    let file = settings.data.credentials();
    let known = Credentials::load(&file)?;
    let fresh = !place.has_vault()?;
    let (opening, mut interrupts) = if fresh {
        place.make().await?
    } else {
        // A passphrase is asked for before Ctrl-C is taken over.
        (place.find(asked).await?, Interrupts::listen()?)
    };
    let parameters = opening.header.parameters.clone();
    // An opening that is cut off is repeated by the next one.
    let (vault, meter) = interrupts.cut_off(opening.open()).await?;
    let credentials = known.map_or_else(|| Credentials::make(&file), Ok)?;
    let options = Options { padding: padding(&settings.serve.padding), ..Options::default() };
    let gateway = Gateway::open(VaultDevice(vault.clone()), options).await?;

    let summary = summary(&parameters, place.store_name(), fresh, prices.as_ref());
    println!("{}", banner::serving(&summary, listen_at, admin_at, &credentials));

    let earlier = Report::load(&settings.data)?.map(|report| report.usage()).unwrap_or_default();
    let leave = {
        let (vault, gateway, meter, data) =
            (vault.clone(), gateway.clone(), meter.clone(), settings.data.clone());
        move || {
            Report::now(&summary, &vault.status(), &meter.usage(), &earlier, Some(objects(&gateway)))
                .leave(&data)
        }
    };
    leave()?;
    let leaving = tokio::spawn({
        let leave = leave.clone();
        async move {
            loop {
                tokio::time::sleep(STATUS_EVERY).await;
                if let Err(error) = leave() {
                    tracing::warn!(%error, "the status could not be left");
                }
            }
        }
    });
    let (stop, stopped) = watch::channel(());
    let until = |mut stopped: watch::Receiver<()>| async move {
        let _ = stopped.changed().await;
    };
    let (healthy, shown) = (vault.clone(), vault.clone());
    let health = move || healthy.failure().is_none();
    let router = admin::router(health, move || figures(&shown.status(), &meter.usage(), prices.as_ref()));
    let administration = TcpListener::from_std(administration)?;
    let admin = tokio::spawn(admin::serve(administration, router, until(stopped.clone())));
    let pair = s3::Credentials::new(&credentials.access_key_id, &credentials.secret_access_key);
    let clients = TcpListener::from_std(clients)?;
    let serving = tokio::spawn(server::serve(clients, gateway, pair, Limits::default(), until(stopped)));

    let failed = wait(&vault, &mut interrupts).await;
    if failed {
        tracing::error!("the vault has stopped; the server ends");
    } else {
        println!(
            "Stopping: requests under way are finished, the vault is flushed. Ctrl-C again stops at once."
        );
    }
    let stopping = async {
        let _ = stop.send(());
        serving.await.context("the server")?;
        admin.await.context("the administrative listener")??;
        leaving.abort();
        if let Some(failure) = vault.failure() {
            return Err(failure.into());
        }
        let receipt = vault.close().await?;
        leave()?;
        println!("Stopped. Receipt of the last checkpoint in the store:\n  {receipt}");
        Ok(Exit::Success)
    };
    // Cut off, it is as after a crash: what was acknowledged is there at the next opening.
    Interrupts::unless_repeated(stopping).await
}

/// Waits for Ctrl-C, a request to terminate, or the vault's end; `true` for the last.
async fn wait(vault: &Vault, interrupts: &mut Interrupts) -> bool {
    let failure = async {
        while vault.failure().is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = interrupts.next() => false,
        () = failure => true,
    }
}

fn objects(gateway: &Gateway<VaultDevice>) -> Objects {
    let usage = gateway.usage();
    Objects {
        buckets: usage.buckets,
        objects: usage.objects,
        bytes: usage.bytes,
        free_blocks: usage.free_blocks,
        blocks: usage.blocks,
    }
}

fn padding(asked: &Padding) -> lethe_gateway::Padding {
    match asked {
        Padding::None => lethe_gateway::Padding::None,
        Padding::Power2 => lethe_gateway::Padding::PowersOfTwo,
    }
}
