//! `lethe serve`

use crate::banner::{self, Addresses, Reader, VaultSummary};
use crate::config::origins::{ADMIN, LISTEN, SWIFT};
use crate::config::{Config, Padding, Settings, VaultConfig};
use crate::demonstration::{BareStore, Oblivious, Pattern, Stage, Switch, Switched, put_objects, read_on};
use crate::device::VaultDevice;
use crate::exit::Exit;
use crate::flags::{KeyFlags, PaceFlags, PriceFlags, ServeFlags, StoreFlags, VaultFlags};
use crate::interrupt::Interrupts;
use crate::listen::listen;
use crate::opened::{self, Following, Left};
use crate::page::{Provider, Sources, leave_link};
use crate::parameters::summary;
use crate::place::Place;
use crate::public_figures::figures;
use crate::report::{Objects, Report};
use crate::tls_watch;
use crate::users_file::UsersFile;
use crate::users_watch;
use crate::warnings::{Figures, Watch, free_bytes};
use anyhow::{Context, Result};
use axum::Router;
use clap::Args;
use lethe_gateway::identity::{User, Users};
use lethe_gateway::page::{self, Guard, Page, Watched};
use lethe_gateway::s3::S3Door;
use lethe_gateway::server::{self, Limits};
use lethe_gateway::swift::{Address, SwiftDoor};
use lethe_gateway::{Admission, Device, Gateway, Options, Tls, admin};
use lethe_store::{Prices, Versioning};
use lethe_vault::{Vault, VaultParameters};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;
use zeroize::Zeroizing;

/// How often the figures of `lethe status` are left in the trusted folder.
const STATUS_EVERY: Duration = Duration::from_secs(2);
/// How long the administrative listener may take to end.
const ADMIN_GRACE: Duration = Duration::from_secs(1);
/// How often objects whose time is over are swept away. They are gone for readers before that.
const SWEEP_EVERY: Duration = Duration::from_secs(10);
/// How many of them go in one commit.
const SWEEP_AT_A_TIME: usize = 500;

#[derive(Args)]
#[command(after_help = "Examples:
  lethe serve
  lethe serve --capacity 10GiB --store s3://my-bucket/lethe
  lethe serve --config lethe.toml --listen 127.0.0.1:9000
  lethe serve --pace 500ms --prices s3-standard
  lethe serve --demonstration")]
pub(super) struct Arguments {
    #[command(flatten)]
    serve: ServeFlags,
    #[command(flatten)]
    pace: PaceFlags,
    #[command(flatten)]
    vault: VaultFlags,
    #[command(flatten)]
    store: StoreFlags,
    #[command(flatten)]
    key: KeyFlags,
    #[command(flatten)]
    prices: PriceFlags,
    /// Serve a small vault of its own that goes at the end, with a page on which its ORAM can be switched off; what is
    /// read of its own accord [without a value: sweep]
    #[arg(long, value_name = "PATTERN", num_args = 0..=1, default_missing_value = "sweep")]
    #[arg(help_heading = "Gateway")]
    demonstration: Option<Pattern>,
}

impl Arguments {
    /// What is read in the demonstration that was asked for, if one was.
    pub(super) fn demonstration(&self) -> Option<Pattern> {
        self.demonstration
    }

    pub(super) fn over(self, config: Config) -> Config {
        let config = self.pace.over(self.prices.over(config));
        self.serve.over(self.vault.over(self.store.over(self.key.over(config))))
    }
}

/// A vault that is open, its listeners bound, and nobody served yet.
struct Opened {
    /// With the store and the key that the vault has now.
    settings: Settings,
    device: VaultDevice,
    parameters: VaultParameters,
    provider: Provider,
    versioning: Versioning,
    summary: VaultSummary,
    prices: Option<Prices>,
    users: Vec<User>,
    /// The first user's, if it was made just now.
    password: Option<Zeroizing<String>>,
    file: UsersFile,
    listeners: Listeners,
    tls: Option<Tls>,
    interrupts: Interrupts,
    following: Option<Following>,
    left: Option<Left>,
}

