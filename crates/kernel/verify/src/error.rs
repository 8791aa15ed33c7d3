//! Errors in contacting a peer.

use std::io;
use std::net::SocketAddr;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer does not answer.
    #[error(
        "no answer from {0}\nrun `shortflow verify --listen` on that machine, and allow UDP and \
            TCP to port {port}",
        port = .0.port()
    )]
    NoAnswer(SocketAddr),
    /// It was asked to stop.
    #[error("interrupted")]
    Interrupted,
    /// The peer cannot wait for packets at this address.
    #[error(
        "cannot listen at {0}: {1}\nanother program may use the port; choose another one with \
        --port"
    )]
    Listen(SocketAddr, #[source] io::Error),
    /// The kernel, or what stands at the device, is in the way.
    #[error(transparent)]
    Device(#[from] shortflow_deploy::Error),
    /// A socket does not do what it should.
    #[error("{what}: {why}")]
    Socket {
        /// What was to be done.
        what: String,
        /// What the kernel says.
        why: io::Error,
    },
}

impl Error {
    /// What the kernel says to `what`.
    pub(crate) fn socket(what: impl Into<String>) -> impl FnOnce(io::Error) -> Error {
        let what = what.into();
        move |why| Error::Socket { what, why }
    }
}
