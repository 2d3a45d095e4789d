//! The prices of a vault's provider.

use crate::config::names::PRICES;
use crate::config::{Settings, SettingsError};
use ameles_store::{PriceError, PriceTable, Prices};

/// The name of the default prices in the shipped table.
const DEFAULT: &str = "s3-standard";
/// The name of the prices of a free store.
const FREE: &str = "free";

/// Returns the requested prices: a name of the shipped table, or a file and a name in it.
///
/// # Errors
/// The prices do not exist.
pub fn requested(settings: &Settings) -> Result<Option<Prices>, SettingsError> {
    let Some(requested) = &settings.prices else { return Ok(None) };
    // A name in the configuration file is joined to the folder of that file.
    let name = requested.file_name().filter(|_| !requested.exists()).map(|name| name.to_string_lossy());
    if let Some(Ok(prices)) = name.map(|name| PriceTable::shipped().get(&name).cloned()) {
        return Ok(Some(prices));
    }
    let requested = requested.to_string_lossy();
    find(&requested).map(|(_, prices)| Some(prices)).map_err(|why| SettingsError::Prices {
        name: settings.origins.name(PRICES),
        requested: requested.to_string(),
        why,
    })
}

/// Finds the prices of a name of the shipped table, of `FILE#NAME`, or of a file with one table. Returns them with
/// their name.
///
/// # Errors
/// The reason why the prices do not exist.
pub fn find(requested: &str) -> Result<(String, Prices), String> {
    let shipped = PriceTable::shipped();
    if let Ok(prices) = shipped.get(requested) {
        return Ok((requested.to_owned(), prices.clone()));
    }
    let (file, name) =
        requested.rsplit_once('#').map_or((requested, None), |(file, name)| (file, Some(name)));
    let text = std::fs::read_to_string(file).map_err(|error| {
        let names = shipped.names().collect::<Vec<_>>().join(", ");
        format!("it is neither one of {names} nor a readable file ({error})")
    })?;
    let table: PriceTable = text.parse().map_err(|error: PriceError| error.to_string())?;
    let mut names = table.names();
    let name = match (name, names.next(), names.next()) {
        (Some(name), _, _) | (None, Some(name), None) => name,
        _ => return Err(format!("the file does not have exactly one table: write {file}#NAME")),
    };
    let prices = table.get(name).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), prices.clone()))
}

/// Returns all prices of the shipped table except those of a free store.
pub fn all_providers() -> Vec<(String, Prices)> {
    let table = PriceTable::shipped();
    let names: Vec<String> = table.names().map(str::to_owned).filter(|name| name != FREE).collect();
    names.into_iter().filter_map(|name| Some((name.clone(), table.get(&name).ok()?.clone()))).collect()
}

/// Returns the default prices.
pub fn default_prices() -> Prices {
    PriceTable::shipped().get(DEFAULT).cloned().expect("the shipped table has the default prices")
}
