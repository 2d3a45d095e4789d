//! The server under too many clients, slow clients and clients that disconnect; its shutdown; and TLS.

mod answer_check;
mod load_shedding;
mod shutdown;
mod slow;
mod tls;
