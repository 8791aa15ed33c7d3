//! Who is told how tasks get on.

use shortflow_measure::TransferSink;

use crate::engine::{Error, Outcome, TcpInfoLog};
use crate::tap::Tap;

/// Who is told how tasks get on. Called from several threads.
pub trait Observer: Sync {
    /// Where the transfers of a task are streamed, if anywhere.
    fn transfers(&self, task: usize) -> Result<Option<TransferSink>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Who looks at the packets of a task, if anybody.
    fn tap(&self, task: usize) -> Result<Option<Box<dyn Tap>>, Error> {
        let _ = task;
        Ok(None)
    }

    /// Where is written how the senders of a task stand, if anywhere.
    fn tcp_info(&self, task: usize) -> Result<Option<TcpInfoLog>, Error> {
        let _ = task;
        Ok(None)
    }

    /// A running task has come `share` (0 to 1) further since it was last told of.
    fn advanced(&self, task: usize, share: f64) {
        let _ = (task, share);
    }

    /// A task is complete. What is taken out of its outcome is not held until all tasks are.
    fn completed(&self, task: usize, outcome: &mut Outcome) -> Result<(), Error> {
        let _ = (task, outcome);
        Ok(())
    }
}

/// Nobody is told.
impl Observer for () {}

/// Who shows people how far a command is. Called from several threads.
pub trait Progress: Sync {
    /// What comes is this part of the whole, where it has parts.
    fn stage(&self, _name: &str) {}

    /// `replicas` are to be run; `kept` more were found finished. Each part of the whole begins so.
    fn begins(&self, replicas: usize, kept: usize);

    /// Another `share` (0 to 1) of one replica is done.
    fn advanced(&self, share: f64);

    /// One more replica is complete.
    fn completed(&self);
}

/// Nobody is shown anything.
impl Progress for () {
    fn begins(&self, _: usize, _: usize) {}
    fn advanced(&self, _: f64) {}
    fn completed(&self) {}
}
