//! Tests the server under too many clients, slow clients and clients that disconnect. Also tests its shutdown and TLS.

mod answer_check;
mod load_shedding;
mod shutdown;
mod slow;
mod tls;
