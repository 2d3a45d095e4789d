//! Commits of changes, one after the other: checked against the catalogue, made durable, then made visible.

use crate::catalogue::{Catalogue, Change};
use crate::device::{Device, DeviceError};
use crate::error::Error;
use crate::objects::gateway::Inner;
use crate::objects::uncertain::Uncertain;
use std::sync::Arc;

impl<D: Device> Inner<D> {
    /// Changes the catalogue. `plan` sees it as it stands and returns the changes, or the reason against them; nothing
    /// comes between `plan` and the change. Runs to its end even if the caller drops the future.
    pub(crate) async fn change<T, F>(self: &Arc<Self>, plan: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error> + Send + 'static,
    {
        let inner = Arc::clone(self);
        let task = self.tasks.spawn(async move { inner.change_to_its_end(plan).await });
        match task.await {
            Ok(outcome) => outcome,
            Err(failure) if failure.is_panic() => std::panic::resume_unwind(failure.into_panic()),
            Err(_) => Err(DeviceError::Closed.into()),
        }
    }

    async fn change_to_its_end<T>(
        &self,
        plan: impl FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error>,
    ) -> Result<T, Error> {
        let mut uncertain = self.committing.lock().await;
        if let Some(commit) = &*uncertain {
            self.device.commit_rows(commit.back.clone()).await?;
            tracing::info!("the catalogue's rows are certain again");
            *uncertain = None;
        }
        let (changes, fragments, outcome, forth, back) = {
            let catalogue = self.catalogue.read();
            let (changes, outcome) = plan(&catalogue)?;
            let fragments = catalogue.fragment_changes(&changes);
            let (forth, back) = catalogue.rows_of(&changes, &fragments);
            (changes, fragments, outcome, forth, back)
        };
        if changes.is_empty() {
            return Ok(outcome);
        }
        match self.device.commit_rows(forth).await {
            Ok(()) => {
                self.catalogue.write().apply(changes, fragments);
                Ok(outcome)
            }
            Err(refusal @ (DeviceError::Full | DeviceError::RowsFull)) => Err(refusal.into()),
            Err(failure) => {
                tracing::error!(error = %failure, "a commit of the catalogue failed; it is taken back before the next");
                *uncertain = Some(Uncertain { back, _held: changes });
                Err(failure.into())
            }
        }
    }
}
