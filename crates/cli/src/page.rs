//! The live console's address, and its access control.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
#[cfg(unix)]
use std::os::unix::fs::PermissionsExt;

use shortflow_console::{Controls, Guard, Hub, ReplayError, Token, TokenError, serve};
use shortflow_http::Listener;
use shortflow_text::reason;

use crate::background::with_background;
use crate::console::Console;
use crate::console_args::TokenFile;
use crate::failure::Failure;

/// A page that is about to be served.
pub(crate) struct Page {
    listener: Listener,
    guard: Guard,
    /// Its address, with the token where it is a new one.
    pub(crate) url: String,
}

impl Page {
    /// A page at `address` for clients with the token of the file, or a new token.
    pub(crate) fn open(
        console: &Console,
        address: SocketAddr,
        file: &TokenFile,
    ) -> Result<Page, Failure> {
        let given = given(console, file)?;
        let random = || {
            let token = Token::random();
            token.map_err(|error| Failure::Machine(format!("cannot make a token: {error}")))
        };
        let (token, message) = match given {
            Some(token) => (token, String::new()),
            None => {
                let token = random()?;
                let message = format!("#token={}", token.as_str());
                (token, message)
            }
        };
        let (listener, url) = listen(address)?;
        let guard = Guard::new(listener.names(), Some(token));
        Ok(Page { listener, guard, url: url + &message })
    }

    /// Serves the page while `act` runs.
    ///
    /// # Errors
    /// [`Failure::Machine`] if the machine has no thread left.
    pub(crate) fn beside<T>(
        &self,
        hub: &Hub,
        controls: &dyn Controls,
        act: impl FnOnce() -> T,
    ) -> Result<T, Failure> {
        with_background(|over| serve(&self.listener, &self.guard, hub, controls, over), act)
    }
}

/// What is wrong with a token where there is no page.
#[cfg(live)]
pub(crate) const NO_CONSOLE: &str = "--console-token-file requires --console\nadd --console";

/// The token of the file, if one is given. If other users can read it, a warning says so.
pub(crate) fn given(console: &Console, file: &TokenFile) -> Result<Option<Token>, Failure> {
    let Some(path) = file.console_token_file.as_deref() else { return Ok(None) };
    let token = Token::read(path)?;
    #[cfg(unix)]
    if std::fs::metadata(path).is_ok_and(|found| found.permissions().mode() & 0o044 != 0) {
        let path = path.display();
        console.note(&format!("other users can read the console's token\nrun chmod 600 {path}"));
    }
    Ok(Some(token))
}

/// A listener at this address, and its URL.
pub(crate) fn listen(address: SocketAddr) -> Result<(Listener, String), Failure> {
    let opened = Listener::open(address).and_then(|listener| Ok((listener.address()?, listener)));
    let (mut at, listener) = opened.map_err(|error| {
        Failure::Machine(format!(
            "cannot serve the console at {address}: {}\ngive another address and port; port 0 selects a free one",
            reason(&error)
        ))
    })?;
    if at.ip().is_unspecified() {
        at.set_ip(IpAddr::V4(Ipv4Addr::LOCALHOST));
    }
    Ok((listener, format!("http://{at}/")))
}

impl From<TokenError> for Failure {
    fn from(error: TokenError) -> Self {
        let remedy = "create one: head -c 24 /dev/urandom | base64 | tr '+/' '-_' > FILE";
        Failure::Input(format!("{error}\n{remedy}"))
    }
}

impl From<ReplayError> for Failure {
    fn from(error: ReplayError) -> Self {
        match error {
            ReplayError::Results(error) => error.into(),
            ReplayError::Stored(error) => error.into(),
            ReplayError::Nothing(what) => Failure::Input(what),
        }
    }
}
