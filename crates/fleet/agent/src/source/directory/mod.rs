//! An LDAP directory: read over a connection, and watched by content synchronisation (RFC 4533) where the server has it.
//!
//! The agent uses the synchronisation only as a notification: any message means that something may have changed, and
//! the agent then reads all entries again in one search. There are few of them. So no message of a server can make
//! the agent's copy differ from the directory.

mod options;
mod session;

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};

use super::backoff::Backoff;
use super::{Fetched, NotFetched, PublishError, Source};
use crate::ldap;
use crate::verdict::Verdict;
use session::Session;

pub use options::{Bind, DirectoryOptions, OptionsError, Transport};

/// How long a server may take to answer.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(20);

/// A repository in an LDAP directory.
pub struct Directory {
    options: DirectoryOptions,
    runtime: Runtime,
    session: Option<Session>,
    backoff: Backoff,
}

impl Directory {
    /// The repository at a server that need not be there yet.
    ///
    /// # Errors
    /// When the process gets no means to wait for a network.
    pub fn new(options: DirectoryOptions) -> std::io::Result<Directory> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        Ok(Directory { options, runtime, session: None, backoff: Backoff::default() })
    }

    fn failed(&mut self, why: String) -> String {
        self.session = None;
        self.backoff.failed(Instant::now(), &why);
        why
    }
}

impl Source for Directory {
    fn name(&self) -> String {
        format!("{} at {}", self.options.base, self.options.url)
    }

    fn hurry(&mut self) {
        self.backoff.hurry();
    }

    fn fetch(&mut self) -> Result<Fetched, NotFetched> {
        if let Some(why) = self.backoff.holds(Instant::now()) {
            return Err(why.to_owned().into());
        }
        let (options, session) = (&self.options, &mut self.session);
        let read = self.runtime.block_on(async {
            let read = async {
                if session.is_none() {
                    *session = Some(Session::open(options).await?);
                }
                match session {
                    Some(session) => session.read(&options.base).await,
                    None => Err("not connected".to_owned()),
                }
            };
            tokio::time::timeout(RESPONSE_TIMEOUT, read).await
        });
        let read = read.unwrap_or_else(|_| {
            Err(format!("the server does not answer within {} s", RESPONSE_TIMEOUT.as_secs()))
        });
        let (entries, who) = read.map_err(|why| self.failed(why))?;
        self.backoff.done();
        let (words, entries): (Vec<_>, Vec<_>) = entries.into_iter().partition(ldap::is_verdict);
        let bundle = match ldap::of_entries(&entries) {
            Some(bundle) => bundle,
            // Mistakes are shown in the entries' text form.
            None => ldap::read(&self.name(), ldap::write(&entries))?,
        };
        Ok(Fetched { bundle, who, verdicts: ldap::verdicts(&words) })
    }

    fn tell(&mut self, verdict: &Verdict) -> Result<(), PublishError> {
        let Some(session) = &mut self.session else { return Err(PublishError::NotConnected) };
        let tell = session.tell(ldap::verdict_entry(verdict, &self.options.base));
        let result =
            self.runtime.block_on(async { tokio::time::timeout(RESPONSE_TIMEOUT, tell).await });
        match result {
            Ok(done) => done.map_err(PublishError::Refused),
            Err(_) => Err(PublishError::Timeout(RESPONSE_TIMEOUT)),
        }
    }

    fn wait(&mut self, patience: Duration) -> bool {
        if let Some(rings) = self.backoff.wait(patience) {
            return rings;
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
