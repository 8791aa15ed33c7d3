//! What applications report about their connections to the router: the workload of each, and the bytes written.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use nix::errno::Errno;
use nix::sys::eventfd::{EfdFlags, EventFd};
use rustc_hash::FxHashMap;
use shortflow_packet::FlowKey;

use crate::recent::Recent;

/// Bytes that an application has handed in so far over one end of a connection: one thread counts, and others look.
#[derive(Debug, Clone, Default)]
pub(crate) struct HandedIn(Arc<AtomicU64>);

impl HandedIn {
    /// The number of further bytes; [`u64::MAX`] for endless ones.
    pub(crate) fn add(&self, bytes: u64) {
        let before = self.0.load(Ordering::Relaxed);
        self.0.store(before.saturating_add(bytes), Ordering::Release);
    }

    /// Their number; `None` if endless.
    pub(crate) fn bytes(&self) -> Option<u64> {
        let bytes = self.0.load(Ordering::Acquire);
        (bytes < u64::MAX).then_some(bytes)
    }
}

/// What an application says of what it sends under one 5-tuple.
#[derive(Debug, Clone, Default)]
pub(crate) struct Said {
    /// Which workload it is; none of a program that says nothing.
    pub(crate) workload: Option<u16>,
    /// The bytes written so far; none for datagrams and for programs, which report nothing.
    pub(crate) handed_in: Option<HandedIn>,
    /// Whether it is the reply to a byte-range request.
    pub(crate) is_range: bool,
}

/// All that applications say, for the load that says it and the router that asks.
#[derive(Debug, Clone)]
pub(crate) struct Applications(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    said: Mutex<Table>,
    /// Whose data a closed window holds back.
    held_back: Mutex<Vec<FlowKey>>,
    bell: EventFd,
    /// Whether a queue needs to know the owner of delayed data.
    listens: bool,
}

/// What is said of each 5-tuple.
#[derive(Debug)]
struct Table {
    /// Of those that are in use.
    open: FxHashMap<FlowKey, Said>,
    /// Of those that were given up last: a kernel may still say good-bye.
    over: Recent<FlowKey, Said>,
}

/// Connections that are over whose last packets are known at least.
const OVER: usize = 4096;

/// Exclusive access to what applications report, so that no packet of a connection is seen before its workload is
/// known.
pub(crate) struct Opening<'s>(MutexGuard<'s, Table>);

impl Applications {
    /// Nothing was said yet.
    ///
    /// # Errors
    /// When there are too many open files.
    pub(crate) fn new(listens: bool) -> Result<Applications, Errno> {
        let bell = EventFd::from_flags(EfdFlags::EFD_NONBLOCK | EfdFlags::EFD_CLOEXEC)?;
        let said = Mutex::new(Table { open: FxHashMap::default(), over: Recent::new(OVER) });
        let held_back = Mutex::default();
        Ok(Applications(Arc::new(Shared { said, held_back, bell, listens })))
    }

    /// Begins to add something.
    pub(crate) fn open(&self) -> Opening<'_> {
        Opening(lock(&self.0.said))
    }

    /// What is said of packets of this 5-tuple.
    pub(crate) fn get(&self, key: &FlowKey) -> Said {
        let mut table = lock(&self.0.said);
        let Table { open, over } = &mut *table;
        open.get(key).or_else(|| over.get(*key).map(|said| &*said)).cloned().unwrap_or_default()
    }

    /// The application says nothing more under this 5-tuple.
    pub(crate) fn close(&self, key: FlowKey) {
        let mut table = lock(&self.0.said);
        if let Some(said) = table.open.remove(&key) {
            table.over.put(key, said);
        }
    }

    /// Whether [`held_back`](Applications::held_back) is asked for.
    pub(crate) fn listens(&self) -> bool {
        self.0.listens
    }

    /// The application has handed in data for packets of this 5-tuple, and the window let none of them go.
    pub(crate) fn held_back(&self, key: FlowKey) {
        lock(&self.0.held_back).push(key);
        // A bell that cannot ring louder rings already.
        let _ = self.0.bell.write(1);
    }

    /// What rings when something is held back.
    pub(crate) fn bell(&self) -> &EventFd {
        &self.0.bell
    }

    /// Takes the 5-tuples that were held back, and stills the bell.
    pub(crate) fn take_held_back(&self) -> Vec<FlowKey> {
        // A bell that does not ring has nothing to read.
        let _ = self.0.bell.read();
        std::mem::take(&mut *lock(&self.0.held_back))
    }
}

impl Opening<'_> {
    /// Packets of this 5-tuple are a workload's; `handed_in` counts what is handed in for them, if it is counted.
    pub(crate) fn add(&mut self, key: FlowKey, workload: u16, handed_in: Option<HandedIn>) {
        self.0.open.insert(key, Said { workload: Some(workload), handed_in, is_range: false });
    }

    /// Packets of this 5-tuple, which was added, are the reply to a byte-range request.
    pub(crate) fn is_range(&mut self, key: &FlowKey) {
        if let Some(said) = self.0.open.get_mut(key) {
            said.is_range = true;
        }
    }
}

/// Other holders keep it only for a moment.
fn lock<T>(what: &Mutex<T>) -> MutexGuard<'_, T> {
    what.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use super::*;

    #[test]
    fn what_never_ends_stays_so() {
        let handed_in = HandedIn::default();
        handed_in.add(700);
        assert_eq!(handed_in.bytes(), Some(700));
        handed_in.add(u64::MAX);
        handed_in.add(1);
        assert_eq!(handed_in.bytes(), None);
    }

    #[test]
    fn of_whom_nothing_was_said_there_is_no_workload_and_no_count() {
        let applications = Applications::new(true).unwrap();
        let key = FlowKey { src_port: 4000, ..FlowKey::default() };
        applications.open().add(key, 3, Some(HandedIn::default()));
        assert_eq!(applications.get(&key).workload, Some(3));
        let stranger = applications.get(&key.reversed());
        assert_eq!((stranger.workload, stranger.handed_in.is_none()), (None, true));
    }

    #[test]
    fn what_is_over_is_known_for_a_while_and_takes_no_room_for_ever() {
        let applications = Applications::new(true).unwrap();
        let key = |number: u32| FlowKey {
            src: IpAddr::from(number.to_be_bytes()).into(),
            ..FlowKey::default()
        };
        applications.open().add(key(0), 7, None);
        for number in 1..100_000 {
            applications.open().add(key(number), 3, Some(HandedIn::default()));
            applications.close(key(number));
            assert_eq!(applications.get(&key(number)).workload, Some(3), "its last packets");
        }
        let table = lock(&applications.0.said);
        assert_eq!((table.open.len(), table.over.len() <= 2 * OVER), (1, true));
        drop(table);
        assert_eq!(applications.get(&key(0)).workload, Some(7), "it is open, however old");
        assert_eq!(applications.get(&key(1)).workload, None);
    }

    #[test]
    fn a_port_that_is_used_again_is_the_new_workloads() {
        let applications = Applications::new(true).unwrap();
        let key = FlowKey { src_port: 4000, ..FlowKey::default() };
        for workload in 0..3 {
            applications.open().add(key, workload, None);
            assert_eq!(applications.get(&key).workload, Some(workload));
            applications.close(key);
        }
    }

    #[test]
    fn what_is_held_back_is_told_once() {
        let applications = Applications::new(true).unwrap();
        let key = FlowKey { src_port: 4000, ..FlowKey::default() };
        applications.held_back(key);
        assert_eq!(applications.take_held_back(), [key]);
        assert_eq!(applications.take_held_back(), []);
    }
}
