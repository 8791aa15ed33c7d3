//! Errors in contacting a peer.

use std::io;
use std::net::SocketAddr;

use crate::PORT;

/// Why something could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The peer does not answer.
    #[error(
        "no answer from {0}\nrun `shortflow verify --listen{option}` on that machine, and allow UDP \
            and TCP to port {port}",
        port = .0.port(),
        option = match .0.port() {
            PORT => String::new(),
            port => format!(" --port {port}"),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_for_the_other_machine_names_the_port_that_was_given() {
        let message = |port: u16| Error::NoAnswer(([192, 0, 2, 7], port).into()).to_string();
        assert!(message(PORT).contains("run `shortflow verify --listen` on that machine"));
        assert!(message(9000).contains("run `shortflow verify --listen --port 9000` on that"));
    }
}
