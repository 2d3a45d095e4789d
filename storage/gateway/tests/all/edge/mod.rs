//! The server under too many clients, slow ones and ones that go away; its end; and TLS.

mod answer_guard;
mod shedding;
mod shutdown;
mod slow;
mod tls;
