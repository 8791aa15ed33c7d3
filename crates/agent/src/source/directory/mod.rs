//! An LDAP directory: read over a connection, and watched by content synchronisation (RFC 4533) where the server has it.
//!
//! The synchronisation is used as a bell: whatever comes means that something may have changed, and the entries are
//! then read anew in one search. There are few of them, and so no message of a server can bring what is known here and what
//! is there apart.

mod options;
mod session;

use std::sync::Arc;
use std::time::{Duration, Instant};

use shortflow_text::Source as Text;
use tokio::runtime::{Builder, Runtime};

use super::{Fetched, Source};
use crate::ldap::{bundle, write};
use session::Session;

pub use options::{Bind, DirectoryOptions, OptionsError};

/// How long a server may take to answer.
const PATIENCE: Duration = Duration::from_secs(20);
/// How long one waits before a server is asked again that could not be; each failure doubles it, up to the most.
const FIRST_WAIT: Duration = Duration::from_secs(1);
const MOST_WAIT: Duration = Duration::from_secs(30);

/// A repository in an LDAP directory.
pub struct Directory {
    options: DirectoryOptions,
    runtime: Runtime,
    session: Option<Session>,
    failures: u32,
    /// When the server is asked again, and why it could not be.
    later: Option<(Instant, String)>,
}

impl Directory {
    /// The repository at a server that need not be there yet.
    ///
    /// # Errors
    /// When the process gets no means to wait for a network.
    pub fn new(options: DirectoryOptions) -> std::io::Result<Directory> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Directory { options, runtime, session: None, failures: 0, later: None })
    }

    fn failed(&mut self, why: String) -> String {
        let wait = (FIRST_WAIT * 2u32.pow(self.failures.min(5))).min(MOST_WAIT);
        self.failures += 1;
        self.session = None;
        self.later = Some((Instant::now() + wait, why.clone()));
        why
    }
}

impl Source for Directory {
    fn name(&self) -> String {
        format!("{} at {}", self.options.base, self.options.url)
    }

    fn fetch(&mut self) -> Result<Fetched, String> {
        if let Some((_, why)) = self.later.as_ref().filter(|(at, _)| *at > Instant::now()) {
            return Err(why.clone());
        }
        let (options, session) = (&self.options, &mut self.session);
        let read = self.runtime.block_on(async {
            let read = async {
                if session.is_none() {
                    *session = Some(Session::open(options).await?);
                }
                match session {
                    Some(session) => session.read(&options.base).await,
                    None => Err("there is no connection".to_owned()),
                }
            };
            tokio::time::timeout(PATIENCE, read).await
        });
        let read = read
            .unwrap_or_else(|_| Err(format!("it does not answer within {} s", PATIENCE.as_secs())));
        let (entries, who) = read.map_err(|why| self.failed(why))?;
        (self.failures, self.later) = (0, None);
        // Mistakes are shown in the entries' text form.
        let source = Arc::new(Text { name: self.name(), text: write(&entries) });
        let parsed = crate::ldap::parse(&source.name, &source.text)
            .map_err(|mistakes| mistakes.to_string())?;
        let bundle = bundle(&source, &parsed).map_err(|mistakes| mistakes.to_string())?;
        Ok(Fetched { bundle, who })
    }

    fn wait(&mut self, patience: Duration) -> bool {
        if let Some((at, _)) = &self.later {
            let left = at.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(patience));
            return left <= patience;
        }
        let Some(session) = &mut self.session else {
            std::thread::sleep(patience);
            return false;
        };
        match self.runtime.block_on(session.rings(patience)) {
            Ok(rings) => rings,
            // The connection is gone: the next reading makes a new one.
            Err(_) => {
                self.session = None;
                true
            }
        }
    }
}
