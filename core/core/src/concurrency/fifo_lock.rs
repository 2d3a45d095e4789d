//! A lock that its futures get one after the other, in the order in which they requested it.

use alloc::collections::VecDeque;
use core::cell::RefCell;
use core::future::poll_fn;
use core::task::{Poll, Waker};

/// A first-in, first-out lock, so that a replay sees the same order.
#[derive(Debug, Default)]
pub struct FifoLock {
    queue: RefCell<Queue>,
}

#[derive(Debug, Default)]
struct Queue {
    tickets: VecDeque<(u64, Option<Waker>)>,
    issued: u64,
}

/// A place in the queue. The future that awaited it holds the lock until the guard is dropped.
#[derive(Debug)]
pub struct FifoGuard<'a> {
    lock: &'a FifoLock,
    ticket: u64,
}

impl FifoLock {
    /// A lock whose queue holds `places` futures, the holder included, before it allocates.
    pub fn with_room(places: usize) -> Self {
        let tickets = VecDeque::with_capacity(places);
        FifoLock { queue: RefCell::new(Queue { tickets, issued: 0 }) }
    }

    /// Waits for the lock. Dropping the future or the guard lets the next future in.
    pub async fn acquire(&self) -> FifoGuard<'_> {
        let guard = self.enqueue();
        poll_fn(|context| {
            let mut queue = self.queue.borrow_mut();
            if queue.tickets[0].0 == guard.ticket {
                return Poll::Ready(());
            }
            let own = queue.tickets.iter_mut().find(|(ticket, _)| *ticket == guard.ticket);
            own.expect("a ticket stays in the queue until its guard is dropped").1 =
                Some(context.waker().clone());
            Poll::Pending
        })
        .await;
        guard
    }

    /// Returns whether no future holds the lock or waits for it.
    pub fn is_free(&self) -> bool {
        self.queue.borrow().tickets.is_empty()
    }

    fn enqueue(&self) -> FifoGuard<'_> {
        let mut queue = self.queue.borrow_mut();
        let ticket = queue.issued;
        queue.issued += 1;
        queue.tickets.push_back((ticket, None));
        FifoGuard { lock: self, ticket }
    }
}

impl Drop for FifoGuard<'_> {
    fn drop(&mut self) {
        let next = {
            let mut queue = self.lock.queue.borrow_mut();
            let at = queue.tickets.iter().position(|(ticket, _)| *ticket == self.ticket);
            at.map(|at| queue.tickets.remove(at));
            queue.tickets.front_mut().and_then(|(_, waker)| waker.take())
        };
        if let Some(waker) = next {
            waker.wake();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::pin::pin;
    use core::task::Context;

    #[test]
    fn the_lock_is_given_in_the_order_asked_even_if_one_leaves_the_queue() {
        let lock = FifoLock::default();
        let mut context = Context::from_waker(Waker::noop());
        let mut first = pin!(lock.acquire());
        let Poll::Ready(guard) = first.as_mut().poll(&mut context) else { panic!("the queue was empty") };
        let mut third = pin!(lock.acquire());
        {
            let mut second = pin!(lock.acquire());
            assert!(second.as_mut().poll(&mut context).is_pending());
            assert!(third.as_mut().poll(&mut context).is_pending());
        }
        assert!(third.as_mut().poll(&mut context).is_pending(), "the first still has the turn");
        drop(guard);
        let Poll::Ready(guard) = third.as_mut().poll(&mut context) else { panic!("the turn was passed on") };
        assert!(!lock.is_free());
        drop(guard);
        assert!(lock.is_free());
    }
}
