//! The address of a directory, and the identity used there.

use std::path::Path;
use std::sync::Arc;

use rustls::pki_types::PrivateKeyDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};

use crate::source::tls::{self, CertificatesError, is_loopback};

/// The identity at a directory.
#[derive(Clone, PartialEq, Eq)]
pub enum Bind {
    /// Anonymous.
    Anonymous,
    /// A name and its password.
    Simple {
        /// The name.
        dn: String,
        /// The password.
        password: String,
    },
    /// Whom the connection says: the user of a Unix socket, or the certificate of TLS (SASL EXTERNAL).
    External,
}

/// What keeps others on the way from reading and changing what a directory says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Transport {
    /// What the URL says: TLS for ldaps://; ldap:// leads to this machine alone.
    AsUrl,
    /// A connection of ldap:// is turned into one of TLS first.
    StartTls,
    /// Nothing does: ldap:// may lead to another machine.
    Plaintext,
}

/// The address of a directory, and the identity used there.
pub struct DirectoryOptions {
    pub(super) url: String,
    pub(super) base: String,
    pub(super) bind: Bind,
    pub(super) starttls: bool,
    pub(super) tls: Option<Arc<ClientConfig>>,
}

/// Why these options are invalid.
#[derive(Debug, thiserror::Error)]
pub enum OptionsError {
    /// The URL is of another kind.
    #[error("invalid directory URL {0:?}: it must begin with ldaps://, ldap:// or ldapi://")]
    Url(String),
    /// StartTLS for another scheme than ldap://.
    #[error("--starttls is for ldap:// only: {0} does not need it")]
    NoStartTls(String),
    /// A password over an unencrypted connection.
    #[error("{0} would receive the password unencrypted: use ldaps:// or --starttls")]
    Clear(String),
    /// An unencrypted connection without protection against changes on the way.
    #[error(
        "the answers of {0} can be changed on the way: use ldaps:// or --starttls, or \
            --allow-plaintext on a trusted network"
    )]
    Plaintext(String),
    /// Nothing is in the clear.
    #[error("--allow-plaintext is for ldap:// only: {0} does not need it")]
    NoPlaintext(String),
    /// Certificates that cannot be used.
    #[error(transparent)]
    Certificates(#[from] CertificatesError),
}

impl DirectoryOptions {
    /// The repository below `base` at `url`. The CAs in the file `authorities`, or else those that the machine
    /// trusts, verify the server's certificate. `identity` is a client certificate with its key.
    ///
    /// # Errors
    /// When the URL is of another kind, it leads to another machine without TLS and that was not asked for, a password would go
    /// there in the clear, or files cannot be read.
    pub fn new(
        url: &str,
        base: &str,
        bind: Bind,
        transport: Transport,
        authorities: Option<&Path>,
        identity: Option<(&Path, &Path)>,
    ) -> Result<DirectoryOptions, OptionsError> {
        let (scheme, rest) =
            url.split_once("://").ok_or_else(|| OptionsError::Url(url.to_owned()))?;
        if !["ldap", "ldaps", "ldapi"].contains(&scheme) {
            return Err(OptionsError::Url(url.to_owned()));
        }
        let starttls = transport == Transport::StartTls;
        match transport {
            Transport::StartTls if scheme != "ldap" => {
                return Err(OptionsError::NoStartTls(url.to_owned()));
            }
            Transport::Plaintext if scheme != "ldap" => {
                return Err(OptionsError::NoPlaintext(url.to_owned()));
            }
            _ => {}
        }
        if scheme == "ldap" && !starttls && !is_here(rest) {
            if matches!(bind, Bind::Simple { .. }) {
                return Err(OptionsError::Clear(url.to_owned()));
            }
            if transport != Transport::Plaintext {
                return Err(OptionsError::Plaintext(url.to_owned()));
            }
        }
        let has_tls = scheme == "ldaps" || starttls;
        let tls = has_tls.then(|| client(authorities, identity)).transpose()?;
        Ok(DirectoryOptions { url: url.to_owned(), base: base.to_owned(), bind, starttls, tls })
    }
}

/// Whether the host of a URL is this machine.
fn is_here(rest: &str) -> bool {
    // What stands before an `@` is not the host.
    if rest.contains('@') {
        return false;
    }
    let host = rest.split('/').next().unwrap_or_default();
    is_loopback(host.rsplit_once(':').map_or(host, |(host, _)| host))
}

fn client(
    authorities: Option<&Path>,
    identity: Option<(&Path, &Path)>,
) -> Result<Arc<ClientConfig>, CertificatesError> {
    let mut roots = RootCertStore::empty();
    let (usable, _) = roots.add_parsable_certificates(tls::authorities(authorities)?);
    if let Some(path) = authorities.filter(|_| usable == 0) {
        return Err(CertificatesError::new(path, &"the file has no valid CA certificate"));
    }
    let builder = ClientConfig::builder().with_root_certificates(roots);
    let config = match identity {
        None => builder.with_no_client_auth(),
        Some((certificate, key)) => {
            let secret = PrivateKeyDer::from_pem_slice(&tls::pem(key)?);
            let secret = secret.map_err(|error| CertificatesError::new(key, &error))?;
            let own = builder.with_client_auth_cert(tls::certificates(certificate)?, secret);
            own.map_err(|error| CertificatesError::new(certificate, &error))?
        }
    };
    Ok(Arc::new(config))
}
