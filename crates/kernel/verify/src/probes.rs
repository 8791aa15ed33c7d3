//! Probes: their round-trip times, losses and returned code points.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::libc;
use nix::poll::{PollFd, PollFlags, poll};
use shortflow_packet::Dscp;
use socket2::{Domain, Protocol, Socket, Type};

use crate::class::{Class, Way};
use crate::datagrams::{Datagrams, POLL_INTERVAL, mark};
use crate::error::Error;
use crate::message::Message;

/// Between two probes of a class: eight classes come to 13 kbit/s.
const INTERVAL: Duration = Duration::from_millis(100);
/// How long one waits for the last.
const TAIL: Duration = Duration::from_secs(2);

/// What became of a probe.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// When it was sent, from the beginning on.
    pub sent: Duration,
    /// The round-trip time; `None` if it was lost.
    pub took: Option<Duration>,
    /// The code points with which it arrived at the peer and back here; `None` for a connection, or if it was lost.
    pub code_points: Option<[Dscp; 2]>,
}

/// The probes of a class.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Seen {
    /// What became of each, in the order in which they were sent.
    pub answers: Vec<Answer>,
}

impl Seen {
    /// The share of them that was lost.
    pub(crate) fn loss(&self) -> f64 {
        let lost = self.answers.iter().filter(|answer| answer.took.is_none()).count();
        lost as f64 / self.answers.len().max(1) as f64
    }

    /// How long those took that came back, in seconds, from the shortest on.
    pub(crate) fn times(&self) -> Vec<f64> {
        let took = self.answers.iter().filter_map(|answer| answer.took);
        let mut times: Vec<f64> = took.map(|took| took.as_secs_f64()).collect();
        times.sort_by(f64::total_cmp);
        times
    }
}

/// Sends probes of each class to the peer for so long, all at the same time.
///
/// # Errors
/// When it is stopped, or a socket fails.
pub(crate) fn probe(
    peer: SocketAddr,
    classes: &[Class],
    length: Duration,
    stop: &AtomicBool,
) -> Result<Vec<Seen>, Error> {
    let begin = Instant::now();
    let run = begin_number();
    let offset = |at: usize| INTERVAL * at as u32 / classes.len().max(1) as u32;
    let times = |at: usize| {
        let count = (length.as_nanos() / INTERVAL.as_nanos()).max(1) as u32;
        (0..count).map(move |number| begin + offset(at) + INTERVAL * number)
    };
    let seen = thread::scope(|scope| {
        let each = classes.iter().enumerate().map(|(at, class)| match class.way {
            Way::Datagram => {
                let stream = Stream { run, number: at as u16, peer, begin };
                let times = times(at);
                let probe = move || stream.datagrams(class.code_point, times, stop);
                thread::Builder::new().spawn_scoped(scope, probe)
            }
            Way::Connection(port) => {
                let to = SocketAddr::new(peer.ip(), port);
                let code_point = class.code_point;
                let times = times(at);
                let probe = move || connections(to, code_point, begin, times, stop);
                thread::Builder::new().spawn_scoped(scope, probe)
            }
        });
        let each: Vec<io::Result<ScopedJoinHandle<'_, io::Result<Vec<Answer>>>>> = each.collect();
        let all = each.into_iter().map(|one| one?.join().expect("no probe panics"));
        all.collect::<Vec<_>>()
    });
    if stop.load(Ordering::Relaxed) {
        return Err(Error::Interrupted);
    }
    seen.into_iter()
        .map(|answers| Ok(Seen { answers: answers.map_err(Error::socket("cannot send probes"))? }))
        .collect()
}

/// A number that no other run has, for all that matters.
fn begin_number() -> u64 {
    use std::hash::{BuildHasher, RandomState};
    RandomState::new().hash_one(std::process::id())
}

/// Sleeps until `then`; false when it is to stop.
pub(crate) fn sleep_until(then: Instant, stop: &AtomicBool) -> bool {
    loop {
        let left = then.saturating_duration_since(Instant::now());
        if stop.load(Ordering::Relaxed) {
            return false;
        }
        if left.is_zero() {
            return true;
        }
        thread::sleep(left.min(Duration::from_millis(50)));
    }
}

/// Datagrams of one class.
#[derive(Clone, Copy)]
struct Stream {
    run: u64,
    number: u16,
    peer: SocketAddr,
    begin: Instant,
}

impl Stream {
    fn datagrams(
        self,
        code_point: Dscp,
        times: impl Iterator<Item = Instant> + Clone + Send,
        stop: &AtomicBool,
    ) -> io::Result<Vec<Answer>> {
        let socket = Datagrams::to(self.peer, code_point)?;
        let last = times.clone().last().unwrap_or(self.begin);
        let all = times.clone().count();
        thread::scope(|scope| {
            let receive = || self.receive(&socket, all, last + TAIL, stop);
            let receiver = thread::Builder::new().spawn_scoped(scope, receive)?;
            let mut sent = Vec::new();
            for (number, time) in (0..).zip(times) {
                if !sleep_until(time, stop) {
                    break;
                }
                let Stream { run, number: stream, .. } = self;
                let message = Message { run, stream, number, arrived: None };
                // The time is taken before the call, so that what waits on this machine counts. A peer that is not there
                // refuses, which makes a later call fail: that one is lost.
                sent.push(self.begin.elapsed());
                let _ = socket.send(&message.bytes());
            }
            let back = receiver.join().expect("no receiver panics")?;
            Ok(sent.into_iter().zip(back).map(|(sent, back)| answer(sent, back)).collect())
        })
    }

