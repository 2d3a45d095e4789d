//! Commits of changes in groups. Each change is checked against the catalogue with the earlier changes of its group. A
//! group becomes durable as one, and then visible.
//!
//! A sync takes milliseconds however little it writes. While one group is written, other changes wait, and the next
//! group takes all of them. Readers see the catalogue before or after a group, and never what is not durable. A group
//! that fails fails for every caller in it, also for those that were refused because of another change of the group.

use crate::catalogue::staging::Staging;
use crate::catalogue::{Catalogue, Change};
use crate::device::{Device, DeviceError};
use crate::error::Error;
use crate::objects::failed_commit::FailedCommit;
use crate::objects::gateway::Inner;
use crate::objects::group::{Group, PlannedChange, QueuedPlan, plan};
use std::collections::VecDeque;
use std::panic::resume_unwind;
use std::sync::Arc;
use tokio::sync::oneshot;

impl Inner {
    /// Changes the catalogue. `plan` sees the present catalogue and returns the changes, or the reason against them; no
    /// other change comes between. The catalogue that it sees may not be durable yet, so the answer waits until it is.
    /// The change runs to its end even if the caller drops the future.
    pub(crate) async fn change<T, F>(self: &Arc<Self>, plan: F) -> Result<T, Error>
    where
        T: Send + 'static,
        F: FnOnce(&Catalogue) -> Result<(Vec<Change>, T), Error> + Send + 'static,
    {
        let (caller, answer) = oneshot::channel();
        self.commits.waiting.lock().push_back(Box::new(QueuedPlan(plan, caller)));
        let inner = Arc::clone(self);
        self.tasks.spawn(async move { inner.commit_waiting().await });
        match answer.await {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(panic)) => resume_unwind(panic),
            Err(_) => Err(DeviceError::Closed.into()),
        }
    }

    async fn commit_waiting(&self) {
        let mut failed_commit = self.commits.turn.lock().await;
        while let Some(first) = self.take_waiting() {
            match self.restore_rows(&mut failed_commit).await {
                Ok(()) => self.commit_group(first, &mut failed_commit).await,
                Err(failure) => first.into_iter().for_each(|queued| queued.refuse(failure.clone())),
            }
        }
    }

    fn take_waiting(&self) -> Option<VecDeque<Box<dyn PlannedChange>>> {
        let waiting = std::mem::take(&mut *self.commits.waiting.lock());
        (!waiting.is_empty()).then_some(waiting)
    }

    /// Writes the earlier rows again after a commit whose outcome is unknown.
    async fn restore_rows(&self, failed_commit: &mut Option<FailedCommit>) -> Result<(), DeviceError> {
        if let Some(commit) = failed_commit {
            self.device.commit_rows(commit.old_rows.clone()).await?;
            tracing::info!("the catalogue is consistent again after a failed commit");
            *failed_commit = None;
        }
        Ok(())
    }

    async fn commit_group(
        &self,
        queued: VecDeque<Box<dyn PlannedChange>>,
        failed_commit: &mut Option<FailedCommit>,
    ) {
        let (group, last) = self.plan_group(queued);
        let durable = self.commit(group, failed_commit).await;
        match (last, durable) {
            (None, _) => {}
            (Some(last), Ok(())) => drop(self.commit(last, failed_commit).await),
            // It was planned after the group that failed.
            (Some(last), failed) => last.notify(&failed),
        }
    }

    /// Plans the queued changes in their order. A group takes changes as long as the table of rows surely has space for
    /// them. The next change, whose space the device must check, is a group of its own. The rest waits.
    fn plan_group(&self, mut queued: VecDeque<Box<dyn PlannedChange>>) -> (Group, Option<Group>) {
        let mut group = Group::default();
        let free = self.device.rows_free();
        if queued.len() == 1 {
            let catalogue = self.catalogue.read();
            queued.into_iter().for_each(|queued| group.add(plan(queued, &catalogue, free)));
            return (group, None);
        }
        let mut catalogue = self.catalogue.write();
        let mut staging = Staging::of(&mut catalogue);
        while let Some(next) = queued.pop_front() {
            let next = plan(next, staging.catalogue(), free.saturating_sub(group.growth));
            if !group.changes.is_empty() && group.growth.saturating_add(next.growth) > free {
                self.requeue(queued);
                return (group, Some(next));
            }
            if next.changes.is_empty() && group.changes.is_empty() {
                next.notify(&Ok(()));
                continue;
            }
            if !queued.is_empty() {
                next.changes.iter().for_each(|next| staging.apply(next));
            }
            group.add(next);
        }
        (group, None)
    }

    fn requeue(&self, queued: VecDeque<Box<dyn PlannedChange>>) {
        let mut waiting = self.commits.waiting.lock();
        for queued in queued.into_iter().rev() {
            waiting.push_front(queued);
        }
    }

    /// Makes a group durable and then visible, and notifies its callers.
    async fn commit(
        &self,
        mut group: Group,
        failed_commit: &mut Option<FailedCommit>,
    ) -> Result<(), DeviceError> {
        let mut durable = Ok(());
        if !group.changes.is_empty() {
            durable = self.device.commit_rows(std::mem::take(&mut group.new_rows)).await;
            let changes = std::mem::take(&mut group.changes);
            match &durable {
                Ok(()) => {
                    let mut catalogue = self.catalogue.write();
                    changes.into_iter().for_each(|planned| catalogue.apply(planned));
                }
                Err(DeviceError::Full | DeviceError::RowsFull) => {}
                Err(failure) => {
                    tracing::error!(error = %failure, "a catalogue commit failed: it is rolled back before the next one");
                    let replaced = changes.into_iter().flat_map(|planned| planned.changes).collect();
                    *failed_commit = Some(FailedCommit {
                        old_rows: std::mem::take(&mut group.old_rows),
                        _changes: replaced,
                    });
                }
            }
        }
        group.notify(&durable);
        durable
    }
}
