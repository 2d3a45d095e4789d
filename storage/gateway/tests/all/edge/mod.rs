//! The server under too many clients, slow clients and clients that disconnect; its shutdown; and TLS.

mod answer_guard;
mod shedding;
mod shutdown;
mod slow;
mod tls;
