//! Opening the addresses that clients connect to.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// The reason why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program has the address.
    #[error("{name} is {address}, which is in use by another program: stop it, or choose another address")]
    Taken {
        /// The address.
        address: SocketAddr,
        /// The flag, or the key and its file, that it came from.
        name: String,
    },
    /// The address is not this machine's, or this user may not have it.
    #[error("{name} is {address}, which cannot be listened on ({error}): choose an address of this machine")]
    Impossible {
        /// The address.
        address: SocketAddr,
        /// The flag, or the key and its file, that it came from.
        name: String,
        /// The system's message.
        error: io::Error,
    },
}

/// Listens on `address`, which came from `name`. Port 0 is any free one; ask the listener which.
///
/// # Errors
/// The address is taken, or cannot be had.
pub fn listen(address: SocketAddr, name: String) -> Result<TcpListener, ListenError> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        // The asynchronous runtime takes it from here.
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
