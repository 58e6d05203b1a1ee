//! Connection pools of the HTTP client: one for plain addresses, one for TLS, which is made with the certificates of this
//! machine at the first request to an https address.
//!
//! Reading and parsing certificates takes longer than all other work before the first request, and a model server on
//! this machine needs none.

use std::{
    env, fs,
    sync::{Arc, OnceLock},
    time::Duration,
};

use rustls::{
    RootCertStore,
    pki_types::{CertificateDer, pem::PemObject},
};

use super::errors;
use crate::Error;

/// Files in which systems keep all certificates they trust. Directories beside them hold the same ones again.
const BUNDLES: [&str; 5] = [
    "/etc/ssl/certs/ca-certificates.crt",
    "/etc/pki/tls/certs/ca-bundle.crt",
    "/etc/ssl/ca-bundle.pem",
    "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
    "/etc/ssl/cert.pem",
];

/// Variables by which users choose other certificates.
const CHOSEN: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// Proxies of plain requests.
const PROXIES: [&str; 4] = ["http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"];

/// The pools. Clones share them.
#[derive(Clone, Debug)]
pub(super) struct ConnectionPools {
    connect: Duration,
    plain: reqwest::Client,
    secure: Arc<OnceLock<Result<reqwest::Client, String>>>,
}

impl ConnectionPools {
    pub(super) fn new(connect: Duration) -> reqwest::Result<Self> {
        // Fails if a default provider is already installed, which is fine.
        let _ = rustls::crypto::ring::default_provider().install_default();
        Ok(Self {
            connect,
            plain: builder(connect).tls_certs_only([]).build()?,
            secure: Arc::default(),
        })
    }

    /// The pool for an address.
    pub(super) fn of(&self, url: &str) -> Result<&reqwest::Client, Error> {
        let is_plain = url
            .get(..7)
            .is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
        if is_plain && !has_secure_proxy() {
            return Ok(&self.plain);
        }
        let secure = self.secure.get_or_init(|| secure(self.connect));
        secure.as_ref().map_err(|why| Error::Refused(why.clone()))
    }

    /// Whether certificates were read.
    #[cfg(test)]
    fn has_certificates(&self) -> bool {
        self.secure.get().is_some()
    }
}

fn builder(connect: Duration) -> reqwest::ClientBuilder {
    reqwest::Client::builder()
        .user_agent(concat!("rooftree/", env!("CARGO_PKG_VERSION")))
        .connect_timeout(connect)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(60))
        // A redirect would send the key, which is in a vendor-specific header, to another host.
        .redirect(reqwest::redirect::Policy::none())
}

/// A client that trusts the certificates of this machine.
fn secure(connect: Duration) -> Result<reqwest::Client, String> {
    let certificates = bundle();
    let builder = if certificates.is_empty() {
        // As the system says: what users chose, or a directory.
        builder(connect)
    } else {
        builder(connect).tls_certs_only(certificates)
    };
    builder.build().map_err(|error| {
        format!(
            "cannot set up TLS ({}); check the certificates of this machine",
            errors::words(&error)
        )
    })
}

/// The certificates of the first bundle there is; none if users chose others. Those that cannot be parsed are left
/// out, as they are elsewhere.
fn bundle() -> Vec<reqwest::Certificate> {
    if CHOSEN.iter().any(|name| env::var_os(name).is_some()) {
        return Vec::new();
    }
    let Some(text) = BUNDLES.iter().find_map(|file| fs::read(file).ok()) else {
        return Vec::new();
    };
    let mut store = RootCertStore::empty();
    CertificateDer::pem_slice_iter(&text)
        .flatten()
        .filter(|certificate| store.add(certificate.clone()).is_ok())
        .filter_map(|certificate| reqwest::Certificate::from_der(&certificate).ok())
        .collect()
}

fn has_secure_proxy() -> bool {
    let is_secure = |name: &&str| {
        let value = env::var(name).unwrap_or_default();
        value.trim().to_ascii_lowercase().starts_with("https:")
    };
    PROXIES.iter().any(is_secure)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn p_5_certificates_are_read_for_the_first_https_address_only() {
        let pools = ConnectionPools::new(Duration::from_secs(1)).unwrap();
        for plain in ["http://127.0.0.1:1/v1", "HTTP://localhost"] {
            pools.of(plain).unwrap();
        }
        assert!(has_secure_proxy() || !pools.has_certificates());
        pools.of("https://example.test").unwrap();
        assert!(pools.has_certificates());
    }
}
