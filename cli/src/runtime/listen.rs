//! Opening addresses for clients.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// The error of an address that cannot be opened.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program uses the address.
    #[error(
        "{name} is {address}, which is in use by another program: stop that program, or choose another address"
    )]
    Taken {
        /// The address.
        address: SocketAddr,
        /// The origin of the address: a flag, or a key with its file.
        name: String,
    },
    /// The address does not belong to this machine, or this user may not use it.
    #[error("{name}: cannot listen on {address} ({error}); choose an address of this machine")]
    Impossible {
        /// The address.
        address: SocketAddr,
        /// The origin of the address: a flag, or a key with its file.
        name: String,
        /// The system's message.
        error: io::Error,
    },
}

/// Listens on `address`, the value of `name`. Port 0 means any free port, which the listener knows.
///
/// # Errors
/// The address is in use, or cannot be opened.
pub fn listen(address: SocketAddr, name: String) -> Result<TcpListener, ListenError> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        // The asynchronous runtime needs a non-blocking listener.
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::Taken { address, name },
        _ => ListenError::Impossible { address, name, error },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_an_error_that_names_the_flag() {
        let first = listen("127.0.0.1:0".parse().unwrap(), "--listen".into()).unwrap();
        let address = first.local_addr().unwrap();
        let error = listen(address, "--listen".into()).unwrap_err();
        assert!(matches!(error, ListenError::Taken { .. }));
        let text = error.to_string();
        assert!(text.contains(&address.to_string()) && text.contains("--listen"), "{text}");
    }

    #[test]
    fn an_address_of_another_machine_is_an_error_that_names_the_flag() {
        let error = listen("192.0.2.1:80".parse().unwrap(), "--admin".into()).unwrap_err();
        assert!(error.to_string().contains("--admin"), "{error}");
    }
}