    /// When each probe came back, and with which code points.
    fn receive(
        self,
        socket: &Datagrams,
        all: usize,
        until: Instant,
        stop: &AtomicBool,
    ) -> io::Result<Vec<Option<Back>>> {
        let mut back = vec![None; all];
        let mut bytes = [0; Message::LENGTH + 1];
        let mut left = all;
        while left > 0 && Instant::now() < until && !stop.load(Ordering::Relaxed) {
            let came = match socket.receive(&mut bytes) {
                Ok(Some(came)) => came,
                // Nobody waits at the port.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => continue,
                other => match other? {
                    Some(came) => came,
                    None => continue,
                },
            };
            let at = self.begin.elapsed();
            let Some(message) = Message::read(&bytes[..came.length]) else { continue };
            let is_ours = message.run == self.run && message.stream == self.number;
            let slot = back.get_mut(message.number as usize).filter(|_| is_ours);
            if let (Some(slot @ None), Some(there)) = (slot, message.arrived) {
                *slot = Some(Back { at, code_points: [there, came.code_point] });
                left -= 1;
            }
        }
        Ok(back)
    }
}

#[derive(Debug, Clone, Copy)]
struct Back {
    at: Duration,
    code_points: [Dscp; 2],
}

fn answer(sent: Duration, back: Option<Back>) -> Answer {
    Answer {
        sent,
        took: back.map(|back| back.at.saturating_sub(sent)),
        code_points: back.map(|back| back.code_points),
    }
}

/// Begins connections at these times, whatever becomes of those before, and breaks them off. One that is refused has come back
/// too.
fn connections(
    to: SocketAddr,
    code_point: Dscp,
    begin: Instant,
    times: impl Iterator<Item = Instant>,
    stop: &AtomicBool,
) -> io::Result<Vec<Answer>> {
    let (mut answers, mut open) = (Vec::<Answer>::new(), Vec::<(usize, Socket)>::new());
    let mut times = times.peekable();
    while !stop.load(Ordering::Relaxed) {
        while times.next_if(|time| *time <= Instant::now()).is_some() {
            let sent = begin.elapsed();
            let took = match begin_connection(to, code_point)? {
                Begun::Waiting(socket) => {
                    open.push((answers.len(), socket));
                    None
                }
                Begun::Back => Some(begin.elapsed() - sent),
                Begun::Lost => None,
            };
            answers.push(Answer { sent, took, code_points: None });
        }
        open.retain(|(number, _)| begin.elapsed() - answers[*number].sent < TAIL);
        let next = times.peek().map(|time| time.saturating_duration_since(Instant::now()));
        if open.is_empty() && next.is_none() {
            break;
        }
        let ready = ready(&open, next.map_or(POLL_INTERVAL, |next| next.min(POLL_INTERVAL)))?;
        let now = begin.elapsed();
        for at in ready.into_iter().rev() {
            let (number, socket) = open.swap_remove(at);
            let error = socket.take_error()?.map(|error| error.kind());
            if matches!(error, None | Some(io::ErrorKind::ConnectionRefused)) {
                answers[number].took = Some(now - answers[number].sent);
            }
        }
    }
    Ok(answers)
}

/// What became of a connection at once.
enum Begun {
    Waiting(Socket),
    Back,
    Lost,
}

fn begin_connection(to: SocketAddr, code_point: Dscp) -> io::Result<Begun> {
    let socket = marked(to, code_point)?;
    socket.set_nonblocking(true)?;
    Ok(match socket.connect(&to.into()) {
        Ok(()) => Begun::Back,
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => Begun::Back,
        Err(error) if error.raw_os_error() == Some(libc::EINPROGRESS) => Begun::Waiting(socket),
        Err(_) => Begun::Lost,
    })
}

/// Waits for so long until something has become of one of these connections: the places of those, from the first on.
fn ready(open: &[(usize, Socket)], patience: Duration) -> io::Result<Vec<usize>> {
    let mut waits: Vec<PollFd<'_>> =
        open.iter().map(|(_, socket)| PollFd::new(socket.as_fd(), PollFlags::POLLOUT)).collect();
    let millis = patience.as_millis().min(u128::from(u16::MAX)) as u16;
    match poll(&mut waits, millis) {
        Err(Errno::EINTR) => return Ok(Vec::new()),
        other => other.map_err(io::Error::from)?,
    };
    let is_ready = |wait: &PollFd<'_>| wait.any().unwrap_or(false);
    Ok(waits.iter().enumerate().filter(|(_, wait)| is_ready(wait)).map(|(at, _)| at).collect())
}

/// A connection whose packets are marked so, and which is broken off when it is dropped, so that nothing of it waits on the
/// way.
pub(crate) fn connect(
    to: SocketAddr,
    code_point: Dscp,
    patience: Duration,
) -> io::Result<TcpStream> {
    let socket = marked(to, code_point)?;
    socket.connect_timeout(&to.into(), patience)?;
    Ok(socket.into())
}

fn marked(to: SocketAddr, code_point: Dscp) -> io::Result<Socket> {
    let socket = Socket::new(Domain::for_address(to), Type::STREAM, Some(Protocol::TCP))?;
    mark(&socket, to, code_point)?;
    socket.set_linger(Some(Duration::ZERO))?;
    socket.set_tcp_nodelay(true)?;
    Ok(socket)
}
