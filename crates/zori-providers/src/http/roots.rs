//! Which certificate authorities are trusted: the embedded ones, and those a user adds.
//!
//! The platform's store is never read here: loading it costs more than the rest of a start together.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

/// The trusted authorities.
#[derive(Clone, Debug)]
pub struct Roots {
    extra: Vec<CertificateDer<'static>>,
}

/// Why a certificate file cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadRoots {
    /// It is not PEM.
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
        /// Why.
        reason: String,
    },
}

impl Roots {
    /// The embedded authorities only.
    pub fn embedded() -> Self {
        Self { extra: Vec::new() }
    }

    /// The embedded authorities and those of a PEM file.
    pub fn with_pem(pem: &[u8]) -> Result<Self, BadRoots> {
        let extra = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|e| BadRoots::NotPem(e.to_string()))?;
        if extra.is_empty() {
            return Err(BadRoots::Empty);
        }
        let mut store = RootCertStore::empty();
        for (at, certificate) in extra.iter().enumerate() {
            store
                .add(certificate.clone())
                .map_err(|e| BadRoots::Certificate { number: at + 1, reason: e.to_string() })?;
        }
        Ok(Self { extra })
    }

    /// Returns the TLS set-up that trusts them.
    pub(super) fn client_config(&self) -> ClientConfig {
        let mut store = RootCertStore { roots: webpki_roots::TLS_SERVER_ROOTS.to_vec() };
        store.add_parsable_certificates(self.extra.iter().cloned());
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .expect("ring supports the default TLS versions")
            .with_root_certificates(store)
            .with_no_client_auth();
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        config
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
