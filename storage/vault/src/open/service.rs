//! Creating and opening a vault, which is then driven by a thread of its own or by its caller.

use super::setup::Setup;
use super::standby::{Standby, stand_by};
use super::{create, recovery};
use crate::any_store::AnyStore;
use crate::error::VaultError;
use crate::error_reason::ErrorReason;
use crate::session::Session;
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
        on_own_thread(move || start(setup.erase_store())).await
    }

    /// Follows a vault that another gateway serves, on a thread of its own, and takes it over when that gateway is gone.
    /// If the caller drops this future, the standby ends.
    ///
    /// # Errors
    /// [`VaultError::AlreadyExists`] if the trusted disk has a vault. [`VaultError::Parameters`] if the vault's journal
    /// is not [`JournalPlace::Standby`](crate::JournalPlace::Standby). Tampering, and the errors of disk and store.
    pub async fn stand_by<U: VaultStore + Send>(
        setup: Setup<U>,
        standby: Standby,
    ) -> Result<Vault, VaultError> {
        on_own_thread(move || start_standby(setup.erase_store(), standby)).await
    }

    /// Does the same as [`stand_by`](Self::stand_by), and returns the future that drives the vault, which the caller
    /// polls.
    ///
    /// # Errors
    /// The errors of [`stand_by`](Self::stand_by).
    pub async fn start_standby<U: VaultStore>(
        setup: Setup<U>,
        standby: Standby,
    ) -> Result<(Vault, impl Future<Output = ()>), VaultError> {
        start_standby(setup.erase_store(), standby).await
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

/// The future of an opening. It is boxed, so that the crates that poll it need not compile it.
type Starting = LocalBoxFuture<'static, Result<(Vault, Running), VaultError>>;

/// Opens a vault on a thread of its own, which then drives it. If the caller drops this future, the opening ends.
async fn on_own_thread(start: impl FnOnce() -> Starting + Send + 'static) -> Result<Vault, VaultError> {
    let (mut opened, is_open) = oneshot::channel();
    let drive = move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = match runtime {
            Ok(runtime) => runtime,
            Err(error) => return drop(opened.send(Err(VaultError::Disk(ErrorReason::of(error))))),
        };
        runtime.block_on(async move {
            let started = tokio::select! {
                started = start() => started,
                () = opened.closed() => return,
            };
            match started {
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

fn start(setup: Setup<AnyStore>) -> Starting {
    Box::pin(async move {
        let space = Arc::<StoreSpace>::default();
        let setup = Setup { store: setup.store.with_space(Arc::clone(&space)), ..setup };
        let session = recovery::open(setup).await?;
        Ok(with_space(session, space))
    })
}

fn start_standby(setup: Setup<AnyStore>, standby: Standby) -> Starting {
    Box::pin(async move {
        let space = Arc::<StoreSpace>::default();
        let mut setup = Setup { store: setup.store.with_space(Arc::clone(&space)), ..setup };
        let session = stand_by(&mut setup, &standby).await?;
        Ok(with_space(session, space))
    })
}

/// The handle on a session, whose writes wait for space in the store from now on.
fn with_space(session: Session<AnyStore>, space: Arc<StoreSpace>) -> (Vault, Running) {
    space.wait(true);
    let (vault, running) = Vault::with_session(session, space);
    (vault, Box::pin(running))
}
