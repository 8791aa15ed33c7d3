//! Observers of running tasks.

use shortflow_measure::TransferSink;

use crate::engine::{Error, Outcome, TcpInfoLog};
use crate::tap::Tap;

/// Observes running tasks. Called from several threads.
pub trait Observer: Sync {
    /// Receives the transfers of a task.
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Observes the packets of a task.
    fn tap(&self, task: usize) -> Result<Option<Box<dyn Tap>>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Receives the state of the TCP senders of a task.
    fn tcp_info(&self, task: usize) -> Result<Option<TcpInfoLog>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Called before a task and from time to time while it runs: an error stops it, and is its result.
    fn check(&self, task: usize) -> Result<(), Error> {
        let _ = task;
        Ok(())
    }

    /// Whether the other tasks must not start after this error. An error of one scenario does not affect others.
    fn ends_all(&self, error: &Error) -> bool {
        !matches!(error, Error::Interrupted | Error::Refused(_) | Error::TimeLimit(_))
    }

    /// A running task has completed a further `share` (0 to 1) since the last call.
    fn advanced(&self, task: usize, share: f64) {
        let _ = (task, share);
    }

    /// A task is complete. The observer may take parts out of the result, so that they are not kept in
    /// memory.
    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), Error> {
        let _ = (task, outcome);
        Ok(())
    }
}

/// Observes nothing.
impl Observer for () {}

/// Shows the progress of a command. Called from several threads.
pub trait Progress: Sync {
    /// A named part of the whole begins.
    fn stage(&self, _name: &str) {}

    /// `replicas` will run; `kept` more were complete already. Called at the start of each part.
    fn begins(&self, replicas: usize, kept: usize);

    /// Another `share` (0 to 1) of one replica is complete.
    fn advanced(&self, share: f64);

    /// One more replica is complete.
    fn completed(&self);
}

/// Shows nothing.
impl Progress for () {
    fn begins(&self, _: usize, _: usize) {}
    fn advanced(&self, _: f64) {}
    fn completed(&self) {}
}
