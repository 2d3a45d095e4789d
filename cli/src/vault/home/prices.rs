//! The prices of a vault's provider.

use super::Home;
use crate::config::SettingsError;
use crate::vault::prices;
use ameles_store::Prices;

impl Home<'_> {
    /// Returns the requested prices.
    ///
    /// # Errors
    /// The prices do not exist.
    pub fn prices(&self) -> Result<Option<Prices>, SettingsError> {
        prices::requested(self.settings)
    }
}
