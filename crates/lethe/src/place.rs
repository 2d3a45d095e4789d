//! Where a vault is and how to get at it: trusted disk, key and store.

use crate::config::{KeySettings, Settings};
use crate::parameters::vault_parameters;
use crate::size::Size;
use anyhow::{Context, Result, bail};
use lethe_core::layout::Layout;
use lethe_seal::key_file;
use lethe_seal::master_key::MasterKey;
use lethe_seal::parallel::Workers;
use lethe_seal::passphrase::PassphraseHeader;
use lethe_store::{Meter, MeterReader, Objects, OpenOptions, PriceTable, Prices, Retry, RetryPolicy};
use lethe_vault::{
    Entropy, Setup, TrustedDisk, Vault, VaultError, VaultHeader, draw_header, raw_header, read_header,
};
use rand_core::{OsRng, RngCore, TryRngCore};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The store of a vault in service: every attempt is metered, and one that fails for now is made again.
pub type Store = Retry<Meter<Objects>>;

const DATABASE: &str = "vault.redb";

/// A vault's whereabouts.
pub struct Place<'a> {
    settings: &'a Settings,
}

impl<'a> Place<'a> {
    /// The place that the settings name.
    pub fn new(settings: &'a Settings) -> Self {
        Place { settings }
    }

    /// The trusted disk's file.
    pub fn database(&self) -> PathBuf {
        self.settings.data.trusted().join(DATABASE)
    }

