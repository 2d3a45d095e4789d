//! A clock that stops while any task can run, and then jumps to the next awaited instant.

use std::cell::{Cell, RefCell};
use std::cmp::{Ordering, Reverse};
use std::collections::BinaryHeap;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A clock and its waiting tasks. Instants are times since it began.
#[derive(Default)]
pub struct Clock {
    now: Cell<Duration>,
    timers: RefCell<BinaryHeap<Reverse<Timer>>>,
    /// The number of timers ever set: of two for the same instant, the one that was set first fires first.
    timers_set: Cell<u64>,
}

/// The future waits for an event that no timer will cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("after {after:?} of virtual time the run is stuck: it waits for an event that no timer will cause")]
pub struct Stalled {
    /// The time at which it stalled.
    pub after: Duration,
}

struct Timer {
    at: Duration,
    nth: u64,
    waker: Rc<RefCell<Waker>>,
}

impl Timer {
    fn order(&self) -> (Duration, u64) {
        (self.at, self.nth)
    }
}

impl PartialEq for Timer {
    fn eq(&self, other: &Self) -> bool {
        self.order() == other.order()
    }
}

impl Eq for Timer {}

impl PartialOrd for Timer {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Timer {
    fn cmp(&self, other: &Self) -> Ordering {
        self.order().cmp(&other.order())
    }
}

/// The flag of the future that is run.
struct WakeFlag(AtomicBool);

impl Wake for WakeFlag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Memory::Relaxed);
    }
}

impl Clock {
    /// The present instant.
    pub fn now(&self) -> Duration {
        self.now.get()
    }

    /// Waits until the instant `at`. Returns at once if `at` has passed.
    pub async fn sleep_until(&self, at: Duration) {
        let mut waker: Option<Rc<RefCell<Waker>>> = None;
        poll_fn(|context| {
            if self.now() >= at {
                return Poll::Ready(());
            }
            match &waker {
                Some(waker) => waker.borrow_mut().clone_from(context.waker()),
                None => waker = Some(self.set_timer(at, context.waker().clone())),
            }
            Poll::Pending
        })
        .await;
    }

    /// Runs a future to completion, in virtual time. It may hold many others: they wake one another as they would
    /// under any executor.
    ///
    /// # Errors
    /// [`Stalled`], if it waits for no instant.
    pub fn run<F: Future>(&self, future: F) -> Result<F::Output, Stalled> {
        let mut future = pin!(future);
        let woken = Arc::new(WakeFlag(AtomicBool::new(true)));
        let waker = Waker::from(woken.clone());
        let mut context = Context::from_waker(&waker);
        loop {
            if !woken.0.swap(false, Memory::Relaxed) {
                self.advance()?;
                continue;
            }
            if let Poll::Ready(output) = future.as_mut().poll(&mut context) {
                return Ok(output);
            }
        }
    }

    fn set_timer(&self, at: Duration, waker: Waker) -> Rc<RefCell<Waker>> {
        let waker = Rc::new(RefCell::new(waker));
        let nth = self.timers_set.replace(self.timers_set.get() + 1);
        self.timers.borrow_mut().push(Reverse(Timer { at, nth, waker: waker.clone() }));
        waker
    }

    /// Goes to the next instant that is waited for, and wakes its future.
    fn advance(&self) -> Result<(), Stalled> {
        let next = self.timers.borrow_mut().pop();
        let Reverse(timer) = next.ok_or(Stalled { after: self.now() })?;
        self.now.set(self.now().max(timer.at));
        timer.waker.borrow().wake_by_ref();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures::future::{join, join_all, pending};
    use futures::stream::{FuturesUnordered, StreamExt};

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_that_overlap_take_the_time_of_the_longest() {
        let clock = Clock::default();
        clock.run(join(clock.sleep_until(3 * SECOND), clock.sleep_until(2 * SECOND))).unwrap();
        assert_eq!(clock.now(), 3 * SECOND);
        clock.run(clock.sleep_until(SECOND)).unwrap();
        assert_eq!(clock.now(), 3 * SECOND, "what has passed is not waited for");
    }

    #[test]
    fn futures_go_on_in_the_order_of_their_instants_and_of_their_asking() {
        let clock = Clock::default();
        let order = RefCell::new(Vec::new());
        let one = |nth: u32, at: Duration| {
            let (clock, order) = (&clock, &order);
            async move {
                clock.sleep_until(at).await;
                order.borrow_mut().push(nth);
            }
        };
        let all: FuturesUnordered<_> =
            [one(0, 2 * SECOND), one(1, SECOND), one(2, 2 * SECOND), one(3, Duration::ZERO)]
                .into_iter()
                .collect();
        clock.run(all.collect::<Vec<()>>()).unwrap();
        assert_eq!(*order.borrow(), [3, 1, 0, 2]);
    }

    #[test]
    fn a_future_that_waits_for_nothing_is_an_error() {
        let clock = Clock::default();
        let never = async {
            clock.sleep_until(SECOND).await;
            join_all([pending::<()>()]).await;
        };
        assert_eq!(clock.run(never), Err(Stalled { after: SECOND }));
    }
}
