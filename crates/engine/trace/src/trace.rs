//! A capture of one run.

use std::collections::BTreeMap;
use std::io;
use std::net::IpAddr;
use std::path::Path;

use shortflow_measure::results::Error;
use shortflow_run::{Event, Sight, Tap};
use shortflow_scenario::{NodeId, Scenario};

use crate::capture_point::CapturePoint;
use crate::frame::Headers;
use crate::output::Output;
use crate::pcapng::{Captured, Direction, Writer};
use crate::real;

/// Writes the packets at the capture points into a pcapng file, which appears when the run is complete. There
/// is one interface for each capture point, in the given order. Time 0 of the simulation is the start of
/// 1970.
#[derive(Debug)]
pub struct Trace {
    writer: Writer<Output>,
    links: BTreeMap<(NodeId, NodeId), Interfaces>,
    /// The largest number of bytes of a frame that are stored.
    snap: usize,
    /// A buffer for a frame, so that no packet allocates.
    frame: Vec<u8>,
    /// Packets that were missed and are not yet reported in the file.
    missed: u64,
    /// The first error; after it nothing more is written.
    failure: Option<io::Error>,
}

/// The interfaces that capture the packets of a link.
#[derive(Debug, Default)]
struct Interfaces {
    sender: Option<u32>,
    port: Option<u32>,
    receiver: Option<u32>,
}

impl Trace {
    /// A capture at `places`. Until [`finish`](Tap::finish), the file has a temporary name in the same
    /// folder. It then replaces an older capture at `path`, but no other file. A device or a pipe gets the
    /// packets at once.
    pub fn create(
        path: &Path,
        scenario: &Scenario,
        places: &[CapturePoint],
    ) -> Result<Self, Error> {
        Trace::create_keeping(None, path, scenario, places)
    }

    /// As `create`, but stores at most the first `snap` bytes of frames with real bytes, if `snap` is given.
    pub fn create_keeping(
        snap: Option<u32>,
        path: &Path,
        scenario: &Scenario,
        places: &[CapturePoint],
    ) -> Result<Self, Error> {
        let file = Output::open(path)?;
        let begun = begin(file, snap, scenario, places);
        let writer =
            begun.map_err(|source| Error::Io { action: "write", path: path.to_owned(), source })?;
        Ok(Trace {
            writer,
            links: links(scenario, places),
            snap: snap.map_or(usize::MAX, |bytes| bytes as usize),
            frame: Vec::new(),
            missed: 0,
            failure: None,
        })
    }

    fn write(&mut self, sight: &Sight<'_>, interface: u32, direction: Direction) {
        let comment = comment(sight.event, std::mem::take(&mut self.missed));
        let headers;
        let (bytes, length) = match sight.bytes {
            Some(bytes) => {
                real::write(&mut self.frame, sight, bytes);
                let stored = self.frame.len().min(self.snap);
                (&self.frame[..stored], self.frame.len() as u32)
            }
            None => {
                headers = Headers::new(sight);
                (headers.as_slice(), headers.frame_length)
            }
        };
        let at = sight.now;
        let comment = comment.as_deref();
        let packet = Captured { interface, at, direction, bytes, length, comment };
        self.failure = self.writer.packet(&packet).err();
    }
}

impl Tap for Trace {
    fn watches(&self, from: NodeId, to: NodeId) -> bool {
        self.links.contains_key(&(from, to))
    }

    fn see(&mut self, sight: &Sight<'_>) {
        let Some(at) = self.links.get(&(sight.from, sight.to)) else { return };
        let seen = match sight.event {
            Event::Sent => [None, at.sender.map(|at| (at, Direction::Outbound))],
            Event::Dropped(_) => [at.port.map(|at| (at, Direction::Outbound)), None],
            Event::Arrived => [
                at.port.map(|at| (at, Direction::Outbound)),
                at.receiver.map(|at| (at, Direction::Inbound)),
            ],
        };
        for (interface, direction) in seen.into_iter().flatten() {
            if self.failure.is_none() {
                self.write(sight, interface, direction);
            }
        }
    }

    fn missed(&mut self, packets: u64) {
        self.missed += packets;
    }

    fn finish(self: Box<Self>) -> Result<(), Error> {
        let file = self.writer.into_inner();
        match self.failure {
            Some(source) => Err(file.failed(source)),
            None => file.finish(),
        }
    }
}

/// The comment for a packet with this event, if this many packets before it are missing.
fn comment(event: Event, missed: u64) -> Option<String> {
    let mut notes = Vec::new();
    if let Event::Dropped(reason) = event {
        notes.push(format!("dropped: {}", reason.name()));
    }
    if missed > 0 {
        notes.push(format!("{missed} packets before this one are missing"));
    }
    (!notes.is_empty()).then(|| notes.join("; "))
}

fn begin(
    file: Output,
    snap: Option<u32>,
    scenario: &Scenario,
    places: &[CapturePoint],
) -> io::Result<Writer<Output>> {
    let application = concat!("shortflow ", env!("CARGO_PKG_VERSION"));
    let comment = format!("{}, seed {}; time 0 is the start", scenario.name, scenario.seed);
    let mut writer = Writer::new(file, application, &comment)?;
    for place in places {
        let description = match place {
            CapturePoint::Host(_) => "sent by this host (before its queue) and received by it",
            CapturePoint::Port { .. } => {
                "leaving this port's link, or dropped at the port or on the link"
            }
        };
        writer.interface(&place.name(scenario), description, snap)?;
    }
    let nodes = (0..).map(NodeId).zip(&scenario.nodes);
    let names = nodes.flat_map(|(id, node)| {
        scenario.addresses.of_node(id).map(|address| (IpAddr::from(address), node.name.as_str()))
    });
    writer.names(names)?;
    Ok(writer)
}

fn links(scenario: &Scenario, places: &[CapturePoint]) -> BTreeMap<(NodeId, NodeId), Interfaces> {
    let ends = scenario.links.iter().flat_map(|link| [(link.a, link.b), (link.b, link.a)]);
    let interface =
        |place: CapturePoint| places.iter().position(|p| *p == place).map(|at| at as u32);
    let of_link = |(from, to): (NodeId, NodeId)| {
        let at = Interfaces {
            sender: interface(CapturePoint::Host(from)),
            port: interface(CapturePoint::Port { from, to }),
            receiver: interface(CapturePoint::Host(to)),
        };
        let is_any = at.sender.or(at.port).or(at.receiver).is_some();
        is_any.then_some(((from, to), at))
    };
    ends.filter_map(of_link).collect()
}
