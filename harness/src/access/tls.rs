//! TLS to the servers: verification of the servers, and the client's identity.

use std::fmt;
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
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
pub struct Tls {
    connector: TlsConnector,
    advice: TlsAdvice,
}

/// What the user gave, for the remedies of connections that fail.
#[derive(Clone)]
struct TlsAdvice {
    /// The file of the trusted authorities.
    ca: PathBuf,
    /// Whether this client has a certificate.
    is_identified: bool,
}

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
    /// `ca`: the trusted certificate authorities, which are from `file`. `identity`: the client's certificate, for servers
    /// that request one. `names`: whether a server's certificate must match the name under which it is called.
    ///
    /// # Errors
    /// The certificates are unusable, or do not match the key.
    pub fn new(
        file: &Path,
        ca: Vec<CertificateDer<'static>>,
        identity: Option<Identity>,
        names: bool,
    ) -> Result<Self, TlsError> {
        let advice = TlsAdvice { ca: file.to_owned(), is_identified: identity.is_some() };
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
            builder.dangerous().with_custom_certificate_verifier(Arc::new(NoHostnameVerification(verifier)))
        };
        let config = match identity {
            Some((certificates, key)) => builder
                .with_client_auth_cert(certificates, key)
                .map_err(|error| TlsError::Identity(error.to_string()))?,
            None => builder.with_no_client_auth(),
        };
        Ok(Self { connector: TlsConnector::from(Arc::new(config)), advice })
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
        self.connector.connect(name, stream).await.map_err(failed)
    }

    /// What the user can do about an error for which [`is_of_tls`] is true.
    #[must_use]
    pub fn remedy(&self, error: &io::Error) -> String {
        self.advice.remedy(error)
    }

    /// Completes the sentence "it closes the connection without an answer, as …".
    #[must_use]
    pub fn cause_of_silence(&self) -> &'static str {
        self.advice.cause_of_silence()
    }
}

impl TlsAdvice {
    fn remedy(&self, error: &io::Error) -> String {
        let (ca, identity) = (self.ca.display(), self.identity());
        match rustls_error(error) {
            Some(Error::InvalidCertificate(CertificateError::UnknownIssuer | CertificateError::BadSignature)) => {
                format!(
                    "no authority in --tls-ca {ca} has signed the server's certificate: name the file of the authority that has, \
                     with those between the two"
                )
            }
            Some(Error::InvalidCertificate(error)) if is_of_name(error) => {
                "call it in --connect by a name in its certificate (--tls-no-hostname-check takes any)".to_owned()
            }
            Some(Error::InvalidCertificate(
                CertificateError::Expired
                | CertificateError::ExpiredContext { .. }
                | CertificateError::NotValidYet
                | CertificateError::NotValidYetContext { .. },
            )) => format!(
                "renew the certificate that is out of date, the server's or one in --tls-ca {ca}, or set the clock here"
            ),
            Some(Error::InvalidCertificate(_)) => format!(
                "make the server another certificate, signed by an authority in --tls-ca {ca}, and not that of the authority \
                 itself (CaUsedAsEndEntity: with basicConstraints=CA:FALSE)"
            ),
            Some(Error::AlertReceived(_)) => {
                format!("the server refuses this client, and its log says why; {identity}")
            }
            Some(_) | None => format!("see that its port is the one for TLS (secureClientPort), and {identity}"),
        }
    }

    /// What may be wrong with this client's certificate.
    fn identity(&self) -> &'static str {
        if self.is_identified {
            "see that it trusts the authority that signed --tls-cert (ssl.trustStore.location)"
        } else {
            "give --tls-cert and --tls-key where it wants to know its clients"
        }
    }

    fn cause_of_silence(&self) -> &'static str {
        if self.is_identified {
            "servers do that do not trust the authority of --tls-cert (ssl.trustStore.location)"
        } else {
            "servers do that want to know their clients (--tls-cert, --tls-key)"
        }
    }
}

fn rustls_error(error: &io::Error) -> Option<&Error> {
    let inner = error.get_ref()?;
    match inner.downcast_ref::<HandshakeFailed>() {
        Some(HandshakeFailed(error)) => error.get_ref()?.downcast_ref(),
        None => inner.downcast_ref(),
    }
}

/// Whether the certificate is valid, and for another name.
fn is_of_name(error: &CertificateError) -> bool {
    matches!(error, CertificateError::NotValidForName | CertificateError::NotValidForNameContext { .. })
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
struct NoHostnameVerification(Arc<WebPkiServerVerifier>);

impl ServerCertVerifier for NoHostnameVerification {
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
            Err(Error::InvalidCertificate(error)) if is_of_name(&error) => Ok(ServerCertVerified::assertion()),
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

#[cfg(test)]
mod tests {
    use tokio_rustls::rustls::AlertDescription;

    use super::*;

    /// The remedies without and with a certificate of this client.
    fn remedies(error: Option<Error>) -> [String; 2] {
        let failed = match error {
            Some(error) => io::Error::new(io::ErrorKind::InvalidData, error),
            None => io::Error::from(io::ErrorKind::UnexpectedEof),
        };
        let failed = io::Error::other(HandshakeFailed(failed));
        assert!(is_of_tls(&failed));
        [false, true].map(|is_identified| TlsAdvice { ca: "mine.pem".into(), is_identified }.remedy(&failed))
    }

    #[test]
    fn a_remedy_is_of_what_is_wrong_and_names_the_file_that_was_given() {
        for (error, told) in [
            (CertificateError::UnknownIssuer, "no authority in --tls-ca mine.pem has signed the server's certificate"),
            (CertificateError::BadSignature, "no authority in --tls-ca mine.pem has signed the server's certificate"),
            (CertificateError::Expired, "out of date, the server's or one in --tls-ca mine.pem"),
            (CertificateError::NotValidForName, "--tls-no-hostname-check"),
            (CertificateError::BadEncoding, "signed by an authority in --tls-ca mine.pem"),
        ] {
            for remedy in remedies(Some(Error::InvalidCertificate(error))) {
                assert!(remedy.contains(told) && !remedy.contains("--tls-cert"), "{told:?} is not in: {remedy}");
            }
        }
    }

    #[test]
    fn a_server_that_refuses_this_client_or_speaks_no_tls_is_told_by_what_the_client_has() {
        let refused = remedies(Some(Error::AlertReceived(AlertDescription::CertificateRequired)));
        let closed = remedies(None);
        for [without, with] in [&refused, &closed] {
            assert!(without.contains("give --tls-cert and --tls-key"), "{without}");
            assert!(with.contains("trusts the authority that signed --tls-cert") && !with.contains("give"), "{with}");
        }
        assert!(closed.iter().all(|told| told.contains("secureClientPort")), "{closed:?}");
        assert!(refused.iter().all(|told| told.contains("its log says why")), "{refused:?}");
        for is_identified in [false, true] {
            let cause = TlsAdvice { ca: "mine.pem".into(), is_identified }.cause_of_silence();
            assert!(cause.contains("--tls-cert") && !cause.contains("--tls-ca"), "{cause}");
        }
    }
}
