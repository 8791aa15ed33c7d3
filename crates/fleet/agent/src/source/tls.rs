//! The trusted CAs, and the client certificate.

use std::path::Path;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

/// Certificates that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {why}")]
pub struct CertificatesError {
    /// The file.
    pub path: String,
    /// Why not.
    pub why: String,
}

impl CertificatesError {
    pub(super) fn new(path: &Path, why: &dyn std::fmt::Display) -> CertificatesError {
        CertificatesError { path: path.display().to_string(), why: why.to_string() }
    }
}

/// The most bytes of a file of certificates or keys.
const MAX_PEM: u64 = 4_000_000;

/// What a file of certificates or keys has.
pub(super) fn pem(path: &Path) -> Result<Vec<u8>, CertificatesError> {
    shortflow_files::read_input(path, MAX_PEM).map_err(|error| CertificatesError::new(path, &error))
}

/// The authorities of this file, or where none is given those that the machine trusts.
pub(super) fn authorities(
    file: Option<&Path>,
) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    match file {
        Some(path) => certificates(path),
        None => Ok(rustls_native_certs::load_native_certs().certs),
    }
}

/// The certificates of a file (PEM), at least one.
pub(super) fn certificates(path: &Path) -> Result<Vec<CertificateDer<'static>>, CertificatesError> {
    let pem = pem(path)?;
    let read = CertificateDer::pem_slice_iter(&pem).collect::<Result<Vec<_>, _>>();
    let found = read.map_err(|error| CertificatesError::new(path, &error))?;
    match found.is_empty() {
        true => Err(CertificatesError::new(path, &"the file has no certificate")),
        false => Ok(found),
    }
}

/// Whether `host`, as written in a URL, is this machine.
pub(super) fn is_loopback(host: &str) -> bool {
    host == "localhost"
        || host == "[::1]"
        || host.parse().is_ok_and(|ip: std::net::Ipv4Addr| ip.is_loopback())
}
