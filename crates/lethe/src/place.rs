//! Where a vault is and how to get at it: trusted disk, key and store.

use crate::config::names::{
    BLOCK_SIZE, CAPACITY, DATA, ENDPOINT, KEY_ENV, KEY_FILE, KEY_SOURCE, PRICES, STORE, STORE_OPTION,
    TREE_TOP,
};
use crate::config::{KeySettings, Scheme, Settings, SettingsError, VaultConfig};
use crate::interrupt::{Interrupted, Interrupts};
use crate::made::Made;
use crate::parameters::{refuse_contradictions, vault_parameters};
use crate::size::Size;
use crate::successor::{note::Note, switch};
use crate::trusted_memory::TrustedMemory;
use anyhow::{Context, Result, bail};
use lethe_core::layout::Layout;
use lethe_seal::key_file;
use lethe_seal::master_key::MasterKey;
use lethe_seal::parallel::Workers;
use lethe_seal::passphrase::PassphraseHeader;
use lethe_store::{
    Meter, MeterReader, Objects, OpenError, OpenOptions, PriceError, PriceTable, Prices, Retry, RetryPolicy,
    Touched, Touches,
};
use lethe_vault::{
    Entropy, Pace, Setup, TrustedDisk, Vault, VaultError, VaultHeader, VaultParameters, draw_header,
    raw_header, read_header, rows_at_rest,
};
use rand_core::{OsRng, RngCore, TryRngCore};
use std::path::PathBuf;
use zeroize::Zeroizing;

/// The store of a vault in service: every attempt is metered, and one that fails for now is made again.
pub type Store = Retry<Meter<Touched<Objects>>>;

/// The trusted disk's file, in the trusted folder.
pub(crate) const DATABASE: &str = "vault.redb";

/// A key, and how it came from a passphrase if it did.
type NewKey = (MasterKey, Option<PassphraseHeader>);

/// A vault's whereabouts.
pub struct Place<'a> {
    settings: &'a Settings,
}

/// A vault that is made or found, and not open yet.
pub struct Opening {
    /// Its header.
    pub header: VaultHeader,
    setup: Setup<Store>,
    meter: MeterReader,
    objects: Objects,
    touches: Touches,
}

impl Opening {
    /// What is needed to open it.
    pub fn setup(&self) -> &Setup<Store> {
        &self.setup
    }

    /// Counts what is asked of its store.
    pub fn meter(&self) -> &MeterReader {
        &self.meter
    }

    /// Its store as the provider has it.
    pub fn objects(&self) -> &Objects {
        &self.objects
    }

    /// Its rows.
    ///
    /// # Errors
    /// Those of its disk.
    pub fn rows(&self) -> Result<Vec<(Vec<u8>, Vec<u8>)>> {
        Ok(rows_at_rest(&self.setup.disk, &self.setup.master)?)
    }

    /// Has a batch sent at this pace while it is open.
    pub fn paced(mut self, pace: Option<Pace>) -> Self {
        self.setup.pace = pace;
        self
    }

    /// Where its store is touched: for the owner's page.
    pub fn touches(&self) -> Touches {
        self.touches.clone()
    }

    /// Opens it.
    ///
    /// # Errors
    /// Everything that can be wrong with disk, store or vault.
    pub async fn open(self) -> Result<(Vault, MeterReader)> {
        Ok((Vault::open(self.setup).await?, self.meter))
    }
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

    /// The trusted disk of an existing vault. If a successor was taking over when its process was cut off, it has taken
    /// over when this returns.
    ///
    /// # Errors
    /// [`VaultError::NoVault`], [`VaultError::Locked`], [`VaultError::Disk`]; [`SettingsError::Moved`] if the store is
    /// that of a vault whose successor has taken over.
    pub fn disk(&self) -> Result<TrustedDisk> {
        switch::finish(&self.settings.data)?;
        self.refuse_what_has_moved()?;
        // A folder that this user may not look into is not the same as one without a vault.
        let database = self.database();
        let is_there = database.try_exists().with_context(|| {
            format!("{}: {} cannot be looked at", self.settings.origins.name(DATA), database.display())
        })?;
        if is_there { self.open_database() } else { Err(self.no_vault()) }
    }

