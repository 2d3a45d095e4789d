//! Opening the addresses that clients connect to.

use std::io;
use std::net::{SocketAddr, TcpListener};

/// Why an address cannot be listened on.
#[derive(Debug, thiserror::Error)]
pub enum ListenError {
    /// Another program has it.
    #[error("{address} is in use by another program: stop it, or choose another address with {flag}")]
    Taken {
        /// The address.
        address: SocketAddr,
        /// The flag that changes it.
        flag: &'static str,
    },
    /// It is not this machine's, or this user may not have it.
    #[error("{address} cannot be listened on ({error}): choose another address with {flag}")]
    Impossible {
        /// The address.
        address: SocketAddr,
        /// The flag that changes it.
        flag: &'static str,
        /// What the system says.
        error: io::Error,
    },
}

/// Listens on `address`, which came from `flag`. Port 0 is any free one; ask the listener which.
///
/// # Errors
/// The address is taken, or cannot be had.
pub fn listen(address: SocketAddr, flag: &'static str) -> Result<TcpListener, ListenError> {
    let listener = TcpListener::bind(address).and_then(|listener| {
        // The asynchronous runtime takes it from here.
        listener.set_nonblocking(true)?;
        Ok(listener)
    });
    listener.map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => ListenError::Taken { address, flag },
        _ => ListenError::Impossible { address, flag, error },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_taken_port_is_an_error_that_names_the_flag() {
        let first = listen("127.0.0.1:0".parse().unwrap(), "--listen").unwrap();
        let address = first.local_addr().unwrap();
        let error = listen(address, "--listen").unwrap_err();
        assert!(matches!(error, ListenError::Taken { .. }));
        let text = error.to_string();
        assert!(text.contains(&address.to_string()) && text.contains("--listen"), "{text}");
    }

    #[test]
    fn an_address_of_another_machine_is_an_error_that_names_the_flag() {
        let error = listen("192.0.2.1:80".parse().unwrap(), "--admin").unwrap_err();
        assert!(error.to_string().contains("--admin"), "{error}");
    }
}
