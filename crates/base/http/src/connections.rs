//! A limited number of open connections, which idle clients and clients that only watch cannot exhaust.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crate::socket::Socket;

/// What a connection is at.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Activity {
    /// A watching connection without the token: the first to be closed.
    Watching,
    /// Its request has not come.
    Idle,
    /// It receives events, and its client may make changes. It is closed only to make room for another one of these: a
    /// quarter of the connections stays free for requests.
    OperatorWatching,
    /// It is being answered: it is not closed for others.
    Kept,
}

/// The connections that are open at once.
#[derive(Debug)]
pub struct Connections<S> {
    max: usize,
    open: Mutex<All<S>>,
}

/// The last number that was given, and the connections by their numbers.
type All<S> = (u64, BTreeMap<u64, Open<S>>);

#[derive(Debug)]
struct Open<S> {
    socket: S,
    activity: Activity,
    since: Instant,
}

/// A connection's place among them, which is free when this is dropped.
#[derive(Debug)]
pub struct Place<S: Socket> {
    connections: Arc<Connections<S>>,
    number: u64,
}

impl<S: Socket> Connections<S> {
    /// With at most this number of connections.
    pub fn new(max: usize) -> Arc<Connections<S>> {
        Arc::new(Connections { max, open: Mutex::new((0, BTreeMap::new())) })
    }

    /// A place for a new connection. If all are taken, the one that has watched or been idle longest is closed.
    /// `None` if none may be closed, or no descriptor is left.
    pub fn admit(self: &Arc<Self>, socket: &S) -> Option<Place<S>> {
        let socket = socket.clone_handle().ok()?;
        let mut open = self.all();
        if open.1.len() >= self.max {
            let rank = |open: &Open<S>| (open.activity, open.since);
            let closable = open.1.iter().filter(|(_, open)| open.activity <= Activity::Idle);
            let number = *closable.min_by_key(|(_, open)| rank(open))?.0;
            close(&mut open, number);
        }
        open.0 += 1;
        let number = open.0;
        let entry = Open { socket, activity: Activity::Idle, since: Instant::now() };
        open.1.insert(number, entry);
        Some(Place { connections: self.clone(), number })
    }

    /// How many connections may receive events for those who may act.
    fn max_operators_watching(&self) -> usize {
        (self.max - self.max / 4).max(1)
    }

    fn all(&self) -> MutexGuard<'_, All<S>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S: Socket> Place<S> {
    /// Notes what the connection is at from now on. Of those that receive events for somebody who may act, one too many
    /// closes the oldest.
    pub fn is_at(&self, activity: Activity) {
        let mut all = self.connections.all();
        let Some(open) = all.1.get_mut(&self.number) else { return };
        (open.activity, open.since) = (activity, Instant::now());
        if activity != Activity::OperatorWatching {
            return;
        }
        let watching = all.1.iter().filter(|(_, open)| open.activity == activity);
        let oldest = watching.clone().min_by_key(|(_, open)| open.since).map(|(number, _)| *number);
        if watching.count() > self.connections.max_operators_watching()
            && let Some(oldest) = oldest
        {
            close(&mut all, oldest);
        }
    }
}

fn close<S: Socket>(all: &mut All<S>, number: u64) {
    if let Some(closed) = all.1.remove(&number) {
        closed.socket.close();
    }
}

impl<S: Socket> Drop for Place<S> {
    fn drop(&mut self) {
        self.connections.all().1.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn who_watches_goes_first_then_who_is_idle_and_nobody_who_is_kept() {
        let connections = Connections::new(3);
        let mut others: Vec<UnixStream> = Vec::new();
        let mut admit = || {
            let (near, far) = UnixStream::pair().unwrap();
            others.push(far);
            connections.admit(&near)
        };
        let (kept, idle, watching) = (admit().unwrap(), admit().unwrap(), admit().unwrap());
        kept.is_at(Activity::Kept);
        watching.is_at(Activity::Watching);
        let fourth = admit().unwrap();
        fourth.is_at(Activity::Kept);
        let fifth = admit().unwrap();
        fifth.is_at(Activity::Kept);
        assert!(admit().is_none(), "three are kept");
        let is_closed = |mut other: &UnixStream| {
            other.set_nonblocking(true).unwrap();
            other.read(&mut [0]).is_ok_and(|read| read == 0)
        };
        let closed: Vec<bool> = others.iter().map(is_closed).collect();
        assert_eq!(closed[..5], [false, true, true, false, false]);
        drop((idle, watching));
        drop(fifth);
        let (near, _far) = UnixStream::pair().unwrap();
        assert!(connections.admit(&near).is_some());
    }

    #[test]
    fn operators_who_watch_leave_a_quarter_of_the_places_and_are_closed_for_nobody_else() {
        let connections = Connections::new(8);
        let mut others: Vec<UnixStream> = Vec::new();
        let mut admit = || {
            let (near, far) = UnixStream::pair().unwrap();
            others.push(far);
            connections.admit(&near)
        };
        let mut places = Vec::new();
        for _ in 0..7 {
            let place = admit().unwrap();
            place.is_at(Activity::OperatorWatching);
            places.push(place);
        }
        for _ in 0..2 {
            let place = admit().unwrap();
            place.is_at(Activity::Kept);
            places.push(place);
        }
        assert!(admit().is_none(), "requests that are being answered do not close a watcher");
        let is_closed = |mut other: &UnixStream| {
            other.set_nonblocking(true).unwrap();
            other.read(&mut [0]).is_ok_and(|read| read == 0)
        };
        let closed: Vec<bool> = others.iter().map(is_closed).collect();
        assert_eq!(closed[..9], [true, false, false, false, false, false, false, false, false]);
    }
}
