//! Network namespaces, entered one thread at a time.

use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd};

use nix::errno::Errno;
use nix::sched::{CloneFlags, setns, unshare};

use crate::Error;

/// The network namespace of a thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// The network namespace in which the process began, to which every thread comes back.
#[derive(Debug)]
pub struct Home(Namespace);

/// A network namespace, which lives as long as this.
#[derive(Debug)]
pub(crate) struct Namespace(File);

impl Home {
    /// The namespace of the thread that asks, and whether others can be made.
    ///
    /// # Errors
    /// When the process may not make namespaces, or the kernel has none.
    pub fn find() -> Result<Home, Error> {
        let home = Home(Namespace::own()?);
        home.0.enter().map_err(|_| why_not_back())?;
        // To make one is the only sure way to know.
        home.make(|| Ok(())).map(|((), _)| home)
    }

    /// Makes a namespace, and does something in there.
    pub(crate) fn make<T>(
        &self,
        act: impl FnOnce() -> Result<T, Error>,
    ) -> Result<(T, Namespace), Error> {
        unshare(CloneFlags::CLONE_NEWNET).map_err(|errno| match errno {
            Errno::EPERM => Error::NotAllowed,
            Errno::EINVAL => Error::NoNamespaces,
            errno => Error::kernel("cannot create a network namespace")(errno),
        })?;
        let _back = Back(self);
        let namespace = Namespace::own()?;
        act().map(|done| (done, namespace))
    }

    /// Does something in a namespace: sockets that are made there stay there.
    pub(crate) fn within<T>(&self, there: &Namespace, act: impl FnOnce() -> T) -> Result<T, Error> {
        there.enter()?;
        let _back = Back(self);
        Ok(act())
    }
}

impl Namespace {
    fn own() -> Result<Namespace, Error> {
        let file = File::open(OWN);
        file.map(Namespace).map_err(|error| match error.raw_os_error().map(Errno::from_raw) {
            Some(Errno::ENOENT) | None => Error::NoNamespaces,
            Some(errno) => Error::kernel("cannot open the network namespace")(errno),
        })
    }

    fn enter(&self) -> Result<(), Error> {
        setns(self.0.as_fd(), CloneFlags::CLONE_NEWNET)
            .map_err(Error::kernel("cannot enter a network namespace"))
    }

    /// Names it to the kernel.
    pub(crate) fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }

    /// A descriptor of its own, to be kept elsewhere.
    pub(crate) fn try_clone(&self) -> std::io::Result<File> {
        self.0.try_clone()
    }
}

/// Why a thread cannot return to its current namespace. A process that may create namespaces, such as in its own user
/// namespace, may not be permitted to return.
fn why_not_back() -> Error {
    // A thread that has gone elsewhere for good is done with.
    let trial = || unshare(CloneFlags::CLONE_NEWNET);
    let made = std::thread::Builder::new().spawn(trial).map(|thread| thread.join());
    if matches!(made, Ok(Ok(Ok(())))) { Error::NoWayBack } else { Error::NotAllowed }
}

/// Brings the thread home when it is dropped.
struct Back<'h>(&'h Home);

impl Drop for Back<'_> {
    fn drop(&mut self) {
        // A thread that stayed elsewhere would open sockets of the wrong host.
        self.0.0.enter().expect("the way back to the namespace of the process is open");
    }
}