struct Listeners {
    clients: std::net::TcpListener,
    swift: Option<std::net::TcpListener>,
    administration: std::net::TcpListener,
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

    fn addresses<'a>(&self, settings: &'a Settings) -> Result<Addresses<'a>> {
        Ok(Addresses {
            tls: settings.serve.tls.is_some(),
            s3: self.clients.local_addr()?,
            swift: self.swift.as_ref().map(|listener| listener.local_addr()).transpose()?,
            swift_url: settings.serve.swift_url.as_deref(),
            admin: self.administration.local_addr()?,
        })
    }
}

/// What a demonstration has beside a vault.
struct Demonstrated {
    pattern: Pattern,
    switch: Switch,
    reading: JoinHandle<()>,
}

pub(super) async fn run(settings: Settings, asked: &VaultConfig) -> Result<Exit> {
    let opened = open(&settings, asked).await?;
    let gateway = gateway(&opened.settings, Watched::new(opened.device.clone())).await?;
    serve(opened, gateway, None).await
}

/// Serves a vault that goes when it ends, and whose ORAM can be switched off.
pub(super) async fn demonstrate(settings: Settings, stage: &Stage) -> Result<Exit> {
    let mut opened = open(&settings, &VaultConfig::default()).await?;
    let vault = opened.device.vault().clone();
    let cipher = vault.header().parameters.cipher()?;
    let folder = stage.bare_folder();
    let making = BareStore::make(&folder, cipher, vault.capacity(), vault.block_bytes());
    let bare = opened.interrupts.cut_off(making).await?;
    let (oblivious, bare_provider) = (Oblivious::on(), bare.provider());
    let device = Watched::new(Switched::new(opened.device.clone(), bare, oblivious.clone()));
    let switch = Switch::new(oblivious, vault, opened.provider.clone(), bare_provider, device.asked());
    let gateway = gateway(&settings, device).await?;
    let putting = async { put_objects(&gateway).await.context("putting the demonstration's objects") };
    opened.interrupts.cut_off(putting).await?;
    switch.count_anew();
    let reading = tokio::spawn(read_on(gateway.clone(), stage.pattern));
    let demonstrated = Demonstrated { pattern: stage.pattern, switch, reading };
    serve(opened, gateway, Some(demonstrated)).await
}