    fn refuse_what_has_moved(&self) -> Result<()> {
        let Some(moved) = Note::moved(&self.settings.data)? else { return Ok(()) };
        if !moved.from.is_named_by(self.settings) {
            return Ok(());
        }
        let line = moved.serve_line(self.settings);
        Err(SettingsError::Moved { from: self.store_name(), line }.into())
    }

    /// There is none, and where it was looked for.
    pub fn no_vault(&self) -> anyhow::Error {
        anyhow::Error::new(VaultError::NoVault).context(self.settings.data.trusted().display().to_string())
    }

    /// The trusted disk of a vault that is to be made or restored.
    ///
    /// # Errors
    /// [`VaultError::Locked`], [`VaultError::Disk`].
    pub fn new_disk(&self, made: &mut Made) -> Result<TrustedDisk> {
        self.make_trusted(made)?;
        made.will_make_file(&self.database());
        self.open_database()
    }

    fn make_trusted(&self, made: &mut Made) -> Result<()> {
        let folder = self.settings.data.trusted();
        made.will_make_folder(&folder);
        self.settings.data.make_trusted().with_context(|| {
            format!("{}: {} cannot be made", self.settings.origins.name(DATA), folder.display())
        })
    }

    fn open_database(&self) -> Result<TrustedDisk> {
        TrustedDisk::open(&self.database()).with_context(|| self.database().display().to_string())
    }

