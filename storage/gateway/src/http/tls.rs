//! TLS: a certificate and its key from two files, which may be renewed while the server runs.

use parking_lot::RwLock;
use rustls::ServerConfig;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::server::TlsStream;
use x509_parser::time::ASN1Time;
use zeroize::Zeroizing;

/// The largest number of bytes of a file. No certificate chain and no key is longer.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// TLS 1.2 and 1.3, with a certificate that can be replaced. Clones share it.
#[derive(Clone)]
pub struct Tls {
    acceptor: TlsAcceptor,
    current: Arc<CurrentPair>,
}

impl std::fmt::Debug for Tls {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Tls").field("certificate", &self.current.certificate).finish_non_exhaustive()
    }
}

/// The reason why a certificate and a key cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    /// A file cannot be read.
    #[error("{path} cannot be read: {cause}", path = .path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The error of the system.
        cause: io::Error,
    },
    /// Everybody on the machine may read or change the key.
    #[error(
        "the key {path} has mode {mode:04o}, which lets everybody on this machine read or change it; run \
         `chmod o= {path}`",
        path = .path.display()
    )]
    Exposed {
        /// The file.
        path: PathBuf,
        /// The permission bits of the file.
        mode: u32,
    },
    /// The file holds no certificate.
    #[error(
        "{path} holds no certificate that can be read ({why}): give a PEM file with the server's certificate first, followed by the certificates of its issuers",
        path = .path.display()
    )]
    NoCertificate {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The file holds no key.
    #[error(
        "{path} holds no private key that can be used ({why}): give a PEM file with one key, without a passphrase",
        path = .path.display()
    )]
    NoKey {
        /// The file.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The key belongs to another certificate.
    #[error(
        "the key {key} does not belong to the first certificate of {certificate}: check that both were renewed",
        key = .key.display(),
        certificate = .certificate.display()
    )]
    Mismatch {
        /// The certificate's file.
        certificate: PathBuf,
        /// The key's file.
        key: PathBuf,
    },
    /// No client would accept the certificate: it has expired, or is not valid yet.
    #[error(
        "the certificate {path} is valid from {from} to {to}, but the time is {now}: renew it, or set the clock",
        path = .path.display()
    )]
    OutOfDate {
        /// The file.
        path: PathBuf,
        /// The beginning of its validity.
        from: String,
        /// The end of its validity.
        to: String,
        /// The time of the machine's clock.
        now: String,
    },
}

impl Tls {
    /// Reads a certificate chain and its key, both in PEM.
    ///
    /// # Errors
    /// [`TlsError`].
    pub fn load(certificate: &Path, key: &Path) -> Result<Self, TlsError> {
        let current = Arc::new(CurrentPair {
            certificate: certificate.to_owned(),
            key: key.to_owned(),
            pair: RwLock::new(Arc::new(pair(certificate, key)?)),
        });
        let config = ServerConfig::builder_with_provider(provider())
            .with_safe_default_protocol_versions()
            .expect("ring has suites for both versions")
            .with_no_client_auth();
        let mut config = config.with_cert_resolver(Arc::clone(&current) as Arc<dyn ResolvesServerCert>);
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(Tls { acceptor: TlsAcceptor::from(Arc::new(config)), current })
    }

    /// Reads the certificate and the key again. New connections get the new certificate; existing ones keep theirs.
    ///
    /// # Errors
    /// [`TlsError`]: the certificate in use stays.
    pub fn reload(&self) -> Result<(), TlsError> {
        let renewed = Arc::new(pair(&self.current.certificate, &self.current.key)?);
        *self.current.pair.write() = renewed;
        Ok(())
    }

    /// Returns the certificate for new connections, in DER.
    pub fn certificate(&self) -> Vec<u8> {
        let pair = self.current.pair.read();
        pair.cert.first().map(|first| first.to_vec()).unwrap_or_default()
    }

    /// Does the TLS handshake with a client.
    pub(crate) async fn accept<S: AsyncRead + AsyncWrite + Unpin>(
        &self,
        stream: S,
    ) -> io::Result<TlsStream<S>> {
        self.acceptor.accept(stream).await
    }
}

/// Returns ring, which seals slots too. It is named explicitly: a program may have set another default.
fn provider() -> Arc<CryptoProvider> {
    Arc::new(ring::default_provider())
}

/// The certificate and key in use.
struct CurrentPair {
    certificate: PathBuf,
    key: PathBuf,
    pair: RwLock<Arc<CertifiedKey>>,
}

impl std::fmt::Debug for CurrentPair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("CurrentPair(..)")
    }
}

impl ResolvesServerCert for CurrentPair {
    fn resolve(&self, _: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(Arc::clone(&self.pair.read()))
    }
}

fn pair(certificate: &Path, key: &Path) -> Result<CertifiedKey, TlsError> {
    let no_certificate = |why: String| TlsError::NoCertificate { path: certificate.to_owned(), why };
    let text = read(certificate, false)?;
    let chain = CertificateDer::pem_slice_iter(&text).collect::<Result<Vec<_>, _>>();
    let chain = chain.map_err(|error| no_certificate(error.to_string()))?;
    let first = chain.first().ok_or_else(|| no_certificate("it has no part CERTIFICATE".into()))?;
    check_dates(certificate, first)?;
    let no_key = |why: String| TlsError::NoKey { path: key.to_owned(), why };
    let text = read(key, true)?;
    let private = PrivateKeyDer::from_pem_slice(&text).map_err(|error| no_key(error.to_string()))?;
    let provider = provider();
    let private =
        provider.key_provider.load_private_key(private).map_err(|error| no_key(error.to_string()))?;
    let pair = CertifiedKey::new(chain, private);
    let mismatch = || TlsError::Mismatch { certificate: certificate.to_owned(), key: key.to_owned() };
    pair.keys_match().map_err(|_| mismatch())?;
    Ok(pair)
}

fn check_dates(path: &Path, certificate: &CertificateDer<'_>) -> Result<(), TlsError> {
    let parsed = x509_parser::parse_x509_certificate(certificate);
    let (_, parsed) =
        parsed.map_err(|error| TlsError::NoCertificate { path: path.to_owned(), why: error.to_string() })?;
    let (validity, now) = (parsed.validity(), ASN1Time::now());
    if validity.is_valid_at(now) {
        return Ok(());
    }
    Err(TlsError::OutOfDate {
        path: path.to_owned(),
        from: validity.not_before.to_string(),
        to: validity.not_after.to_string(),
        now: now.to_string(),
    })
}

/// Reads a file. A private one must be closed to all but its owner and its group.
fn read(path: &Path, is_private: bool) -> Result<Zeroizing<Vec<u8>>, TlsError> {
    let unreadable = |cause| TlsError::Unreadable { path: path.to_owned(), cause };
    let mut file = File::open(path).map_err(unreadable)?;
    let metadata: fs::Metadata = file.metadata().map_err(unreadable)?;
    let mode = metadata.permissions().mode() & 0o7777;
    if is_private && mode & 0o007 != 0 {
        return Err(TlsError::Exposed { path: path.to_owned(), mode });
    }
    if metadata.len() > MAX_FILE_BYTES {
        return Err(unreadable(io::Error::other("it is too long for a certificate or a key")));
    }
    // Read in one go: a buffer that grows would leave pieces of the key behind.
    let mut text = Zeroizing::new(Vec::with_capacity(metadata.len() as usize + 1));
    file.by_ref().take(metadata.len()).read_to_end(&mut text).map_err(unreadable)?;
    Ok(text)
}
