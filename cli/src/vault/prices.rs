//! The prices of a vault's provider.

use crate::config::names::PRICES;
use crate::config::{Settings, SettingsError};
use ameles_store::{PriceError, PriceTable, Prices};

/// The name of the prices that hold where none are asked for, in the table that comes with Ameles.
const DEFAULT: &str = "s3-standard";
/// The name of a store that costs nothing.
const FREE: &str = "free";

/// The prices that were asked for: a name of the table that comes with Ameles, or a file and a name in it.
///
/// # Errors
/// There are no such prices.
pub fn requested(settings: &Settings) -> Result<Option<Prices>, SettingsError> {
    let Some(requested) = &settings.prices else { return Ok(None) };
    // A name in the configuration arrives joined to the configuration's folder.
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

/// The prices of a name of the table that comes with Ameles, of `FILE#NAME`, or of a file with one table; with their name.
///
/// # Errors
/// The reason why there are no such prices.
pub fn find(requested: &str) -> Result<(String, Prices), String> {
    let shipped = PriceTable::shipped();
    if let Ok(prices) = shipped.get(requested) {
        return Ok((requested.to_owned(), prices.clone()));
    }
    let (file, name) =
        requested.rsplit_once('#').map_or((requested, None), |(file, name)| (file, Some(name)));
    let text = std::fs::read_to_string(file).map_err(|error| {
        let names = shipped.names().collect::<Vec<_>>().join(", ");
        format!("this is neither one of {names} nor a file that can be read ({error})")
    })?;
    let table: PriceTable = text.parse().map_err(|error: PriceError| error.to_string())?;
    let mut names = table.names();
    let name = match (name, names.next(), names.next()) {
        (Some(name), _, _) | (None, Some(name), None) => name,
        _ => return Err(format!("it does not hold exactly one table: write {file}#NAME")),
    };
    let prices = table.get(name).map_err(|error| error.to_string())?;
    Ok((name.to_owned(), prices.clone()))
}

/// All prices of the table that comes with Ameles, but for those of a store that costs nothing.
pub fn all_providers() -> Vec<(String, Prices)> {
    let table = PriceTable::shipped();
    let names: Vec<String> = table.names().map(str::to_owned).filter(|name| name != FREE).collect();
    names.into_iter().filter_map(|name| Some((name.clone(), table.get(&name).ok()?.clone()))).collect()
}

/// The prices that hold where none are asked for.
pub fn default_prices() -> Prices {
    PriceTable::shipped().get(DEFAULT).cloned().expect("the shipped table has them")
}
