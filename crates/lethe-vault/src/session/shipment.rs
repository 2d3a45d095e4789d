//! Shipments: checkpoints sealed for the store, with all rows, and their way there.
//!
//! A catalogue may have gigabytes. Its rows are read, and the checkpoint is encoded and sealed, on a thread of their own:
//! requests are served meanwhile. The rows are those of the checkpoint's moment. One that came later could name a block
//! that the checkpoint does not hold yet.

use super::Session;
use super::checkpoints::{SHIPPING, Shipping};
use super::outbox::Event;
use crate::error::VaultError;
use crate::session::pace::{Local, next_instant};
use crate::store::{SHIPPED, VaultStore};
use crate::trusted::checkpoint::{Checkpoint, Shipped, ShippedCheckpoint, blob_name, blob_order, digest};
use crate::trusted::header::VaultHeader;
use lethe_seal::blob;
use lethe_seal::derive::{Purpose, Salt};
use lethe_seal::master_key::MasterKey;
use lethe_store::Blobs;
use tokio::time::Instant;

/// A checkpoint that is sealed for the store.
pub(super) struct Shipment {
    sealed: Vec<u8>,
    shipped: Shipped,
    /// The moment at which the work on it began.
    began: Instant,
}

impl<U: VaultStore> Session<U> {
    /// Has a checkpoint sealed for the store, beside whatever is asked for meanwhile. Nothing may have begun since the
    /// checkpoint: the rows are held as they are now.
    pub(super) async fn prepare_shipment(
        &mut self,
        checkpoint: Checkpoint,
        began: Instant,
    ) -> Result<(), VaultError> {
        let Checkpoint { number, accesses, scheme, versions, .. } = checkpoint;
        let attempt = borsh::to_vec(&number).expect("memory takes every write");
        self.outbox.on_disk(&self.disk, move |disk| disk.set_meta(SHIPPING, &attempt)).await?;
        let rows = self.rows.hold()?;
        let (history, salt) = (self.checkpoints.history.clone(), self.entropy.salt());
        let (epoch, newest) = (self.identity.epoch, (versions.epochs().newest(), versions.counter()));
        let (header, master) = (self.identity.header.clone(), self.identity.master.clone());
        let seal = move || {
            let rows = rows.load()?;
            let whole = ShippedCheckpoint { number, epoch, accesses, scheme, versions, rows, history };
            let sealed = seal_shipped(&header, &master, whole, salt)?;
            let shipped = Shipped { number, epoch, newest, digest: digest(&sealed) };
            Ok(Shipment { sealed, shipped, began })
        };
        self.checkpoints.shipping = Shipping::UnderWay;
        let disk = self.disk.clone();
        self.outbox
            .have_done_beside(Box::pin(async move { Event::Sealed(disk.carry_out(move |_| seal()).await) }));
        Ok(())
    }

    /// Sends a shipment on its way.
    pub(super) fn send_shipment(&mut self, shipment: Shipment) {
        let Shipment { sealed, shipped, began } = shipment;
        let Shipped { number, epoch, .. } = shipped;
        let name = blob_name(epoch, number);
        let identity = self.identity.clone();
        let (store, instants) = (self.engine.sealed.clone(), self.outbox.instants());
        let errand = Box::pin(async move {
            let shipping = async {
                identity.claims(store.untrusted()).check(epoch).await?;
                next_instant(instants).await;
                if !store.untrusted().put_if_absent(&name, &sealed).await? {
                    return Err(VaultError::Copied(name));
                }
                next_instant(instants).await;
                for older in store.untrusted().list("checkpoint/").await? {
                    if blob_order(&older.name).is_some_and(|older| older < (epoch, number)) {
                        next_instant(instants).await;
                        Blobs::remove(store.untrusted(), &older.name).await?;
                    }
                }
                Ok(shipped)
            };
            Event::Shipped(shipping.await)
        });
        self.outbox.send(Local::Shipment, began, errand);
    }

    /// Notes that a checkpoint has reached the store.
    pub(super) async fn was_shipped(&mut self, shipped: Shipped) -> Result<(), VaultError> {
        self.checkpoints.has_shipped(shipped);
        let note = borsh::to_vec(&(shipped, &self.checkpoints.history)).expect("memory takes every write");
        self.outbox.on_disk(&self.disk, move |disk| disk.set_meta(SHIPPED, &note)).await?;
        let receipt = self.checkpoints.receipt(self.identity.header.vault);
        self.checkpoints.answer(receipt);
        self.collect_garbage();
        Ok(())
    }
}

/// Seals a checkpoint under the name that it has in the store.
fn seal_shipped(
    header: &VaultHeader,
    master: &MasterKey,
    whole: ShippedCheckpoint,
    salt: Salt,
) -> Result<Vec<u8>, VaultError> {
    let name = blob_name(whole.epoch, whole.number);
    let context = [header.vault.0.as_slice(), name.as_bytes()].concat();
    let text = whole.encode(&header.parameters);
    Ok(blob::seal(master, Purpose::CHECKPOINT, &context, header.parameters.cipher()?, salt, &text))
}
