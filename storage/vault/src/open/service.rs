//! Creating and opening a vault, which is then driven by a thread of its own or by its caller.

use super::setup::Setup;
use super::{create, recovery};
use crate::any_store::AnyStore;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::store::VaultStore;
use crate::store_space::StoreSpace;
use crate::trusted::header::VaultHeader;
use crate::vault::Vault;
use futures::future::LocalBoxFuture;
use std::sync::Arc;
use tokio::sync::oneshot;

impl Vault {
    /// Creates an empty vault. It must be opened afterwards.
    ///
    /// # Errors
    /// [`VaultError::AlreadyExists`], [`VaultError::Parameters`], the errors of disk and store.
    pub async fn create<U: VaultStore>(setup: &mut Setup<U>, header: &VaultHeader) -> Result<(), VaultError> {
        create::create(setup, header).await
    }

    /// Opens a vault on a thread of its own.
    ///
    /// # Errors
    /// Everything that can be wrong with a vault; see [`VaultError`].
    pub async fn open<U: VaultStore + Send>(setup: Setup<U>) -> Result<Vault, VaultError> {
        let (opened, is_open) = oneshot::channel();
        let drive = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return drop(opened.send(Err(VaultError::Disk(ErrorReason::of(error))))),
            };
            runtime.block_on(async move {
                match Self::start(setup).await {
                    Ok((vault, running)) => {
                        let _ = opened.send(Ok(vault));
                        running.await;
                    }
                    Err(error) => drop(opened.send(Err(error))),
                }
            });
        };
        std::thread::Builder::new()
            .name("ameles-vault".into())
            .spawn(drive)
            .map_err(|error| VaultError::Disk(ErrorReason::of(error)))?;
        is_open.await.unwrap_or(Err(VaultError::Closed))
    }

    /// Opens a vault, and returns the future that drives it, which the caller polls. For simulations, and for stores
    /// that cannot leave their thread.
    ///
    /// # Errors
    /// The errors of [`open`](Self::open).
    pub async fn start<U: VaultStore>(
        setup: Setup<U>,
    ) -> Result<(Vault, impl Future<Output = ()>), VaultError> {
        start(setup.erase_store()).await
    }
}

type Running = LocalBoxFuture<'static, ()>;

/// Opens a vault. The futures are boxed, so that the crates that poll them need not compile them.
fn start(setup: Setup<AnyStore>) -> LocalBoxFuture<'static, Result<(Vault, Running), VaultError>> {
    Box::pin(async move {
        let space = Arc::<StoreSpace>::default();
        let setup = Setup { store: setup.store.with_space(Arc::clone(&space)), ..setup };
        let session = recovery::open(setup).await?;
        space.wait(true);
        let (vault, running) = Vault::with_session(session, space);
        Ok((vault, Box::pin(running) as Running))
    })
}