async fn open(settings: &Settings, asked: &VaultConfig) -> Result<Opened> {
    let tls = settings.serve.tls.as_ref().map(|files| Tls::load(&files.cert, &files.key)).transpose()?;
    // The addresses first: a port that is taken should not cost the time of opening a vault.
    let listeners = Listeners::bind(settings)?;
    let place = Place::new(settings);
    let prices = place.prices()?;
    // Those that cannot be used are refused before anything is claimed in the store.
    let file = UsersFile::new(settings.data.credentials());
    let known = file.load()?;
    let opened::Opened {
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
    } = opened::open(settings, asked).await?;
    let (users, password) = match known {
        Some(known) => (known, None),
        None => file.make_first().map(|(known, password)| (known, Some(password)))?,
    };
    let store = Place::new(&settings).store_name();
    let summary = summary(&parameters, store, fresh, prices.as_ref(), settings.serve.pace);
    let provider = Provider { meter, touches };
    Ok(Opened {
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

async fn gateway<D: Device>(settings: &Settings, device: Watched<D>) -> Result<Gateway<Watched<D>>> {
    let options = Options {
        padding: padding(&settings.serve.padding),
        memory: settings.serve.transfer_memory.0,
        asked: shows_page(settings).then(|| device.asked()),
        ..Options::default()
    };
    Ok(Gateway::open(device, options).await?)
}

/// Whether the owner's page is served. Its secrets go over plain HTTP: not beyond this machine.
fn shows_page(settings: &Settings) -> bool {
    settings.serve.admin.ip().is_loopback()
}

async fn serve<D: Device>(
    opened: Opened,
    gateway: Gateway<Watched<D>>,
    demonstrated: Option<Demonstrated>,
) -> Result<Exit> {
    let Opened {
        settings,
        device,
        parameters,
        provider,
        versioning,
        summary,
        prices,
        users: known,
        password,
        file,
        listeners,
        tls,
        mut interrupts,
        following,
        left,
    } = opened;
    let vault = device.vault().clone();
    let addresses = listeners.addresses(&settings)?;
    let Listeners { clients, swift, administration } = listeners;
    let (meter, asked) = (provider.meter.clone(), gateway.device().asked());
    let credentials = settings.data.credentials();
    let reader = Reader::of_output(&credentials);
    let shown = password.as_deref().map(String::as_str);
    println!("{}", banner::serving(&summary, &addresses, &known, shown, reader));
    drop(password);
    if let Some(demonstrated) = &demonstrated {
        println!("{}", banner::demonstration(settings.data.root(), demonstrated.pattern));
    }
    if let Some(left) = &left {
        println!("{}", left.render());
    }
    if let Some(following) = &following {
        println!("{}", following.render());
    }
    let mut watch = Watch::new(&parameters, versioning);
    for warning in watch.look(&looked_at(&vault, &settings)) {
        println!("WARNING: {warning}\n");
    }
    let watch = Arc::new(Mutex::new(watch));

    let following_figures = following.as_ref().map(|following| following.figures());
    let earlier = Report::load(&settings.data)?.map(|report| report.usage()).unwrap_or_default();
    let leave = {
        let (vault, gateway, meter, settings) =
            (vault.clone(), gateway.clone(), meter.clone(), settings.clone());
        let following = following_figures.clone();
        move || {
            let warnings = watch.lock().expect("nobody panics with it").look(&looked_at(&vault, &settings));
            Report::now(&summary, &vault.status(), &meter.usage(), &earlier, Some(objects(&gateway)))
                .with_warnings(warnings)
                .with_successor(following.as_ref().map(|figures| figures()))
                .leave(&settings.data)
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
    let (healthy, shown) = (device.clone(), vault.clone());
    let health = move || healthy.failure().is_none();
    let open_pages = CancellationToken::new();
    let page = if shows_page(&settings) {
        let (vault, prices) = (vault.clone(), prices.clone());
        let switch = demonstrated.as_ref().map(|demonstrated| demonstrated.switch.clone());
        let set_oblivious = switch.clone().map(|switch| -> Arc<dyn Fn(bool) + Send + Sync> {
            Arc::new(move |oblivious| switch.set(oblivious))
        });
        let sources = Sources { vault, provider, asked, prices, switch };
        let guard = Guard::draw(addresses.admin)?;
        let link = guard.link(addresses.admin);
        let file = leave_link(&settings.data, &link)?;
        println!("{}", banner::page(&link, Reader::of_output(&file)));
        let tell = Arc::new(move || sources.tell());
        page::router(Page { tell, set_oblivious, ended: open_pages.clone() }, guard)
    } else {
        Router::new()
    };
    let router = admin::router(health, move || {
        let following = following_figures.as_ref().map(|figures| figures());
        figures(&shown.status(), &meter.usage(), prices.as_ref(), following.as_ref())
    });
    let router = router.merge(page);
    let administration = TcpListener::from_std(administration)?;
    let mut admin = tokio::spawn(admin::serve(administration, router, until(stopped.clone())));
    let users = Arc::new(Users::new(known)?);
    let watching = tokio::spawn(users_watch::watch(file, Arc::clone(&users)));
    let clients = TcpListener::from_std(clients)?;
    let renewing = settings.serve.tls.zip(tls.clone());
    let renewing = renewing.map(|(files, tls)| tokio::spawn(tls_watch::watch(files, tls)));
    // Requests of all doors share the places.
    let admission = Admission::new(settings.serve.requests as usize);
    let address = match settings.serve.swift_url {
        Some(url) => Address::Named(url),
        None => Address::OfHost { tls: tls.is_some() },
    };
    let serving = server::Options { limits: Limits::default(), admission, tls };
    let swift = match swift {
        Some(swift) => {
            let door = SwiftDoor::new(gateway.clone(), Arc::clone(&users), address);
            let swift = TcpListener::from_std(swift)?;
            Some(tokio::spawn(server::serve(swift, door, serving.clone(), until(stopped.clone()))))
        }
        None => None,
    };
    let door = S3Door::new(gateway.clone(), users);
    let serving = tokio::spawn(server::serve(clients, door, serving, until(stopped)));
    let sweeping = tokio::spawn(sweep(gateway.clone()));

    let stop_copying = CancellationToken::new();
    let copying = following.map(|following| tokio::spawn(following.copy(stop_copying.clone())));

    let failed = wait(&device, &mut interrupts).await;
    if failed {
        tracing::error!("the vault has stopped; the server ends");
    } else {
        println!(
            "Stopping: requests under way are finished, the vault is flushed. Ctrl-C again stops at once."
        );
    }
    let stopping = async {
        let _ = stop.send(());
        open_pages.cancel();
        serving.await.context("the S3 server")?;
        if let Some(swift) = swift {
            swift.await.context("the Swift server")?;
        }
        sweeping.abort();
        let is_demonstration = demonstrated.is_some();
        demonstrated.inspect(|demonstrated| demonstrated.reading.abort());
        // Cut-off requests may have begun a write.
        gateway.settle().await;
        // Its answers are there at once: who still holds a connection only holds it.
        match tokio::time::timeout(ADMIN_GRACE, &mut admin).await {
            Ok(ended) => ended.context("the administrative listener")??,
            Err(_) => admin.abort(),
        }
        stop_copying.cancel();
        if let Some(copying) = copying {
            copying.await.context("the copier")?;
        }
        leaving.abort();
        watching.abort();
        renewing.inspect(JoinHandle::abort);
        if let Some(failure) = device.failure() {
            return Err(failure);
        }
        let receipt = device.close().await?;
        leave()?;
        if is_demonstration {
            println!("Stopped. The demonstration's vault goes with its folder.");
        } else {
            println!("Stopped. Receipt of the last checkpoint in the store:\n  {receipt}");
        }
        Ok(Exit::Success)
    };
    // Cut off, it is as after a crash: what was acknowledged is there at the next opening.
    Interrupts::unless_repeated(stopping).await
}

/// Waits for Ctrl-C, a request to terminate, or the vault's end; `true` for the last.
async fn wait(device: &VaultDevice, interrupts: &mut Interrupts) -> bool {
    let failure = async {
        while device.failure().is_none() {
            tokio::time::sleep(Duration::from_millis(200)).await;
        }
    };
    tokio::select! {
        () = interrupts.next() => false,
        () = failure => true,
    }
}

/// What warnings follow from.
fn looked_at(vault: &Vault, settings: &Settings) -> Figures {
    let free_bytes = free_bytes(&settings.data.trusted());
    Figures { free_bytes, stash_blocks: vault.status().stash_at_rest }
}

/// Gives back the rows and blocks of objects whose time is over, again and again. Makes no access.
async fn sweep<D: Device>(gateway: Gateway<D>) {
    loop {
        tokio::time::sleep(SWEEP_EVERY).await;
        loop {
            match gateway.sweep_expired(SWEEP_AT_A_TIME).await {
                Ok(SWEEP_AT_A_TIME) => {}
                Ok(_) => break,
                Err(error) => {
                    tracing::warn!(%error, "objects whose time is over could not be swept away");
                    break;
                }
            }
        }
    }
}

fn objects<D: Device>(gateway: &Gateway<D>) -> Objects {
    let usage = gateway.usage();
    Objects {
        buckets: usage.containers,
        objects: usage.objects,
        bytes: usage.bytes,
        free_blocks: usage.free_blocks,
        blocks: usage.blocks,
        packed_blocks: usage.packed.blocks,
        packed_bytes: usage.packed.live_bytes,
        waiting_bytes: usage.packed.waiting_bytes,
    }
}

fn padding(asked: &Padding) -> lethe_gateway::Padding {
    match asked {
        Padding::None => lethe_gateway::Padding::None,
        Padding::Power2 => lethe_gateway::Padding::PowersOfTwo,
    }
}
