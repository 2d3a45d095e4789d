//! The prices of a vault's provider.

use super::Home;
use crate::config::SettingsError;
use crate::vault::prices;
use ameles_store::Prices;

impl Home<'_> {
    /// The prices that were asked for.
    ///
    /// # Errors
    /// There are no such prices.
    pub fn prices(&self) -> Result<Option<Prices>, SettingsError> {
        prices::requested(self.settings)
    }
}
