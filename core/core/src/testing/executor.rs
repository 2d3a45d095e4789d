//! Futures driven by hand, in an order that the test decides.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::task::Wake;
use alloc::vec::Vec;
use core::future::Future;
use core::pin::{Pin, pin};
use core::sync::atomic::{AtomicBool, Ordering};
use core::task::{Context, Poll, Waker};

/// Polls a future over an always-ready store: one poll must finish it.
///
/// # Panics
/// If the future waits for anything.
pub fn finish_now<F: Future>(future: F) -> F::Output {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(output) => output,
        Poll::Pending => panic!("the future waits for an operation that no one will complete"),
    }
}

/// Several futures side by side on one thread. A task is polled only if it is new or was woken, so that a lost wake-up
/// becomes a task that never ends.
#[derive(Default)]
pub struct Executor<'a> {
    tasks: Vec<Task<'a>>,
    ended: usize,
}

impl<'a> Executor<'a> {
    /// An executor without tasks.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a task; it starts at the next [`run`](Self::run).
    pub fn spawn(&mut self, future: impl Future<Output = ()> + 'a) {
        self.tasks.push(Task::new(future));
    }

    /// Polls woken tasks, the oldest first, until no task is woken.
    pub fn run(&mut self) {
        let mut progress = true;
        while progress {
            progress = false;
            for task in self.tasks.iter_mut().filter(|task| !task.has_ended()) {
                progress |= task.poll();
                self.ended += usize::from(task.has_ended());
            }
        }
    }

    /// Tasks that have ended.
    pub fn ended(&self) -> usize {
        self.ended
    }

    /// Tasks that have not ended.
    pub fn unfinished(&self) -> usize {
        self.tasks.len() - self.ended
    }
}

/// A future that is polled only when it is new or was woken.
pub struct Task<'a> {
    future: Option<Pin<Box<dyn Future<Output = ()> + 'a>>>,
    woken: Arc<Woken>,
}

struct Woken(AtomicBool);

impl Wake for Woken {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::Relaxed);
    }
}

impl<'a> Task<'a> {
    /// A task that has not begun.
    pub fn new(future: impl Future<Output = ()> + 'a) -> Self {
        Task { future: Some(Box::pin(future)), woken: Arc::new(Woken(AtomicBool::new(true))) }
    }

    /// Polls the task if it is new or was woken. Returns whether it was polled.
    pub fn poll(&mut self) -> bool {
        let Some(future) = &mut self.future else {
            return false;
        };
        if !self.woken.0.swap(false, Ordering::Relaxed) {
            return false;
        }
        let waker = Waker::from(self.woken.clone());
        if future.as_mut().poll(&mut Context::from_waker(&waker)).is_ready() {
            self.future = None;
        }
        true
    }

    /// Returns whether the task will continue when it is polled.
    pub fn is_woken(&self) -> bool {
        self.woken.0.load(Ordering::Relaxed)
    }

    /// Returns whether the task has ended.
    pub fn has_ended(&self) -> bool {
        self.future.is_none()
    }
}
