//! Which certificate authorities are trusted: the embedded ones, and those a user adds.
//!
//! The platform's store is never read here: loading it costs more than the rest of a start together. A file of the
//! user's is understood before the first request, or, where that is not to a TLS server, with the first certificate.

use std::sync::{Arc, OnceLock};

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};

/// The trusted authorities.
#[derive(Clone, Debug)]
pub struct Roots {
    extra: Extra,
}

/// Those beside the embedded ones.
#[derive(Clone, Debug)]
enum Extra {
    Certificates(Vec<CertificateDer<'static>>),
    /// A file that has not been parsed yet.
    Pem(Arc<[u8]>),
}

/// Why a certificate file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RootsError {
    #[error("not a PEM certificate file: {0}")]
    NotPem(String),
    /// It holds no certificate.
    #[error("the file holds no certificate")]
    Empty,
    /// A certificate in it cannot be read.
    #[error("certificate {number} cannot be used: {reason}")]
    Certificate {
        /// Which one, from 1.
        number: usize,
        reason: String,
    },
}

impl Roots {
    /// Returns the embedded authorities only.
    pub fn embedded() -> Self {
        Self { extra: Extra::Certificates(Vec::new()) }
    }

    /// The embedded authorities and those of a PEM file.
    pub fn with_pem(pem: &[u8]) -> Result<Self, RootsError> {
        certificates(pem).map(|extra| Self { extra: Extra::Certificates(extra) })
    }

    /// The same for a file that is looked into with the first certificate there is to check; every connection fails if it
    /// cannot be used.
    pub fn with_pem_later(pem: Vec<u8>) -> Self {
        Self { extra: Extra::Pem(pem.into()) }
    }

    /// Returns the TLS set-up that trusts them.
    pub(super) fn client_config(&self) -> ClientConfig {
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider.clone())
            .with_safe_default_protocol_versions()
            .expect("ring supports the default TLS versions");
        let mut config = match &self.extra {
            Extra::Certificates(extra) => builder.with_root_certificates(store(extra)).with_no_client_auth(),
            Extra::Pem(pem) => {
                let later = LazyVerifier { pem: pem.clone(), provider, verifier: OnceLock::new() };
                builder.dangerous().with_custom_certificate_verifier(Arc::new(later)).with_no_client_auth()
            }
        };
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config
    }
}

fn store(extra: &[CertificateDer<'static>]) -> RootCertStore {
    let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
    store.add_parsable_certificates(extra.iter().cloned());
    store
}

fn certificates(pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, RootsError> {
    let extra = CertificateDer::pem_slice_iter(pem)
        .collect::<Result<Vec<_>, _>>()
        .map_err(|e| RootsError::NotPem(e.to_string()))?;
    if extra.is_empty() {
        return Err(RootsError::Empty);
    }
    let mut store = RootCertStore::empty();
    for (at, certificate) in extra.iter().enumerate() {
        store
            .add(certificate.clone())
            .map_err(|e| RootsError::Certificate { number: at + 1, reason: e.to_string() })?;
    }
    Ok(extra)
}

/// Verifies certificates as rustls does, with authorities that are loaded with the first certificate. It decides
/// nothing itself.
#[derive(Debug)]
struct LazyVerifier {
    pem: Arc<[u8]>,
    provider: Arc<CryptoProvider>,
    verifier: OnceLock<Result<Arc<WebPkiServerVerifier>, String>>,
}

impl LazyVerifier {
    fn verifier(&self) -> Result<&WebPkiServerVerifier, Error> {
        let made = self.verifier.get_or_init(|| {
            let extra = certificates(&self.pem).map_err(|bad| bad.to_string())?;
            let store = Arc::new(store(&extra));
            WebPkiServerVerifier::builder_with_provider(store, self.provider.clone())
                .build()
                .map_err(|error| error.to_string())
        });
        made.as_deref().map_err(|why| Error::General(format!("cannot use the added certificates: {why}")))
    }
}

impl ServerCertVerifier for LazyVerifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        server_name: &ServerName<'_>,
        ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verifier()?.verify_server_cert(end_entity, intermediates, server_name, ocsp_response, now)
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls13_signature(message, cert, dss, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_none() {
        let load = |pem: &str| Roots::with_pem(pem.as_bytes()).map(|_| ()).map_err(|e| e.to_string());
        assert_eq!(load(""), Err("the file holds no certificate".to_owned()));
        assert_eq!(load("hello"), Err("the file holds no certificate".to_owned()));
        let torn = load("-----BEGIN CERTIFICATE-----\nAAAA\n").unwrap_err();
        assert!(torn.starts_with("not a PEM certificate file: "), "{torn}");
        let junk = load("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n").unwrap_err();
        assert!(junk.starts_with("certificate 1 cannot be used: "), "{junk}");
    }
}
