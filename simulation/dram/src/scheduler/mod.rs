//! The scheduler of a channel: its rules, and two implementations of them.
//!
//! Channels share nothing. A channel has a command bus, which carries one command at a time, and a data bus. An
//! activate holds the command bus for `activate` cycles of [`CommandBus`](crate::CommandBus), a read or write for
//! `column`, and any other command for one. All other times below are names of [`Timing`](crate::Timing),
//! [`Refresh`](crate::Refresh) and [`Queues`](crate::Queues); those *in the group* are of
//! [`SameGroup`](crate::SameGroup). The bank group of a bank is its number modulo the groups. "Read" and "write" are
//! the commands. A request is one burst of a block that a caller reads or writes. Its age is the order of submission.
//!
//! # A cycle
//!
//! In each cycle, from cycle 0, a channel does four things in this order.
//!
//! 1. **Refreshes fall due.** In the cycles `k · batch · interval + rank · stagger`, for k = 1, 2, …, the rank gets
//!    `batch` more pending refreshes. A rank with a pending one is *closed*: nothing but step 4a touches it.
//! 2. **Requests enter the queues.** There is a queue of at most `read` reads and another of at most `write` writes. A
//!    request has arrived if its cycle of submission is not later than this one. Arrived requests enter the queue of
//!    their kind in the order of age while it has room. The rest wait outside it, and their number is not bounded. A
//!    read is compared with the older writes of its channel that are not yet issued, in the queue and outside. If any
//!    is of the same burst, the read is *forwarded*: it takes no room, and is done in the next cycle.
//! 3. **The active queue is chosen.** A drain ends if `low` or fewer writes are queued, and begins if `high` or more
//!    are. The write queue is active during a drain, and while no read is queued. At other times the read queue is
//!    active.
//! 4. **A command is chosen**: the first of these that may be issued in this cycle, or none.
//!    While a command holds the command bus, none is chosen.
//!    - a. For closed ranks, from rank 0: a refresh, if all its banks are precharged; else the precharge of an open
//!      bank, from bank 0.
//!    - b. For requests of the active queue, from the oldest: its read or write, if its row is open and its rank is
//!      not closed. The request leaves the queue.
//!    - c. For requests of the active queue, from the oldest, in ranks that are not closed: an activate of its row, if
//!      its bank is precharged. If its bank has another row open that no request of the active queue wants: a
//!      precharge.
//!    - d. For rows that are wanted next ([`Memory::open_ahead`](crate::Memory::open_ahead)), from the first: an
//!      activate, if the bank is precharged. The rank must not be closed, and no arrived request may want the bank. If
//!      it has another row open: a precharge.
//!
//! So a page stays open until a request for another row of its bank closes it, or a refresh does. Requests of the
//! queue that is not active neither open nor close rows. A refresh is forced: it waits for no request, and requests
//! for its rank wait for it.
//!
//! A request is done in the first cycle after its burst: `t_cas + burst` after its read, or `t_cwd + burst` after its
//! write. A write may overtake an older read of the same block. A caller that depends on the order waits for the read,
//! for example if it writes the bytes that it read.
//!
//! # When a command may be issued
//!
//! | command | in a cycle that is not earlier than |
//! |---|---|
//! | activate | precharge of the bank + `t_rp`; activate of the bank + `t_rc`; any activate of the rank + `t_rrd`; any activate in the group + its `t_rrd`; the fourth last activate of the rank + `t_faw`; refresh of the rank + `duration` |
//! | precharge | activate of the bank + `t_ras`; read from it + `t_rtp`; write to it + `t_cwd` + `burst` + `t_wr` |
//! | read | activate of the bank + `t_rcd`; any read or write in the rank + `t_ccd`, in the group + its `t_ccd`; write in the rank + `t_cwd` + `burst` + `t_wtr`, in the group + `t_cwd` + `burst` + its `t_wtr`; data bus |
//! | write | activate of the bank + `t_rcd_write`, or without that `t_rcd`; any read or write in the rank + `t_ccd`, in the group + its `t_ccd`; read in the rank + `t_rtw`; write in the group + its `t_ccd_write`; data bus |
//! | refresh | precharge of each bank of the rank + `t_rp`; activate of each + `t_rc`; refresh of the rank + `duration` |
//!
//! A burst begins `t_cas` after its read or `t_cwd` after its write, and takes `burst` cycles. It begins only after the
//! burst of the last read or write of the channel has ended. It begins `t_rtrs` later if that burst was of another rank
//! or in the other direction.
//!
//! # The implementations
//!
//! [`Stepped`] does the above cycle by cycle and remembers only when things happened. [`Fast`] keeps the earliest
//! cycle of each thing that it could do, and jumps to the first. They do exactly the same in the same cycles. Only the
//! first one does 4d.

mod fast;
mod request;
mod stepped;

pub use fast::Fast;
pub use request::{Direction, Listener, Request, Scheduler};
pub use stepped::Stepped;