    /// The key of a vault whose stored header is given.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn key(&self, header: &[u8]) -> Result<MasterKey> {
        let source = self.settings.origins.name(KEY_SOURCE);
        match (&self.settings.key, VaultHeader::passphrase(header)?) {
            (KeySettings::Passphrase(variable), Some(derivation)) => {
                Ok(derivation.master_key(&passphrase(variable, false)?)?)
            }
            (KeySettings::Passphrase(_), None) => Err(SettingsError::Key(format!(
                "this vault was made with a key and not with a passphrase: leave out {source}"
            ))
            .into()),
            (_, Some(_)) => Err(SettingsError::Key(
                "this vault was made with a passphrase: add --passphrase (`key.source`)".into(),
            )
            .into()),
            (_, None) => self.given_key(),
        }
    }

    /// The key that is in a file or in the environment.
    fn given_key(&self) -> Result<MasterKey> {
        let origins = &self.settings.origins;
        let (key, name) = match &self.settings.key {
            KeySettings::Env(variable) => (key_file::from_environment(variable), origins.name(KEY_ENV)),
            KeySettings::File(file) if *file == self.settings.data.master_key() => {
                return Ok(key_file::load(file)?);
            }
            KeySettings::File(file) => (key_file::load(file), origins.name(KEY_FILE)),
            KeySettings::Passphrase(_) => {
                return Err(SettingsError::Key("a passphrase needs the vault's header".into()).into());
            }
        };
        key.context(name)
    }

    /// Whether the key of a new vault here would be that of the vault with this stored header; a passphrase never is, for
    /// a vault has a salt of its own.
    ///
    /// # Errors
    /// The key is not where it should be, or is none.
    pub fn would_share_key_with(&self, header: &[u8]) -> Result<bool> {
        match &self.settings.key {
            KeySettings::Passphrase(_) => Ok(false),
            KeySettings::File(file) if !file.exists() => Ok(false),
            _ => Ok(VaultHeader::decode(header, &self.given_key()?).is_ok()),
        }
    }

    /// The key of a new vault as far as it can be had without making one.
    fn key_for_new(&self) -> Result<Option<NewKey>> {
        match &self.settings.key {
            KeySettings::Passphrase(variable) => {
                let derivation = PassphraseHeader::draw(&mut OsRng.unwrap_err());
                Ok(Some((derivation.master_key(&passphrase(variable, true)?)?, Some(derivation))))
            }
            // A key that is there already may be the key of other vaults too.
            KeySettings::File(file) if !file.exists() => Ok(None),
            _ => Ok(Some((self.given_key()?, None))),
        }
    }

    fn make_key(&self, made: &mut Made) -> Result<NewKey> {
        let KeySettings::File(file) = &self.settings.key else {
            return Ok((self.given_key()?, None));
        };
        made.will_make_file(file);
        Ok((key_file::create(file).with_context(|| self.settings.origins.name(KEY_FILE))?, None))
    }

    /// The command that serves this vault. Options of the store may be secrets, and are left to the reader.
    pub fn serve_line(&self) -> String {
        let (settings, store) = (self.settings, &self.settings.store);
        let mut words = vec!["lethe".to_owned(), "serve".into()];
        let mut flag = |name: &str, value: String| words.extend([name.to_owned(), quoted(&value)]);
        flag("--data", settings.data.root().display().to_string());
        if let Some(url) = &store.url {
            flag("--store", url.clone());
        }
        if let Some(endpoint) = &store.endpoint {
            flag("--endpoint", endpoint.clone());
        }
        for key in store.options.0.keys() {
            flag("--store-option", format!("{key}=…"));
        }
        match &settings.key {
            KeySettings::File(file) if *file == settings.data.master_key() => {}
            KeySettings::File(file) => flag("--key-file", file.display().to_string()),
            KeySettings::Env(variable) => flag("--key-env", variable.clone()),
            KeySettings::Passphrase(_) => words.push("--passphrase".into()),
        }
        words.join(" ")
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
        let (store, origins) = (&self.settings.store, &self.settings.origins);
        let mut keys = store.options.0.clone();
        if let Some(endpoint) = &store.endpoint {
            keys.insert("endpoint".into(), endpoint.clone());
            if endpoint.starts_with("http://") {
                keys.insert("allow_http".into(), "true".into());
            }
        }
        // Only the folder that we chose ourselves is made; a folder that was named must be there.
        let create = create && store.url.is_none();
        let options = OpenOptions { keys, create, ..OpenOptions::default() };
        Objects::open(&self.store_name(), &options).await.map_err(|error| {
            if let OpenError::NoFolder { path } = &error {
                let advice = format!(
                    "{} (`mkdir -p {}` makes it)",
                    origins.name(STORE),
                    quoted(&path.display().to_string())
                );
                return anyhow::Error::new(error).context(advice);
            }
            if let Some(advice) = self.endpoint_of_the_environment(&error) {
                return anyhow::Error::new(error).context(origins.name(STORE)).context(advice);
            }
            let name = match &error {
                OpenError::UnknownOption { key, .. } if !store.options.0.contains_key(key) => ENDPOINT,
                OpenError::UnknownOption { .. } | OpenError::PlainHttp => STORE_OPTION,
                _ if store.url.is_none() => DATA,
                _ => STORE,
            };
            anyhow::Error::new(error).context(origins.name(name))
        })
    }

    /// Whether the address that did not answer as it should came from the environment, and what to do then: the lines
    /// that `serve` prints for its clients set one.
    fn endpoint_of_the_environment(&self, error: &OpenError) -> Option<String> {
        let store = &self.settings.store;
        let may_be_why = matches!(
            error,
            OpenError::PlainHttp
                | OpenError::Unreachable { .. }
                | OpenError::Denied { .. }
                | OpenError::NoBucket { .. }
        );
        let is_s3 = store.url.as_deref().is_some_and(|url| url.starts_with("s3"));
        let is_given = store.endpoint.is_some() || store.options.0.keys().any(|key| key.contains("endpoint"));
        if !may_be_why || !is_s3 || is_given {
            return None;
        }
        let variables = ["AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_S3", "AWS_ENDPOINT"];
        let set = variables.into_iter().find(|name| std::env::var_os(name).is_some())?;
        Some(format!(
            "{set} is set, and so says where the provider is; the lines that `serve` prints for its clients set it: \
             unset it and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or give the provider's with {} and {}",
            self.settings.origins.name(ENDPOINT),
            self.settings.origins.name(STORE_OPTION),
        ))
    }

    /// The untrusted side that holds a vault, which nobody can make.
    ///
    /// # Errors
    /// [`SettingsError::NoStore`] if none was named and the usual one is not there; those of [`objects`](Self::objects).
    pub async fn objects_of_a_vault(&self) -> Result<Objects> {
        let no_folder =
            |error: &anyhow::Error| matches!(error.downcast_ref(), Some(OpenError::NoFolder { .. }));
        match self.objects(false).await {
            Err(error) if no_folder(&error) => Err(SettingsError::NoStore {
                name: self.settings.origins.name(STORE),
                path: self.store_name(),
                named: self.settings.store.url.is_some(),
            }
            .into()),
            objects => objects,
        }
    }

    /// The store in service, its meter, and where it is touched.
    pub fn wrapped(&self, objects: &Objects, layout: Layout) -> (Store, MeterReader, Touches) {
        let touched = Touched::new(objects.with_layout(layout));
        let touches = touched.touches();
        let meter = Meter::new(touched);
        let reader = meter.reader();
        (Retry::new(meter, RetryPolicy::default(), OsRng.unwrap_err().next_u64()), reader, touches)
    }

    /// What is needed to make or open a vault.
    ///
    /// # Errors
    /// There are no threads to be had.
    pub fn setup(&self, disk: TrustedDisk, store: Store, master: MasterKey) -> Result<Setup<Store>> {
        let threads = std::thread::available_parallelism().map_or(1, |threads| threads.get());
        let workers = Workers::threads(threads)?;
        Ok(Setup { disk, store, master, entropy: Entropy::system(), workers, pace: None })
    }

    /// Makes a vault.
    ///
    /// # Errors
    /// There is one already; the parameters cannot work; disk, key or store fail; Ctrl-C. Whatever was made on this
    /// machine is taken back, unless the store may have got the vault's header: opening completes such a vault.
    pub async fn make(&self) -> Result<(Opening, Interrupts)> {
        self.make_of(vault_parameters(self.settings)?).await
    }

    /// Makes a vault with these parameters, whose sizes the settings say too.
    ///
    /// # Errors
    /// As [`make`](Self::make).
    pub async fn make_of(&self, parameters: VaultParameters) -> Result<(Opening, Interrupts)> {
        if self.has_vault()? {
            let folder = self.settings.data.trusted().display().to_string();
            return Err(anyhow::Error::new(VaultError::AlreadyThere("the trusted folder")).context(folder));
        }
        self.refuse_what_memory_cannot_hold(TrustedMemory::of(&parameters).most)?;
        // A passphrase is asked for before Ctrl-C is taken over: a prompt could not be left any more.
        let key = self.key_for_new()?;
        let mut interrupts = Interrupts::listen()?;
        let mut made = Made::new();
        match interrupts.cut_off(self.lay_down(parameters, key, &mut made)).await {
            Ok(opening) => Ok((opening, interrupts)),
            Err(error) => {
                let is_open_question = matches!(error.downcast_ref(), Some(VaultError::Unavailable(_)))
                    || error.is::<Interrupted>();
                if is_open_question && self.has_vault().unwrap_or(false) {
                    return Err(error.context("the vault is made on this machine: `lethe serve` finishes it"));
                }
                made.take_back();
                Err(error)
            }
        }
    }

    async fn lay_down(
        &self,
        parameters: VaultParameters,
        key: Option<NewKey>,
        made: &mut Made,
    ) -> Result<Opening> {
        self.make_trusted(made)?;
        if self.settings.store.url.is_none() {
            made.will_fill_folder(&self.settings.data.untrusted());
        }
        let objects = self.objects(true).await?;
        let disk = self.new_disk(made)?;
        let (master, derivation) = match key {
            Some(key) => key,
            None => self.make_key(made)?,
        };
        let header = draw_header(&mut Entropy::system(), parameters, derivation);
        let (store, meter, touches) = self.wrapped(&objects, header.parameters.layout());
        let mut setup = self.setup(disk, store, master)?;
        Vault::create(&mut setup, &header).await?;
        Ok(Opening { header, setup, meter, touches, objects })
    }

    /// Finds the vault and its key. Nothing is touched.
    ///
    /// # Errors
    /// There is none; what was `asked` for contradicts it; disk, key or store fail.
    pub async fn find(&self, asked: &VaultConfig) -> Result<Opening> {
        let (disk, master) = self.disk_and_key()?;
        self.find_with(disk, master, asked).await
    }

    /// The trusted disk of an existing vault, and its key. The store is not asked.
    ///
    /// # Errors
    /// As [`disk`](Self::disk) and [`key`](Self::key).
    pub fn disk_and_key(&self) -> Result<(TrustedDisk, MasterKey)> {
        let disk = self.disk()?;
        let master = self.key(&raw_header(&disk)?)?;
        Ok((disk, master))
    }

    /// Finds the vault whose trusted disk and key are at hand.
    ///
    /// # Errors
    /// As [`find`](Self::find).
    pub async fn find_with(
        &self,
        disk: TrustedDisk,
        master: MasterKey,
        asked: &VaultConfig,
    ) -> Result<Opening> {
        let header = read_header(&disk, &master)?;
        refuse_contradictions(self.settings, asked, &header.parameters)?;
        let objects = self.objects(false).await.map_err(|error| match error.downcast_ref() {
            // It was there when the vault was made: as good as emptied, and not to be made again.
            Some(OpenError::NoFolder { path }) => {
                let path = path.display().to_string();
                anyhow::Error::new(VaultError::HeaderVanished).context(path)
            }
            _ => error,
        })?;
        let (store, meter, touches) = self.wrapped(&objects, header.parameters.layout());
        Ok(Opening { header, setup: self.setup(disk, store, master)?, meter, touches, objects })
    }

    /// Opens the vault.
    ///
    /// # Errors
    /// Everything that can be wrong with disk, key, store or vault.
    pub async fn open(&self) -> Result<(Vault, MeterReader)> {
        self.find(&VaultConfig::default()).await?.open().await
    }

    /// The prices that were asked for: a name of the table that comes with Lethe, or a file and a name in it.
    ///
    /// # Errors
    /// There are no such prices.
    pub fn prices(&self) -> Result<Option<Prices>, SettingsError> {
        let Some(asked) = &self.settings.prices else { return Ok(None) };
        let shipped = PriceTable::shipped();
        // A name in the configuration arrives joined to the configuration's folder.
        let name = asked.file_name().filter(|_| !asked.exists()).map(|name| name.to_string_lossy());
        if let Some(Ok(prices)) = name.map(|name| shipped.get(&name).cloned()) {
            return Ok(Some(prices));
        }
        let asked = asked.to_string_lossy();
        let wrong = |why: String| SettingsError::Prices {
            name: self.settings.origins.name(PRICES),
            asked: asked.to_string(),
            why,
        };
        let (file, name) = asked.rsplit_once('#').map_or((&*asked, None), |(file, name)| (file, Some(name)));
        let text = std::fs::read_to_string(file).map_err(|error| {
            let names = shipped.names().collect::<Vec<_>>().join(", ");
            wrong(format!("this is neither one of {names} nor a file that can be read ({error})"))
        })?;
        let table: PriceTable = text.parse().map_err(|error: PriceError| wrong(error.to_string()))?;
        let mut names = table.names();
        let name = match (name, names.next(), names.next()) {
            (Some(name), _, _) | (None, Some(name), None) => name,
            _ => return Err(wrong(format!("it does not hold exactly one table: write {file}#NAME"))),
        };
        table.get(name).cloned().map(Some).map_err(|error| wrong(error.to_string()))
    }

    /// Refuses a vault whose trusted side is larger than this machine's memory.
    fn refuse_what_memory_cannot_hold(&self, needed: u64) -> Result<(), SettingsError> {
        // Where the system does not say, the attempt has to.
        let Ok(text) = std::fs::read_to_string("/proc/meminfo") else { return Ok(()) };
        let total = text.lines().find_map(|line| line.strip_prefix("MemTotal:")?.trim().strip_suffix(" kB"));
        let Some(total) = total.and_then(|kib| kib.trim().parse::<u64>().ok()) else { return Ok(()) };
        if needed <= total << 10 {
            return Ok(());
        }
        let origins = &self.settings.origins;
        Err(SettingsError::Memory {
            name: origins.name(CAPACITY),
            capacity: self.settings.capacity,
            needed: Size(needed),
            total: Size(total << 10),
            advice: self.smaller_tree_top(total << 10),
            block_name: origins.name(BLOCK_SIZE),
        })
    }

    /// Advice for a vault that does not fit into `total` bytes: the largest tree top with which it takes half of them.
    fn smaller_tree_top(&self, total: u64) -> String {
        let (name, half) = (self.settings.origins.name(TREE_TOP), total / 2);
        let needed = |top: Size| {
            let mut smaller = self.settings.clone();
            smaller.scheme.tree_top = Some(top);
            vault_parameters(&smaller).map_or(u64::MAX, |parameters| TrustedMemory::of(&parameters).most)
        };
        if self.settings.scheme.scheme == Scheme::Trivial {
            return String::new();
        }
        let tops = (20..=half.max(1).ilog2()).rev().map(|power| Size(1 << power));
        let fitting = tops.map(|top| (top, needed(top))).find(|(_, needed)| *needed <= half);
        fitting.map_or_else(String::new, |(top, needed)| {
            // As one word, for a shell.
            let top = top.to_string().replace(' ', "");
            format!("{name} of {top} brings it down to {}, for more bytes moved; or ", Size(needed))
        })
    }
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:=,@%+…".contains(letter);
    if word.chars().all(is_plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

/// The passphrase, from the environment or from the terminal.
fn passphrase(variable: &str, twice: bool) -> Result<Zeroizing<String>> {
    if let Ok(passphrase) = std::env::var(variable) {
        if passphrase.is_empty() {
            let why = format!("{variable} is empty: set it to the passphrase, or unset it to be asked");
            return Err(SettingsError::Key(why).into());
        }
        return Ok(Zeroizing::new(passphrase));
    }
    let ask = |prompt: &str| {
        rpassword::prompt_password(prompt).map(Zeroizing::new).map_err(|error| {
            SettingsError::Key(format!("no passphrase ({error}): set {variable}, or run this on a terminal"))
        })
    };
    let first = ask("Passphrase: ")?;
    if first.is_empty() {
        return Err(SettingsError::Key("an empty passphrase protects nothing: type one".into()).into());
    }
    if twice && *ask("The same again: ")? != *first {
        bail!("the two passphrases differ: nothing was made");
    }
    Ok(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Config;
    use std::path::Path;

    fn settings(text: &str) -> Settings {
        Settings::resolve(Config::parse(text, Path::new("lethe.toml")).unwrap()).unwrap()
    }

    #[test]
    fn a_vault_too_large_for_the_machine_is_told_a_tree_top_that_fits() {
        let large = settings("[vault]\ncapacity = \"1TiB\"");
        let memory = 16 << 30;
        assert!(TrustedMemory::of(&vault_parameters(&large).unwrap()).most > memory);
        let advice = Place::new(&large).smaller_tree_top(memory);
        let top =
            advice.strip_prefix("--tree-top of ").and_then(|rest| rest.split_once(" brings")).unwrap().0;
        let mut smaller = large.clone();
        smaller.scheme.tree_top = Some(top.parse().unwrap());
        assert!(TrustedMemory::of(&vault_parameters(&smaller).unwrap()).most <= memory / 2, "{advice}");
        assert_eq!(Place::new(&large).smaller_tree_top(1 << 20), "", "nothing fits into a mebibyte");
    }

    #[test]
    fn the_line_that_serves_a_restored_vault_can_be_pasted_and_shows_no_secret() {
        let settings = settings(
            "data = \"/my data\"\n[store]\nurl = \"s3://b/p\"\noptions = { secret_access_key = \"hush\" }\n\
             [key]\nfile = \"/k\"",
        );
        assert_eq!(
            Place::new(&settings).serve_line(),
            "lethe serve --data '/my data' --store s3://b/p --store-option secret_access_key=… --key-file /k"
        );
    }
}