    /// Whether there is a vault, as far as this machine knows.
    ///
    /// # Errors
    /// The trusted disk cannot be read, or is in use.
    pub fn has_vault(&self) -> Result<bool> {
        match self.disk() {
            Ok(disk) => Ok(raw_header(&disk).is_ok()),
            Err(error) if matches!(error.downcast_ref(), Some(VaultError::NoVault)) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The trusted disk of an existing vault.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::Locked`], [`VaultError::Disk`].
    pub fn disk(&self) -> Result<TrustedDisk> {
        if !self.database().exists() {
            return Err(VaultError::NoVault.into());
        }
        Ok(TrustedDisk::open(&self.database())?)
    }

    /// The trusted disk of a vault that is to be made or restored.
    ///
    /// # Errors
    /// [`VaultError::Locked`], [`VaultError::Disk`].
    pub fn new_disk(&self) -> Result<TrustedDisk> {
        let folder = self.settings.data.trusted();
        self.settings.data.make_trusted().with_context(|| format!("making {}", folder.display()))?;
        Ok(TrustedDisk::open(&self.database())?)
    }

    /// The key of a vault whose stored header is given.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn key(&self, header: &[u8]) -> Result<MasterKey> {
        match (&self.settings.key, VaultHeader::passphrase(header)?) {
            (KeySettings::Passphrase(variable), Some(derivation)) => {
                Ok(derivation.master_key(&passphrase(variable, false)?)?)
            }
            (KeySettings::Passphrase(_), None) => {
                bail!("this vault was made with a key and not with a passphrase: leave out --passphrase")
            }
            (_, Some(_)) => bail!("this vault was made with a passphrase: add --passphrase"),
            (KeySettings::File(file), None) => Ok(key_file::load(file)?),
            (KeySettings::Env(variable), None) => Ok(key_file::from_environment(variable)?),
        }
    }

    fn new_key(&self) -> Result<(MasterKey, Option<PassphraseHeader>)> {
        match &self.settings.key {
            // A key that is there already may be the key of other vaults too.
            KeySettings::File(file) if file.exists() => Ok((key_file::load(file)?, None)),
            KeySettings::File(file) => Ok((key_file::create(file)?, None)),
            KeySettings::Env(variable) => Ok((key_file::from_environment(variable)?, None)),
            KeySettings::Passphrase(variable) => {
                let derivation = PassphraseHeader::draw(&mut OsRng.unwrap_err());
                Ok((derivation.master_key(&passphrase(variable, true)?)?, Some(derivation)))
            }
        }
    }

    /// How the store is named to people.
    pub fn store_name(&self) -> String {
        let folder = || self.settings.data.untrusted().display().to_string();
        self.settings.store.url.clone().unwrap_or_else(folder)
    }

    /// Opens the store, without a layout: only blobs can be reached.
    ///
    /// # Errors
    /// Why it cannot be reached, and what to do.
    pub async fn objects(&self, create: bool) -> Result<Objects> {
        let mut keys = self.settings.store.options.0.clone();
        if let Some(endpoint) = &self.settings.store.endpoint {
            keys.insert("endpoint".into(), endpoint.clone());
            if endpoint.starts_with("http://") {
                keys.insert("allow_http".into(), "true".into());
            }
        }
        // Only the folder that we chose ourselves is made; a folder that was named must be there.
        let create = create && self.settings.store.url.is_none();
        let options = OpenOptions { keys, create, ..OpenOptions::default() };
        Ok(Objects::open(&self.store_name(), &options).await?)
    }

    /// The store in service, and its meter.
    pub fn wrapped(&self, objects: &Objects, layout: Layout) -> (Store, MeterReader) {
        let meter = Meter::new(objects.with_layout(layout));
        let reader = meter.reader();
        (Retry::new(meter, RetryPolicy::default(), OsRng.unwrap_err().next_u64()), reader)
    }

    /// What is needed to make or open a vault.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn setup(&self, disk: TrustedDisk, store: Store, master: MasterKey) -> Result<Setup<Store>> {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        let workers = Workers::threads(threads)?;
        Ok(Setup { disk, store, master, entropy: Entropy::system(), workers })
    }

    /// Makes a vault.
    ///
    /// # Errors
    /// There is one already; the parameters cannot work; disk, key or store fail. Nothing is left half done that
    /// opening the vault would not complete.
    pub async fn make(&self) -> Result<VaultHeader> {
        let parameters = vault_parameters(self.settings)?;
        if self.has_vault()? {
            return Err(VaultError::AlreadyThere("the trusted folder").into());
        }
        refuse_what_memory_cannot_hold(parameters.trusted_bytes())?;
        let objects = self.objects(true).await?;
        let disk = self.new_disk()?;
        let (master, derivation) = self.new_key()?;
        let header = draw_header(&mut Entropy::system(), parameters, derivation);
        let (store, _) = self.wrapped(&objects, header.parameters.layout());
        Vault::create(&mut self.setup(disk, store, master)?, &header).await?;
        Ok(header)
    }

    /// Opens the vault.
    ///
    /// # Errors
    /// Everything that can be wrong with disk, key, store or vault.
    pub async fn open(&self) -> Result<(Vault, MeterReader)> {
        let disk = self.disk()?;
        let master = self.key(&raw_header(&disk)?)?;
        let header = read_header(&disk, &master)?;
        let objects = self.objects(true).await?;
        let (store, meter) = self.wrapped(&objects, header.parameters.layout());
        let vault = Vault::open(self.setup(disk, store, master)?).await?;
        Ok((vault, meter))
    }

    /// The prices that were asked for: a name of the table that comes with Lethe, or a file and a name in it.
    ///
    /// # Errors
    /// There are no such prices.
    pub fn prices(&self) -> Result<Option<Prices>> {
        let Some(asked) = &self.settings.prices else { return Ok(None) };
        let asked = asked.to_string_lossy();
        let shipped = PriceTable::shipped();
        // A name in the configuration arrives joined to the configuration's folder.
        let name = self.settings.prices.as_ref().and_then(|asked| asked.file_name());
        let is_name = |name: &std::ffi::OsStr| !std::path::Path::new(&*asked).exists() && !name.is_empty();
        let name = name.filter(|name| is_name(name)).map(|name| name.to_string_lossy());
        if let Some(Ok(prices)) = name.map(|name| shipped.get(&name).cloned()).as_ref() {
            return Ok(Some(prices.clone()));
        }
        let (file, name) = asked.rsplit_once('#').map_or((&*asked, None), |(file, name)| (file, Some(name)));
        let text = std::fs::read_to_string(file).with_context(|| {
            let names = shipped.names().collect::<Vec<_>>().join(", ");
            format!("--prices {asked}: this is neither one of {names} nor a file that can be read")
        })?;
        let table: PriceTable = text.parse().with_context(|| format!("--prices {file}"))?;
        let mut names = table.names();
        let name = match (name, names.next(), names.next()) {
            (Some(name), _, _) | (None, Some(name), None) => name,
            _ => bail!("--prices {file} holds several tables: write {file}#NAME"),
        };
        Ok(Some(table.get(name)?.clone()))
    }
}

/// Refuses a vault whose trusted side is larger than this machine's memory.
fn refuse_what_memory_cannot_hold(needed: u64) -> Result<()> {
    // Where the system does not say, the attempt has to.
    let Ok(text) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
    let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
    let Some(total) = total.and_then(|kib| kib.trim().parse::<u64>().ok()) else { return Ok(()) };
    if needed > total << 10 {
        let (needed, total) = (Size(needed), Size(total << 10));
        return Err(VaultError::Parameters(format!(
            "this vault would take {needed} of trusted memory and the machine has {total}: lower --capacity or raise \
             --block-size"
        ))
        .into());
    }
    Ok(())
}

/// The passphrase, from the environment or from the terminal.
fn passphrase(variable: &str, twice: bool) -> Result<Zeroizing<String>> {
    if let Ok(passphrase) = std::env::var(variable) {
        return Ok(Zeroizing::new(passphrase));
    }
    let ask = |prompt: &str| {
        rpassword::prompt_password(prompt)
            .map(Zeroizing::new)
            .with_context(|| format!("no passphrase: set {variable}, or run this on a terminal"))
    };
    let first = ask("Passphrase: ")?;
    if twice && *ask("The same again: ")? != *first {
        bail!("the two passphrases differ: nothing was made");
    }
    Ok(first)
}
