//! TLS to the servers: verification of the servers, and the client's identity.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;
use tokio_rustls::client::TlsStream;
use tokio_rustls::rustls::client::WebPkiServerVerifier;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::pem::PemObject as _;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use tokio_rustls::rustls::{
    CertificateError, ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme,
};

/// Opens TLS connections.
#[derive(Clone)]
pub struct Tls(TlsConnector);

/// The error of a given certificate or key.
#[derive(Debug, thiserror::Error)]
pub enum TlsError {
    #[error("it holds no certificate in PEM that can be used{0}")]
    NoCertificate(String),
    #[error("it holds no private key in PEM that can be read: {0}")]
    NoKey(String),
    #[error("certificate and key do not go together: {0}")]
    Identity(String),
    #[error("TLS cannot be set up with it: {0}")]
    Other(String),
}

/// The TLS handshake failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct HandshakeFailed(io::Error);

/// The client's certificate chain, its own certificate first, and the matching private key.
type Identity = (Vec<CertificateDer<'static>>, PrivateKeyDer<'static>);

impl Tls {
    /// `ca`: the trusted certificate authorities. `identity`: the client's certificate, for servers that request one.
    /// `names`: whether a server's certificate must match the name under which it is called.
    ///
    /// # Errors
    /// The certificates are unusable, or do not match the key.
    pub fn new(ca: Vec<CertificateDer<'static>>, identity: Option<Identity>, names: bool) -> Result<Self, TlsError> {
        let other = |error: &dyn fmt::Display| TlsError::Other(error.to_string());
        let mut roots = RootCertStore::empty();
        for certificate in ca {
            roots.add(certificate).map_err(|error| TlsError::NoCertificate(format!(": {error}")))?;
        }
        let provider = Arc::new(default_provider());
        let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider.clone());
        let verifier = verifier.build().map_err(|error| other(&error))?;
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
        let builder = builder.map_err(|error| other(&error))?;
        let builder = if names {
            builder.with_webpki_verifier(verifier)
        } else {
            builder.dangerous().with_custom_certificate_verifier(Arc::new(AnyName(verifier)))
        };
        let config = match identity {
            Some((certificates, key)) => builder
                .with_client_auth_cert(certificates, key)
                .map_err(|error| TlsError::Identity(error.to_string()))?,
            None => builder.with_no_client_auth(),
        };
        Ok(Self(TlsConnector::from(Arc::new(config))))
    }

    /// All certificates of a PEM file.
    ///
    /// # Errors
    /// There is none, or one cannot be read.
    pub fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
        let all: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
        let all = all.map_err(|error| TlsError::NoCertificate(format!(": {error}")))?;
        if all.is_empty() { Err(TlsError::NoCertificate(String::new())) } else { Ok(all) }
    }

    /// The private key of a PEM file.
    ///
    /// # Errors
    /// The file contains no key, or the key is unreadable, for example because it is encrypted.
    pub fn key(pem: &[u8]) -> Result<PrivateKeyDer<'static>, TlsError> {
        PrivateKeyDer::from_pem_slice(pem).map_err(|error| TlsError::NoKey(error.to_string()))
    }

    /// Connects to the server at `addr`. `name` is its host name or address.
    ///
    /// # Errors
    /// As for a plain connection, or an error for which [`is_of_tls`] is true.
    pub async fn dial(&self, addr: SocketAddr, name: &str) -> io::Result<TlsStream<TcpStream>> {
        let failed = |error| io::Error::other(HandshakeFailed(error));
        let name = ServerName::try_from(name.to_owned()).map_err(|error| failed(io::Error::other(error)))?;
        let stream = TcpStream::connect(addr).await?;
        stream.set_nodelay(true)?;
        self.0.connect(name, stream).await.map_err(failed)
    }
}

/// Whether TLS failed, not the network path to the server.
#[must_use]
pub fn is_of_tls(error: &io::Error) -> bool {
    // Some servers reject a client's certificate only after the handshake.
    error.get_ref().is_some_and(|inner| inner.is::<HandshakeFailed>() || inner.is::<Error>())
}

impl fmt::Debug for Tls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tls")
    }
}

/// Accepts a certificate that is valid for another name.
#[derive(Debug)]
struct AnyName(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for AnyName {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        // The verifier checks the name last, so a name error means that all other checks passed.
        match self.0.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now) {
            Err(Error::InvalidCertificate(
                CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. },
            )) => Ok(ServerCertVerified::assertion()),
            looked => looked,
        }
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls12_signature(message, cert, dss)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.0.verify_tls13_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.supported_verify_schemes()
    }
}
